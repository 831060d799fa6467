"""Reading agent sessions where they lie: transcripts to events, with secrets masked before anything leaves the machine."""

from memoranda_capture.errors import Refused
from memoranda_capture.events import Event, Heading, Notice, Record
from memoranda_capture.find import find
from memoranda_capture.readers import read

__all__ = ["Event", "Heading", "Notice", "Record", "Refused", "find", "read"]
