"""One reader a format, and the look into a file that chooses one."""

from memoranda_capture.readers.detect import read

__all__ = ["read"]
