"""Names that stay the same across files: digests for events without an id, and the working directory in one form."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_DRIVE = re.compile(r"^[a-z]:(?=[\\/])")


def digest(*parts: object) -> str:
    """A 128-bit name of these parts; parts cannot run into one another."""
    sum_ = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = str(part).encode("utf-8", "surrogatepass")
        sum_.update(len(raw).to_bytes(8, "big"))
        sum_.update(raw)
    return sum_.hexdigest()


def directory(path: str) -> str | None:
    """A working directory in the one form that is compared: NFC, no slash at the end, drive letter in upper case; None for ''.

    Links are not followed: the directory may be on another machine.
    """
    composed = unicodedata.normalize("NFC", path.strip())
    composed = _DRIVE.sub(lambda drive: drive[0].upper(), composed)
    return composed.rstrip("/\\") or (composed[:1] or None)
