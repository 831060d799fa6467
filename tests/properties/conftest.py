"""One connection for all the questions that write nothing."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.databases import Server
from tests.properties.asking import Connection


@pytest.fixture(scope="module")
def asked(server: Server, template: str) -> Generator[Connection]:
    """A connection to a migrated database of this module."""
    with server.new("properties", template=template) as database, database.connect(autocommit=True) as connection:
        yield connection
