"""Logs and trace context. Neither carries content, a secret or a token."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime

from opentelemetry import context, propagate, trace

tracer = trace.get_tracer("memoranda")


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, event, and the fields given as ``extra={"fields": {…}}``."""

    def format(self, record: logging.LogRecord) -> str:
        """Formats without tracebacks' local values; the exception's type and place are kept, its message is not."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            line["trace_id"] = f"{span.trace_id:032x}"
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["at"] = _place(record)
        return json.dumps(line, default=str)


def _place(record: logging.LogRecord) -> list[str]:
    step = record.exc_info[2] if record.exc_info else None
    places: list[str] = []
    while step is not None:
        places.append(f"{step.tb_frame.f_code.co_filename.rsplit('/', 2)[-1]}:{step.tb_lineno}")
        step = step.tb_next
    return places[-6:]


def log_to_stderr(level: int = logging.INFO) -> None:
    """Sends this process' logs to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)


def traceparent() -> str | None:
    """The current trace context in W3C form, or None outside a trace."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get("traceparent")


@contextmanager
def continued(parent: str | None, name: str, **attributes: str | int) -> Generator[trace.Span]:
    """Runs a block as a span under a remote parent. A malformed parent is ignored."""
    carrier = {"traceparent": parent} if parent else {}
    token = context.attach(propagate.extract(carrier))
    try:
        with tracer.start_as_current_span(name, attributes=attributes, record_exception=False) as span:
            yield span
    finally:
        context.detach(token)
