"""Sources, captured events, versions and chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from memoranda.domain.evidence import Chunk, Piece, Role, Run, Scope, SourceKind, StoredEvent
from memoranda.store.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A session or document, and whether a person erased it."""

    id: UUID
    kind: SourceKind
    repositories: list[str]
    areas: list[str]
    environments: list[str]
    erased_at: datetime | None

    @property
    def scope(self) -> Scope:
        """Where what the source says applies."""
        return Scope(repositories=tuple(self.repositories), areas=tuple(self.areas), environments=tuple(self.environments))


LOCK_SOURCE = "select pg_advisory_xact_lock(hashtextextended(%(brain_id)s::text || %(host)s || chr(31) || %(external_id)s, 2))"
ADD_SOURCE = """
insert into evidence.source (brain_id, kind, host, external_id, title, repositories, areas, environments, branch, captured_by)
values (%(brain_id)s, %(kind)s, %(host)s, %(external_id)s, %(title)s, %(repositories)s, %(areas)s, %(environments)s, %(branch)s,
        access.current_principal())
on conflict (brain_id, host, external_id) do nothing
"""
FIND_SOURCE = """
select id, kind, repositories, areas, environments, erased_at from evidence.source
 where brain_id = %(brain_id)s and host = %(host)s and external_id = %(external_id)s
"""


def open_source(
    connection: Connection,
    *,
    brain_id: UUID,
    kind: SourceKind,
    host: str,
    external_id: str,
    title: str,
    scope: Scope,
    branch: str | None,
) -> Source:
    """The source of that name, made if it is new. Writers of one source take turns until they commit.

    So the events of a source become visible in the order of their ids, and a reader that remembers the last id misses none.
    """
    parameters = {
        "brain_id": brain_id,
        "kind": kind,
        "host": host,
        "external_id": external_id,
        "title": title,
        "repositories": list(scope.repositories),
        "areas": list(scope.areas),
        "environments": list(scope.environments),
        "branch": branch,
    }
    connection.execute(LOCK_SOURCE, parameters)
    connection.execute(ADD_SOURCE, parameters)
    with connection.cursor(row_factory=class_row(Source)) as cursor:
        row = cursor.execute(FIND_SOURCE, parameters).fetchone()
    assert row is not None
    return row


GET_SOURCE = """
select id, kind, repositories, areas, environments, erased_at from evidence.source where id = %(id)s
"""


def source(connection: Connection, wanted: UUID) -> Source | None:
    """A source by its id."""
    with connection.cursor(row_factory=class_row(Source)) as cursor:
        return cursor.execute(GET_SOURCE, {"id": wanted}).fetchone()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to store. ``key`` and ``digest`` are 16 bytes; ``body`` is masked already."""

    key: bytes
    parent_key: bytes | None
    role: Role
    kind: str
    said_at: datetime | None
    abandoned: bool
    body: str
    digest: bytes


ADD_EVENTS = """
with incoming as (
  select * from unnest(%(keys)b::bytea[], %(parents)b::bytea[], %(roles)b::text[], %(kinds)b::text[], %(said)b::timestamptz[],
                       %(abandoned)b::bool[], %(bodies)b::text[], %(digests)b::bytea[])
    with ordinality as e(key, parent_key, role, kind, said_at, abandoned, body, digest, place)
), added as (
  insert into evidence.event (brain_id, source_id, key, parent_key, role, kind, said_at, abandoned, body, digest)
  select %(brain_id)s, %(source_id)s, key, parent_key, role, kind, said_at, abandoned, body, digest from incoming order by place
  on conflict (brain_id, key) do nothing
  returning key, digest
), known as (
  select i.place, coalesce(a.digest, e.digest) as digest, i.digest as came
    from incoming i left join added a on a.key = i.key
    left join evidence.event e on a.key is null and e.brain_id = %(brain_id)s and e.key = i.key
)
select (select count(*) from added), coalesce(array_agg(place - 1) filter (where digest <> came), '{}') from known
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """How many events were new, and the places in the batch whose key is known with other content."""

    new: int
    differing: list[int]


