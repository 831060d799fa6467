"""Secrets inside base64, as Kubernetes manifests, CI variables and `echo | base64` hold them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from memoranda_capture import token_formats
from memoranda_capture.token_formats import Span

_PREFIXES = (
    "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "sk-ant-", "sk-proj-", "sk_live_", "AKIA", "AIza", "npm_", "pypi-",
    "hvs.", "dckr_pat_", "dop_v1_", "mem_", "PRIVATE KEY-----",
)  # fmt: skip
_LONGEST = 16_384
"""Characters of base64 that are decoded; a certificate bundle is shorter, and an image need not be decoded whole."""


def _stems(prefix: str) -> set[str]:
    """What base64 text must hold when ``prefix`` stands in what it wraps, at each of the three alignments."""
    stems: set[str] = set()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + prefix.encode()).decode()
        stems.add(encoded[-(-shift * 8 // 6) : (shift + len(prefix)) * 8 // 6])
    return {stem for stem in stems if len(stem) >= 4}


STEMS: tuple[str, ...] = tuple(sorted({stem for prefix in _PREFIXES for stem in _stems(prefix)}))
_LOGIN_HINT = r"\"_?auth\\?\"\s{0,4}:\s{0,4}\\?\"[A-Za-z0-9+/]{8}"
HINT = "(?:" + "|".join(map(re.escape, STEMS)) + ")[A-Za-z0-9+/_-]{12}|" + _LOGIN_HINT
_STEM = re.compile("|".join(map(re.escape, STEMS)))
_LOGIN = re.compile(r"\"_?auth\\?\"\s{0,4}:\s{0,4}\\?\"(?P<secret>[A-Za-z0-9+/]{8,4000}={0,2})\\?\"")
"""A registry's user and password, as Docker's config.json holds them."""

_RUN = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")


def spans(line: str) -> Iterator[Span]:
    """Yields the runs of base64 in one line that decode to a secret of a known format; the whole run is the secret."""
    for login in _LOGIN.finditer(line):
        if _is_login(login["secret"]):
            yield Span(*login.span("secret"), "basic_auth")
    if not _STEM.search(line):
        return
    for run in _RUN.finditer(line):
        if _STEM.search(run[0]) and (kind := _kind_inside(run[0][:_LONGEST])):
            yield Span(*run.span(), kind)


def _is_login(run: str) -> bool:
    try:
        text = base64.b64decode(run, validate=True).decode()
    except ValueError:
        return False
    return text.isprintable() and ":" in text[1:-1]


def _kind_inside(run: str) -> str | None:
    standard = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        text = base64.b64decode(standard[: len(standard) // 4 * 4] + _padded_tail(standard)).decode("latin-1")
    except binascii.Error:
        return None
    if "PRIVATE KEY-----" in text:
        return "private_key"
    return next((span.kind for span in token_formats.spans(text)), None)


def _padded_tail(run: str) -> str:
    tail = run[len(run) // 4 * 4 :]
    return tail + "=" * (4 - len(tail)) if len(tail) > 1 else ""
