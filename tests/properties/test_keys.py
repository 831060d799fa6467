"""Keys: what looks the same or means the same has one key, and what does not has another."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.properties.asking import Connection, thorough

# Shown by nothing: soft hyphen, joiners, marks and isolates of direction, variation selectors, tags.
# Source: the code points of Unicode's Default_Ignorable_Code_Point that stand in ordinary text.
INVISIBLE: Final = [*map(chr, (0xAD, 0x34F, 0x61C, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202C, 0x202E, 0x2060, 0x2063,
                               0x2066, 0x2069, 0xFE0E, 0xFE0F, 0xFEFF, 0xE0020))]  # fmt: skip
QUOTES: Final = ['""', "''", "``", "“”", "‘’", "«»", "()", "[]", "„“", "‚‘", "‹›"]
WIDE: Final = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}

# any text, and texts of the characters that keys are careful with
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60) | st.text(
    "ab1é0 -_.,;:!'\"`()[]“”\u200b\u0301\u00ad\t/vhk%", max_size=12
)
words = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8)
names = st.lists(words, min_size=1, max_size=4).map("-".join)
# a value that means nothing but its words: no digit, and none of yes, no, on, off, true, false
phrases = st.lists(st.text("bcdghijkmpqvwxz", min_size=1, max_size=8), min_size=1, max_size=4).map(" ".join)


Example = TypeVar("Example")


def batch(one: st.SearchStrategy[Example]) -> st.SearchStrategy[list[Example]]:
    """Many examples for one question."""
    return st.lists(one, min_size=1, max_size=80)


def name_keys(asked: Connection, originals: Sequence[str]) -> list[str]:
    return _keys(asked, "name_key", originals)


def value_keys(asked: Connection, originals: Sequence[str]) -> list[str]:
    return _keys(asked, "value_key", originals)


def _keys(asked: Connection, function: str, originals: Sequence[str]) -> list[str]:
    statement = f"select evidence.{function}(t) from unnest(%s::text[]) with ordinality as u(t, place) order by place"
    return [row[0] for row in asked.execute(statement.encode(), [list(originals)]).fetchall()]


def value_key(asked: Connection, original: str) -> str:
    return value_keys(asked, [original])[0]


# The ways in which a spelling may differ and does not matter. Each takes a text and a number that it may vary by.


def in_case(text: str, how: int) -> str:
    return "".join(c.upper() if how >> place % 31 & 1 else c.lower() for place, c in enumerate(text))


def in_width(text: str, how: int) -> str:
    return "".join(c.translate(WIDE) if how >> place % 29 & 1 else c for place, c in enumerate(text))


def in_space(text: str, how: int) -> str:
    blank = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2009 "][how % 8]
    return blank + text.replace(" ", blank) + blank


def in_quotes(text: str, how: int) -> str:
    first, last = QUOTES[how % 8]
    return first + text + last


def in_punctuation(text: str, how: int) -> str:
    return text + [".", ",", ";", ":", "!", "?", "...", "…", "！", " ?!"][how % 10]


def in_invisible(text: str, how: int) -> str:
    place = how % (len(text) + 1)
    return text[:place] + "\u00ad\u200b\u200d\u200e\u202a\u2060\ufeff"[how % 7] + text[place:]


def in_separators(text: str, how: int) -> str:
    return text.replace("-", ["-", "_", " ", "--", "__", " - ", "_-", "\u3000"][how % 8])


Way = Callable[[str, int], str]
SPELLINGS: Final[list[Way]] = [in_case, in_width, in_space, in_quotes, in_punctuation, in_invisible]
numbers = st.integers(0, 2**32)
values = phrases | st.integers(0, 10**9).map(str) | st.sampled_from(["1h", "v1.2.3", "true"])


@pytest.mark.guarantee(1)
@pytest.mark.parametrize("spelt", [*SPELLINGS, in_separators], ids=lambda way: way.__name__)
@thorough(10)
@given(varied=batch(st.tuples(names, numbers)))
def test_a_name_has_one_key_however_it_is_spelt(asked: Connection, spelt: Way, varied: list[tuple[str, int]]) -> None:
    written = [spelt(name, number) for name, number in varied]
    assert _differing(written, name_keys(asked, written), name_keys(asked, [name for name, _ in varied])) == []


@pytest.mark.guarantee(1)
@pytest.mark.parametrize("spelt", SPELLINGS, ids=lambda way: way.__name__)
@thorough(10)
@given(varied=batch(st.tuples(values, numbers)))
def test_a_value_has_one_key_however_it_is_spelt(asked: Connection, spelt: Way, varied: list[tuple[str, int]]) -> None:
    written = [spelt(value, number) for value, number in varied]
    assert _differing(written, value_keys(asked, written), value_keys(asked, [value for value, _ in varied])) == []


@pytest.mark.guarantee(1)
@thorough(15)
@given(originals=batch(names), ways=st.lists(st.tuples(st.sampled_from(SPELLINGS), numbers), min_size=1, max_size=4))
def test_ways_of_spelling_may_be_combined(asked: Connection, originals: list[str], ways: list[tuple[Way, int]]) -> None:
    written = originals
    for spelt, number in ways:
        written = [spelt(name, number) for name in written]
    assert _differing(written, name_keys(asked, written), name_keys(asked, originals)) == []


@pytest.mark.guarantee(1)
@pytest.mark.parametrize("unseen", INVISIBLE, ids=lambda character: f"U+{ord(character):04X}")
def test_what_shows_nothing_does_not_matter(asked: Connection, unseen: str) -> None:
    assert name_keys(asked, [f"bil{unseen}ling", f"{unseen}billing{unseen}"]) == ["billing"] * 2
    assert value_keys(asked, [f"80{unseen}80", f"{unseen}8080{unseen}", f"ab{unseen}c"]) == ["num:8080", "num:8080", "text:abc"]


@pytest.mark.guarantee(1)
def test_what_shows_nothing_does_not_keep_a_letter_from_its_accent(asked: Connection) -> None:
    assert value_keys(asked, ["cafe\u200b\u0301"]) == value_keys(asked, ["café"])


@pytest.mark.guarantee(1)
@pytest.mark.parametrize("marks", QUOTES)
def test_wrapping_quotes_do_not_matter(asked: Connection, marks: str) -> None:
    assert name_keys(asked, [f"{marks[0]}billing{marks[1]}"]) == ["billing"]
    assert value_keys(asked, [f"{marks[0]}8080{marks[1]}", f"{marks[0]}a b{marks[1]}."]) == ["num:8080", "text:a b"]


def _differing(spelt: list[str], found: list[str], wanted: list[str]) -> list[tuple[str, str, str]]:
    return [(one, key, right) for one, key, right in zip(spelt, found, wanted, strict=True) if key != right]


@thorough(40)
@given(originals=batch(texts))
@example(["a.-", "-'a", "e\u200b\u0301"])
def test_the_key_of_a_name_is_its_own_key(asked: Connection, originals: list[str]) -> None:
    once = name_keys(asked, originals)
    assert _differing(originals, name_keys(asked, once), once) == []


@thorough(40)
@given(originals=batch(texts))
@example(["e\u200b\u0301", "'8080'.", "v1"])
def test_the_words_of_a_value_key_have_that_key(asked: Connection, originals: list[str]) -> None:
    once = [key for key in value_keys(asked, originals) if key.startswith(("text:", "num:", "bool:", "url:"))]
    again = value_keys(asked, [key.split(":", 1)[1] for key in once])
    assert _differing(once, again, once) == []


@thorough(60)
@given(originals=batch(texts))
def test_every_text_has_a_key_and_one_with_a_letter_or_a_digit_not_an_empty_one(asked: Connection, originals: list[str]) -> None:
    for original, name, value in zip(originals, name_keys(asked, originals), value_keys(asked, originals), strict=True):
        kind, said = value.split(":", 1)
        assert kind in {"text", "num", "bool", "ver", "dur", "size", "url"}
        if any(unicodedata.category(c)[0] == "L" or unicodedata.category(c) == "Nd" for c in original if not _is_shown_by_nothing(c)):
            assert name != "", repr(original)
            assert said != "", repr(original)


def _is_shown_by_nothing(character: str) -> bool:
    """The Hangul fillers are letters to Unicode."""
    return character in "\u115f\u1160\u3164\uffa0"


LONG: Final = {
    "letters": "x" * 8000,
    "digits": "9" * 5000,
    "digits with a fraction": "9" * 2500 + "." + "9" * 2500,
    "groups of digits": "1" + ",000" * 1600,
    "a version of many parts": "1" + ".2" * 3900,
    "a long duration": "9" * 5000 + "h",
    "many durations": "1h " * 2600,
    "nearly many durations": "1h " * 2600 + "x",
    "a long size": "9" * 5000 + " TiB",
    "a size that is no number": "1.2.3 kb",
    "a long address": "https://" + "a.b/" * 1990,
    "slashes": "https://" + "/" * 7900,
    "quotes": "'\"" * 4000,
    "spaces": " " * 8000,
    "combining marks": "e" + "\u0301" * 7000,
    "astral letters": "\U0001d400" * 8000,
    "from right to left": "\u05d0\u202e\u0623 8080 " * 800,
    "the longest ligature": "\ufdfa" * 400,
}


@pytest.mark.parametrize("original", LONG.values(), ids=LONG.keys())
def test_no_text_is_too_much(asked: Connection, original: str) -> None:
    name_keys(asked, [original])
    assert value_key(asked, original).split(":", 1)[1] != "" or not original.strip()


@pytest.mark.parametrize("digits", [1, 20, 5000])
def test_a_number_is_kept_to_its_last_digit(asked: Connection, digits: int) -> None:
    whole = "7" * digits
    assert value_key(asked, whole) == "num:" + whole
    assert value_key(asked, whole) != value_key(asked, whole[:-1] + "8")


SAME: Final = [
    ["8080", "8,080", "8_080", "8 080", "８０８０", "+8080", "08080", "8080.0", "8080.00", "8,080.0"],
    ["1234567", "1,234,567", "1_234_567", "1 234 567"],
    ["-5", "-5.0", "-05"],
    ["true", "True", '"TRUE"', "ｔｒｕｅ", "yes", "on", "Yes."],
    ["false", "False", "'FALSE'", "no", "off"],
    ["1h", "60 min", "3600s", "1 hour", "60 minutes", "3,600 s", "1 h", "0.5h 30m", "3600000ms", "１ｈ"],
    ["90 min", "1.5h", "1h 30m", "1h30m", "5400 seconds", "1 hour, 30 minutes"],
    ["1 KiB", "1024 B", "1024 bytes", "1kib", "1,024 B"],
    ["1 MB", "1000 kB", "1,000,000 bytes"],
    ["v1.2.0", "1.2.0", "V1.2.0", '"v1.2.0"'],
    ["https://x:443/", "https://x", "https://x/", "HTTPS://X", "https://x:443"],
    ["http://x:80/a/", "http://x/a", "http://x:80/a"],
]


@pytest.mark.guarantee(1)
@pytest.mark.parametrize(("first", "other"), [(group[0], other) for group in SAME for other in group[1:]])
def test_one_meaning_has_one_key(asked: Connection, first: str, other: str) -> None:
    assert value_key(asked, other) == value_key(asked, first)


@pytest.mark.parametrize(
    ("one", "other"),
    [("3.10", "3.1"), ("80", "8080"), ("8080", "80.80"), ("8,080", "8.080"), ("1.2.0", "1.2"),
     ("v1.2.0", "1.2.1"), ("1h", "1"), ("5", "-5"),
     ("1 KiB", "1 kB"), ("https://x", "http://x"), ("https://x:8443", "https://x"), ("https://x:80", "https://x"), ("https://x/a", "https://x/b"),
     ("true", "truely"), ("1.50", "1.5.0"), ("a b", "ab"), ("a-b", "a b"), ("1,000", "1,00"), ("1h", "1d")],
)  # fmt: skip
def test_other_meanings_have_other_keys(asked: Connection, one: str, other: str) -> None:
    assert value_key(asked, one) != value_key(asked, other)


@thorough(15)
@given(pairs=st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=1, max_size=80))
def test_two_whole_numbers_have_one_key_exactly_if_they_are_equal(asked: Connection, pairs: list[tuple[int, int]]) -> None:
    written = value_keys(asked, [f"{one:,}" for one, _ in pairs])
    others = value_keys(asked, [f"{other:_}" for _, other in pairs])
    assert [a == b for a, b in zip(written, others, strict=True)] == [one == other for one, other in pairs]


UNITS: Final = {
    "s": 1,
    "sec": 1,
    "seconds": 1,
    "m": 60,
    "min": 60,
    "minutes": 60,
    "h": 3600,
    "hours": 3600,
    "d": 86400,
    "days": 86400,
    "w": 604800,
}
SIZES: Final = {"b": 1, "bytes": 1, "kb": 1000, "kib": 1024, "mb": 1000**2, "mib": 1024**2, "gb": 1000**3, "gib": 1024**3, "tib": 1024**4}


@thorough(15)
@given(st.lists(st.tuples(st.integers(0, 10**5), st.sampled_from(list(UNITS)), st.integers(0, 10**5), st.sampled_from(list(UNITS))),
                min_size=1, max_size=80))  # fmt: skip
def test_durations_have_one_key_exactly_if_they_last_equally_long(asked: Connection, pairs: list[tuple[int, str, int, str]]) -> None:
    found = value_keys(asked, [text for a, u, b, v in pairs for text in (f"{a}{u}", f"{b} {v}")])
    assert found == [f"dur:{seconds}" for a, u, b, v in pairs for seconds in (a * UNITS[u], b * UNITS[v])]


@thorough(15)
@given(st.lists(st.tuples(st.integers(0, 10**5), st.sampled_from(list(SIZES))), min_size=1, max_size=80))
def test_sizes_have_one_key_exactly_if_they_are_equally_large(asked: Connection, sizes: list[tuple[int, str]]) -> None:
    assert value_keys(asked, [f"{a} {u.upper()}" for a, u in sizes]) == [f"size:{a * SIZES[u]}" for a, u in sizes]


# The dotted and the dotless i are left out: Postgres 16 and 17 have no full case folding and map them one to one.
LETTERS: Final = [
    c
    for c in map(chr, [*range(0x41, 0x250), *range(0x370, 0x530), *range(0xFF21, 0xFF5B)])
    if unicodedata.category(c) in {"Lu", "Ll"} and c not in "İı" and not unicodedata.decomposition(c).startswith("<compat>")
]


@pytest.mark.guarantee(1)
@thorough(40)
@given(originals=batch(st.text(LETTERS, min_size=1, max_size=20)))
def test_letters_fold_as_unicode_says(asked: Connection, originals: list[str]) -> None:
    assert _differing(originals, name_keys(asked, originals), [_folded(text) for text in originals]) == []


def _folded(text: str) -> str:
    """An oracle of its own: Python's tables, not the database's."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
