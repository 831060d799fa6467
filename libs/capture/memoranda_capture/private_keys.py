"""Private keys in PEM form: over several lines, with \\n written out, with line numbers before them, cut off before their end."""

from __future__ import annotations

import re

from memoranda_capture.token_formats import Span

HINT = r"-----BEGIN[A-Z0-9 ]{0,40} PRIVATE KEY"
KIND = "private_key"

LONGEST = 16_384
"""Characters between BEGIN and END; an 8192-bit RSA key has 6,400, with line numbers before each line 8,000."""

_FULL_LINE = 40
"""Characters. Lines of a key have 64 or 76; a shorter run of letters is taken for the key's last line."""

_BEGIN = re.compile(r"-----BEGIN(?: [A-Z0-9]{1,20}){0,3} PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END(?: [A-Z0-9]{1,20}){0,3} PRIVATE KEY(?: BLOCK)?-----")
_LETTERS = re.compile(r"[A-Za-z0-9+/=]{16}")
_LEAD = r"(?:\\[nrt]|[\s>|+\-#*/\"',]|[0-9]{1,6}(?:→|[\t:|-])){0,40}"
_NOTHING_MORE = re.compile(r"(?:\\n|[ \t\r\n\"',])*\Z")
_HEADER = re.compile(_LEAD + r"(?:Proc-Type|DEK-Info|Version|Comment|Charset)[^\n\\]{0,80}")
_BODY = re.compile(_LEAD + r"(?P<run>[A-Za-z0-9+/=]+)(?=[\r\n\\\"',]|\Z)")


def spans(text: str) -> tuple[list[Span], bool]:
    """Where private keys stand in a text, and whether the text ends within one. Mere mentions of the BEGIN line are left alone."""
    found: list[Span] = []
    at, is_open = 0, False
    while begin := _BEGIN.search(text, at):
        at = begin.end()
        end = _END.search(text, at, at + LONGEST)
        reach = end.start() if end else body_end(text, at)
        is_open = end is None and _NOTHING_MORE.match(text, reach) is not None
        if _LETTERS.search(text, at, reach) or (is_open and reach > at):
            at = end.end() if end else reach
            found.append(Span(begin.start(), at, KIND))
    return found, is_open


def continued(text: str) -> tuple[int, bool]:
    """How far a key that an earlier text began reaches into this one (0 if not at all), and whether this text ends within it too."""
    end = _END.search(text, 0, LONGEST)
    if end and not _BEGIN.search(text, 0, end.start()):
        return end.end(), False
    broken = _BODY.match(text)
    reach = body_end(text, broken.end() if broken else 0)
    return reach, reach > 0 and not text[reach:].strip()


def body_end(text: str, at: int) -> int:
    """The end of the lines from ``at`` that can be a key's body; ``at`` where there are none."""
    while line := _HEADER.match(text, at) or _BODY.match(text, at):
        at = line.end()
        if line.re is _BODY and len(line["run"]) < _FULL_LINE:
            break
    return at