def add_events(connection: Connection, *, brain_id: UUID, source_id: UUID, events: Sequence[NewEvent]) -> Added:
    """Stores the events whose key is not known yet; of two with one key in a batch, the first."""
    parameters = {
        "brain_id": brain_id,
        "source_id": source_id,
        "keys": [event.key for event in events],
        "parents": [event.parent_key for event in events],
        "roles": [event.role for event in events],
        "kinds": [event.kind for event in events],
        "said": [event.said_at for event in events],
        "abandoned": [event.abandoned for event in events],
        "bodies": [event.body for event in events],
        "digests": [event.digest for event in events],
    }
    row = connection.execute(ADD_EVENTS, parameters).fetchone()
    assert row is not None
    return Added(new=row[0], differing=[int(place) for place in row[1]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """How far a source is sealed: its last version, event and line, and its last chunk."""

    ordinal: int
    last_event: int
    last_line: int
    last_chunk: int


LAST_SEALED = """
select coalesce(max(v.ordinal), 0) as ordinal, coalesce(max(v.last_event), 0) as last_event, coalesce(max(v.line_count), 0) as last_line,
       coalesce((select max(c.ordinal) from evidence.chunk c where c.source_id = %(source_id)s), 0) as last_chunk
  from (select ordinal, last_event, line_count from evidence.version where source_id = %(source_id)s order by ordinal desc limit 1) v
"""


def last_sealed(connection: Connection, source_id: UUID) -> Sealed:
    """Where sealing a source goes on."""
    with connection.cursor(row_factory=class_row(Sealed)) as cursor:
        row = cursor.execute(LAST_SEALED, {"source_id": source_id}).fetchone()
    assert row is not None
    return row


# sizes are known without reading the texts: only those that are taken are read
UNSEALED = """
with next as (
  select e.id, e.parent_key is null as opens, e.role, e.kind, least(e.said_at, e.captured_at) as said_at,
         e.said_at is null as undated, e.abandoned, coalesce(octet_length(e.body), 0) as size
    from evidence.event e
   where e.source_id = %(source_id)s and e.id > %(after)s order by e.id limit %(limit)s
), measured as (
  select n.*, sum(n.size) over (order by n.id) - n.size as earlier,
         max(case when not n.undated then n.said_at end) over (order by n.id) as lag_said from next n
)
select m.id, m.opens, m.role, m.kind, coalesce(case when m.undated then m.lag_said end, m.said_at) as said_at, m.abandoned, e.body
  from measured m join evidence.event e on e.id = m.id where m.earlier < %(size)s order by m.id
"""


def unsealed(connection: Connection, source_id: UUID, *, after: int, limit: int, size: int) -> list[StoredEvent]:
    """The next events of a source, at most ``limit`` of them and about ``size`` bytes of text, in order of arrival.

    What has no time of its own was said when what is before it in the source was; a time in the future, or none at all, is the
    time of capture.
    """
    parameters = {"source_id": source_id, "after": after, "limit": limit, "size": size}
    with connection.cursor(row_factory=class_row(StoredEvent)) as cursor:
        return cursor.execute(UNSEALED, parameters).fetchall()


ADD_VERSION = """
insert into evidence.version (id, brain_id, source_id, ordinal, last_event, line_count, digest, replaces, recorded_at)
values (%(id)s, %(brain_id)s, %(source_id)s, %(ordinal)s, %(last_event)s, %(line_count)s, %(digest)s, %(replaces)s, clock_timestamp())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """One sealed content of a source. ``replaces`` says that it stands in for what the source said before."""

    id: UUID
    source_id: UUID
    ordinal: int
    last_event: int
    line_count: int
    digest: bytes
    replaces: bool


def add_version(connection: Connection, *, brain_id: UUID, version: NewVersion) -> None:
    """Seals a version over its chunks, which must be there already.

    Takes the brain's write lock until the commit. Raises Stale where another worker sealed the same ordinal.
    """
    parameters = {
        "id": version.id,
        "brain_id": brain_id,
        "source_id": version.source_id,
        "ordinal": version.ordinal,
        "last_event": version.last_event,
        "line_count": version.line_count,
        "digest": version.digest,
        "replaces": version.replaces,
    }
    connection.execute(ADD_VERSION, parameters)


INDEX_CHUNKS = "select evidence.index_chunks(%(id)s)"


def index_chunks(connection: Connection, version_id: UUID) -> int:
    """Puts the words of a version's chunks into the text index. Again, it adds nothing. How many were added."""
    row = connection.execute(INDEX_CHUNKS, {"id": version_id}).fetchone()
    return row[0] if row else 0


# one statement for a version, so that its triggers run once; Postgres has no arrays of arrays that differ in length, so the runs
# of each chunk come as the text of an array
ADD_CHUNKS = """
insert into evidence.chunk (id, brain_id, source_id, version_id, ordinal, first_line, last_line, text, run_lines, run_roles, run_said,
                            continues, abandoned, digest)
select id, %(brain_id)s, %(source_id)s, %(version_id)s, ordinal, first_line, last_line, text, run_lines::int[], run_roles::text[],
       run_said::timestamptz[], continues, abandoned, digest
  from unnest(%(ids)b::uuid[], %(ordinals)b::int[], %(first_lines)b::int[], %(last_lines)b::int[], %(texts)b::text[],
              %(run_lines)b::text[], %(run_roles)b::text[], %(run_said)b::text[], %(continues)b::bool[], %(abandoned)b::bool[],
              %(digests)b::bytea[])
    as c(id, ordinal, first_line, last_line, text, run_lines, run_roles, run_said, continues, abandoned, digest)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChunk:
    """A chunk to store: its id, its place among the source's chunks, and the digest of its text."""

    id: UUID
    ordinal: int
    digest: bytes
    piece: Piece


def add_chunks(connection: Connection, *, brain_id: UUID, source_id: UUID, version_id: UUID, chunks: Sequence[NewChunk]) -> None:
    """Stores the chunks of a version that is added in the same transaction."""
    pieces = [chunk.piece for chunk in chunks]
    parameters = {
        "brain_id": brain_id,
        "source_id": source_id,
        "version_id": version_id,
        "ids": [chunk.id for chunk in chunks],
        "ordinals": [chunk.ordinal for chunk in chunks],
        "first_lines": [piece.first_line for piece in pieces],
        "last_lines": [piece.last_line for piece in pieces],
        "texts": [piece.text for piece in pieces],
        "run_lines": [_array(str(run.line) for run in piece.runs) for piece in pieces],
        "run_roles": [_array(run.role for run in piece.runs) for piece in pieces],
        "run_said": [_array(f'"{run.said_at.isoformat()}"' if run.said_at else "NULL" for run in piece.runs) for piece in pieces],
        "continues": [piece.continues for piece in pieces],
        "abandoned": [piece.abandoned for piece in pieces],
        "digests": [chunk.digest for chunk in chunks],
    }
    connection.execute(ADD_CHUNKS, parameters)


def _array(elements: Iterable[str]) -> str:
    """A Postgres array as text. The elements are of our own making: none needs escaping."""
    return f"{{{','.join(elements)}}}"


CHUNKS = """
select c.id, c.first_line, c.last_line, c.text, c.run_lines, c.run_roles, c.run_said, c.continues, c.abandoned
  from evidence.chunk c where c.version_id = %(version_id)s and c.erased_at is null order by c.ordinal
"""
VERSION_SOURCE = "select source_id from evidence.version where id = %(version_id)s"


def version_source(connection: Connection, version_id: UUID) -> UUID | None:
    """The source of a version."""
    row = connection.execute(VERSION_SOURCE, {"version_id": version_id}).fetchone()
    return row[0] if row else None


def chunks(connection: Connection, version_id: UUID) -> list[Chunk]:
    """The retained chunks of a version, in order."""
    rows = connection.execute(CHUNKS, {"version_id": version_id}).fetchall()
    return [
        Chunk(
            id=row[0],
            piece=Piece(
                first_line=row[1],
                last_line=row[2],
                text=row[3],
                runs=tuple(Run(line=line, role=role, said_at=said) for line, role, said in zip(row[4], row[5], row[6], strict=True)),
                continues=row[7],
                abandoned=row[8],
            ),
        )
        for row in rows
    ]
