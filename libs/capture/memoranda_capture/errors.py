"""Why a whole file was not read. What is wrong with single lines is a Notice, never an error.

Refused
├── Unreadable        the operating system does not let us open or read it; try again when it does
├── Empty             nothing in it; skip it, it may be written later
├── NotASession       its lines are no session that is read today; list it with the reason
├── Unsupported       a format that is known and not read yet; the message names it
├── WrongEncoding     UTF-16 or UTF-32; convert it to UTF-8
├── Binary            an image, archive or database; skip it
└── JsonArray         one JSON array instead of lines; export it as JSON lines
"""

from __future__ import annotations

from pathlib import Path

READ_TODAY = "Read today: Claude Code (.jsonl), Codex (rollout-*.jsonl), documents (.md, .markdown, .txt, .rst, .adoc)."


class Refused(Exception):
    """Raised for a file that yields nothing at all; the catcher lists ``path`` and ``message`` and goes on with the next file."""

    code = "refused"

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class Unreadable(Refused):
    """Raised when the file cannot be opened or read (missing, no regular file, no permission, a failing disk)."""

    code = "unreadable"


class Empty(Refused):
    """Raised when the file holds no byte but white space and zero bytes."""

    code = "empty"


class NotASession(Refused):
    """Raised when no line is understood, so that 'read, 0 events' is never reported as success."""

    code = "no_session"


class Unsupported(Refused):
    """Raised for a format that is recognised by its content and not read yet."""

    code = "unsupported_format"

    def __init__(self, path: Path, format_name: str) -> None:
        super().__init__(path, f"This is a session of {format_name}, which is not read yet. {READ_TODAY}")
        self.format_name = format_name


class WrongEncoding(Refused):
    """Raised for UTF-16 and UTF-32."""

    code = "utf16"


class Binary(Refused):
    """Raised for content that is not text."""

    code = "binary"


class JsonArray(Refused):
    """Raised for a file that is one JSON array and no known export."""

    code = "json_array"
