"""Ordinary code, prose and tool output come through masking as they are."""

from __future__ import annotations

import pytest

from memoranda_capture.redact import mask
from tests.capture.ordinary_code import LINES


@pytest.mark.parametrize("line", LINES)
def test_an_ordinary_line_comes_through_untouched(line: str) -> None:
    assert mask(line).text == line


def test_the_lines_together_come_through_untouched() -> None:
    assert len(LINES) >= 200
    text = "\n".join(LINES)
    assert mask(text).text is text or mask(text).text == text
