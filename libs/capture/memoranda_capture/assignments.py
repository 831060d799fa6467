"""Secrets that only their name gives away: `export TOKEN=…`, YAML, JSON, .env, command-line options, source code."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from memoranda_capture.detectors import entropy
from memoranda_capture.token_formats import Span

_PASSWORDS = "passw(?:or)?d|passwd|passphrase|passwort|contrase.{1,2}a|pwd"
_OTHERS = (
    "secret|token|credentials?|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|client[_-]?key|account[_-]?key|service[_-]?key"
    "|encryption[_-]?key|signing[_-]?key|master[_-]?key|webhook[_-]?key"
)
_QUOTE = r"\\{0,3}[\"'`]"

_NAME = f"(?i:{_PASSWORDS}|{_OTHERS})[A-Za-z0-9_-]*(?:{_QUOTE})?\\]?"
_ANNOTATION = r"(?:\s{0,3}:\s{0,2}[A-Za-z_][A-Za-z0-9_.\[\]| ]{0,30})?"
_SIGN = r"\s{0,20}(?::=|=>|==?=?|!=|:)\s{0,8}"
_TELLING = r"[0-9!#%&*+=@^~|?$,;(){}<>\[\]\\]"

_BLOCK = rf"(?i:{_PASSWORDS}|{_OTHERS})[A-Za-z0-9_-]{{0,40}}[\"']?:[ \t]{{1,4}}[|>][+-]?[ \t]{{0,4}}\r?\n[ \t]{{1,40}}"
_ELEMENT = rf"<(?:[\w.-]{{0,40}}[:_.-])?(?i:{_PASSWORDS})(?:\s[^<>\n]{{0,100}})?>"
_NETRC = r"\bmachine\s{1,20}\S{1,200}\s{1,20}login\s{1,20}\S{1,200}\s{1,20}password\s{1,20}"
_MYSQL = r"\b(?:mysql[a-z_]{0,20}|mariadb(?:-[a-z]{1,20})?)\s(?:[^\n|;&`]{0,200}\s)?-p[\"']?"

HINT = "|".join(
    (
        rf"{_BLOCK}\S{{6}}",
        rf"{_ELEMENT}[^<>\s]{{4}}",
        rf"{_NETRC}\S{{3}}",
        rf"{_MYSQL}[^\s\"'\\$<\-]{{3}}",
        rf"{_NAME}{_ANNOTATION}{_SIGN}{_QUOTE}(?:[A-Za-z_.:/ -]{{0,40}}{_TELLING}|[^\s\"'`]{{20}}|[^\x00-\x7f])",
        rf"{_NAME}{_ANNOTATION}{_SIGN}[A-Za-z_.:/-]{{0,40}}[0-9!#%&*+=@^~|?$]",
        rf"{_NAME}{_SIGN}[^\s\"'`]{{40}}",
        rf"(?:PASSWORD|PASSWD|PWD|PASSPHRASE|SECRET|TOKEN|KEY|CREDENTIALS?)[A-Z0-9_]*=(?:{_QUOTE})?[^\s\"'`$(<]{{6}}",
        rf"--[A-Za-z0-9-]*(?i:{_PASSWORDS}|{_OTHERS})[A-Za-z0-9-]*[ =](?:{_QUOTE})?[^\s\"'`$(<]{{6}}",
    )
)
"""What the prefilter looks for. A value of letters alone is a secret only on a command line, in a shell, or when it is long."""

_FAMILY = re.compile(f"{_PASSWORDS}|{_OTHERS}", re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"""
    (?P<suffix>[A-Za-z0-9_-]{{0,40}})
    (?:{_QUOTE})?\]?
    (?:\s{{0,3}}:\s{{0,2}}[A-Za-z_][A-Za-z0-9_.\[\]|\ ]{{0,30}}(?==|\s=))?
    (?P<sign>{_SIGN}|\s{{1,2}}(?=\S))
    (?:
      (?P<quote>{_QUOTE})(?P<quoted>[^\n]{{0,2000}}?)(?P=quote)
      | (?P<bare>[^\s"'`,;\\<>]{{4,2000}})
    )
    """,
    re.VERBOSE,
)
_KEY_LETTERS = "-_." + string.ascii_letters + string.digits
_PLAIN_PLACES = (
    re.compile(rf"{_ELEMENT}(?P<secret>[^<>\s]{{4,200}})</"),
    re.compile(rf"{_NETRC}(?P<secret>\S{{3,200}})"),
    re.compile(rf"{_MYSQL}(?P<secret>(?!\d+(?::|\b))[^\s\"'\\$<\-][^\s\"'\\]{{2,200}})"),
)
"""Where only a password stands: an XML element, a machine's line in .netrc, MySQL's option without a blank."""

_BLOCK_VALUE = re.compile(rf"(?P<key>{_BLOCK})(?P<secret>\S{{6,4000}})[ \t]*(?:\n|\Z)")
_PASSWORD_KEY = re.compile(_PASSWORDS, re.IGNORECASE)
_OTHER_MEANING = re.compile(
    r"hash|digest|checksum|sha\d|_?ids?$|[a-z]Ids?$|ur[il]s?$|file|path|name|type|kind|len|length|count|limit|expir|ttl|size|_at$|At$|field"
    r"|header|label|hint|regex|pattern|rule|policy|prompt|placeholder|prefix|suffix|env|ref$|manager|provider|usage|version|format|mode|store"
    r"|min|max|reset|strength|index|pos$|class|scope|algorithm|issuer|audience|tokens|s$",
    re.IGNORECASE,
)
"""Endings that make the key speak about a secret and not hold one; 's' is the plural: tokens are counted, passwords are listed."""

_PLACEHOLDER = re.compile(
    r"""
    ^(?:
      [$%&@#*<>{}\[(|!^~?].*                                       # ${VAR}, %s, <token>, *****, @ref, {{ name }}
      | .*(?:\$\{|\$\(|\{\{|%\(|\.\.\.|…|\*{3}|x{4}|X{4}|[<>]).*     # put together from parts, or blotted out
      | (?:https?|file|ssh|git|postgres\w*|mysql|redis|amqps?|mongodb[\w+]*|vault|op|arn|secret|sha\d+|md5|env|ref)[:/-].*
      | \.{0,2}/.*                                                  # a path
      | (?:your|my|example|sample|test|fake|dummy|mock|placeholder|changeme|change[_-]?me|change[_-]?it|replace|insert|enter|todo|fixme)
        (?:[_-].*|\d*|[A-Z].*|pass.*|secret.*|token.*|key.*)
      | (?:none|null|nil|true|false|undefined|unset|empty|default|optional|required|string|str|bytes|int|redacted|hidden|masked|secret
        |password|passwd|pass|pwd|token|bearer|basic|apikey|api[_-]?key|user|username|root|admin|foo|bar|baz|foobar|hunter2?\.*|s3cr3t
        |process|self|this|await|new|return|async|const|function|lambda|not|is|and|or|in|if|for)
      | (?:os|process|self|this|config|settings|env|ENV|secrets|request|req|options|args|ctx|vault|crypto|uuid|string|String)[.?!\[].*
      | v?\d{1,4}(?:[.-]\d+)*(?:[.-]?[a-z]+\d*)?                     # a version or a small number
      | (?:id|src|type|env|name|key)=.*                              # --secret id=…
      | \d{4}-\d\d-\d\d.*                                           # a date
      | (?:u?int|float|bigint|varchar|char|nvarchar|sha|md|utf|base|hmac|aes|rsa|es|hs|rs|ed)[_-]?\d+\w*
    )$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CODE = re.compile(r"[()\[\]{}]|->|=>|::|\?\.|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|^[A-Za-z_]\w*[+|&*]")
"""Calls, indexes, attribute chains and sums: an expression whose value is elsewhere."""

_BASE64 = re.compile(r"^[A-Za-z0-9+/_-]{30,}={0,3}$")
_TYPE_NAME = re.compile(r"^[A-Z][a-z]+(?:[A-Z0-9][A-Za-z0-9]*)*$")
_WORDS = re.compile(r"^[A-Za-z]+(?:[_.:/ -][A-Za-z]+)*$")
_UPPER = re.compile(r"^(?:--?)?[A-Z0-9_.-]*[A-Z][A-Z0-9_.-]*$")

Place = Literal["quoted", "shell", "bare"]


@dataclass(frozen=True, slots=True)
class _Assignment:
    """``key`` ends where the family's word ends; ``suffix`` is what follows it in the name."""

    key: str
    family: str
    suffix: str
    sign: str
    value: str
    start: int
    is_quoted: bool


def spans(line: str) -> Iterator[Span]:
    """Yields where a value stands that its key calls a secret, and that is one by its looks; the key and the quotes stay."""
    at = 0
    while word := _FAMILY.search(line, at):
        at = word.end()
        found = _assignment(line, word)
        if found is not None and (length := _secret_length(found)):
            at = found.start + length
            yield Span(found.start, at, "password" if _PASSWORD_KEY.search(found.family) else "secret")
    yield from _plain(line)


def _plain(line: str) -> Iterator[Span]:
    """Passwords in places of their own, and YAML's block text below its key."""
    for place in _PLAIN_PLACES:
        for match in place.finditer(line):
            value = match["secret"]
            if not _PLACEHOLDER.match(value) and not (value[:1].isupper() and _WORDS.match(value)):
                yield Span(*match.span("secret"), "password")
    for match in _BLOCK_VALUE.finditer(line):
        value, password = match["secret"], bool(_PASSWORD_KEY.match(match["key"]))
        if _drawn(value) or (not _PLACEHOLDER.match(value) and _quoted(value, password=password)):
            yield Span(*match.span("secret"), "password" if password else "secret")


def _assignment(line: str, word: re.Match[str]) -> _Assignment | None:
    match = _ASSIGNED.match(line, word.end())
    if match is None:
        return None
    before = line[max(0, word.start() - 62) : word.start()]
    key_start = word.start() - len(before) + len(before.rstrip(_KEY_LETTERS))
    if line[key_start - 1 : key_start] == "\\" and line[key_start : key_start + 1] in "nrt":
        key_start += 1
    elif line[key_start - 1 : key_start + len(word[0])] == "[secret":
        return None
    group = "quoted" if match["quote"] else "bare"
    key = line[key_start : word.end()]
    return _Assignment(key, word[0], match["suffix"], match["sign"], match[group], match.start(group), is_quoted=group == "quoted")


def _secret_length(found: _Assignment) -> int:
    """How many characters of the value are the secret; 0 where it is none."""
    place = _place(found)
    if place is None or (found.suffix and _OTHER_MEANING.search(found.suffix)):
        return 0
    value = found.value if found.is_quoted else found.value.rstrip(").,&|}]")
    if _drawn(value):
        return len(value)
    if len(value) < 6 or _PLACEHOLDER.match(value) or any(mark in value for mark in (" ", "\t", "[secret:")):
        return 0
    password = bool(_PASSWORD_KEY.search(found.family))
    if place == "quoted":
        is_secret = _quoted(value, password=password)
    else:
        is_code = _CODE.search(value) and not _BASE64.match(value)
        is_secret = not is_code and (place == "shell" or _bare(value, password=password))
    return len(value) if is_secret else 0


def _drawn(value: str) -> bool:
    """Whether a long run of base64 changes so often between capitals, small letters and digits that no name or path does."""
    if not _BASE64.match(value):
        return False
    kinds = ["a" if letter.islower() else "A" if letter.isupper() else "0" if letter.isdigit() else "+" for letter in value.rstrip("=")]
    changes = sum(first != second for first, second in pairwise(kinds))
    return {"a", "A"} <= set(kinds) and ("0" in kinds or entropy(value) >= 4.3) and changes >= 0.4 * len(kinds)


def _place(found: _Assignment) -> Place | None:
    """How the value is written; None for two words side by side that are no command-line option."""
    if found.sign.isspace():
        return "shell" if found.key.startswith("--") else None
    if found.sign == "=" and (found.key.startswith("--") or _UPPER.match(found.key + found.suffix)):
        return "shell"
    return "quoted" if found.is_quoted else "bare"


def _quoted(value: str, *, password: bool) -> bool:
    """Text in quotes may be a label, a name or a message: a password needs a digit or a sign, another secret needs to look drawn by lot."""
    if password:
        return not _WORDS.match(value)
    if _WORDS.match(value):
        return len(value) >= 20 and entropy(value) >= 4.2
    return len(value) >= 8 and entropy(value) >= min(3.3, 2.5 + len(value) / 40)


def _bare(value: str, *, password: bool) -> bool:
    """Text without quotes may be an identifier: it has to hold letters and more than one digit, or signs that no identifier holds."""
    digits = sum(letter.isdigit() for letter in value)
    if len(value) < 8 or _WORDS.match(value) or (_TYPE_NAME.match(value) and not (password and digits)):
        return False
    signs = sum(not (letter.isalnum() or letter in "_.-") for letter in value)
    return (digits >= 2 or (digits > 0 and signs > 0)) and any(letter.isalpha() for letter in value)
