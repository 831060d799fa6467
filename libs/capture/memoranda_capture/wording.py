"""Text as it may be kept: no NUL, no inline binary data."""

from __future__ import annotations

import re

_ZEROS = re.compile("\0{16,}")
_DATA_URL = re.compile(r"data:([\w.+-]{1,40}/[\w.+-]{1,80})(?:;[\w=.-]{1,40})*;base64,([A-Za-z0-9+/=_-]{120,})")


_SHORTEST_DATA_URL = 140


def clean(text: str) -> str:
    """NUL becomes U+FFFD (a long run of them becomes one), and long data URLs become '[image: image/png, 500 KB]'.

    Lone surrogates are replaced before, where JSON is decoded: looking for them here as well took a tenth of the time.
    """
    if text.isascii() and len(text) <= _SHORTEST_DATA_URL and text.isprintable():
        return text
    if ";base64," in text:
        text = _DATA_URL.sub(lambda found: binary(found[1], len(found[2])), text)
    if "\0" in text:
        text = _ZEROS.sub("\ufffd", text).replace("\0", "\ufffd")
    return text


def binary(media_type: str, base64_length: int) -> str:
    """What stands in for binary data; the size is that of the decoded bytes, in units of 1,000."""
    kind = "image" if media_type.startswith("image/") else "document"
    return f"[{kind}: {media_type}, {max(1, round(base64_length * 3 / 4 / 1000))} KB]"
