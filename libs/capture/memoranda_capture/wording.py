"""Text as it may be kept: valid Unicode, no NUL, no inline binary data."""

from __future__ import annotations

import re

_SURROGATES = re.compile("[\ud800-\udfff]")
_ZEROS = re.compile("\0{16,}")
_DATA_URL = re.compile(r"data:([\w.+-]{1,40}/[\w.+-]{1,80})(?:;[\w=.-]{1,40})*;base64,([A-Za-z0-9+/=_-]{120,})")


_SHORTEST_DATA_URL = 140


def clean(text: str) -> str:
    """NUL and lone surrogates become U+FFFD (a long run of NUL becomes one), and long data URLs become '[image: image/png, 500 KB]'."""
    if len(text) > _SHORTEST_DATA_URL and ";base64," in text:
        text = _DATA_URL.sub(lambda found: binary(found[1], len(found[2])), text)
    if "\0" in text:
        text = _ZEROS.sub("\ufffd", text).replace("\0", "\ufffd")
    return text if text.isascii() else _whole(text)


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def binary(media_type: str, base64_length: int) -> str:
    """What stands in for binary data; the size is that of the decoded bytes, in units of 1,000."""
    kind = "image" if media_type.startswith("image/") else "document"
    return f"[{kind}: {media_type}, {max(1, round(base64_length * 3 / 4 / 1000))} KB]"
