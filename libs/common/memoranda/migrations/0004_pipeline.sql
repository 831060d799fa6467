-- Jobs: the row is the outbox, the lease and the record of what became of the work.
set local role memoranda_owner;

create sequence pipeline.fencing;

create table pipeline.job (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  lane text not null check (lane in ('ingest', 'learn', 'index', 'graph')),
  kind text not null,
  subject_id uuid not null,
  state text not null default 'ready' check (state in ('ready', 'leased', 'done', 'dead', 'cancelled')),
  attempts int not null default 0,
  max_attempts int not null default 5 check (max_attempts between 1 and 100),
  not_before timestamptz not null default clock_timestamp(),
  fencing_token bigint,
  leased_by text,
  leased_until timestamptz,
  published_at timestamptz,
  announcements int not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  error text check (length(error) <= 2000),
  result jsonb,
  traceparent text,
  check ((state = 'leased') = (leased_until is not null))
);
-- at most one job of a kind waits for a subject: what comes meanwhile is found by it
create unique index job_waiting on pipeline.job (kind, subject_id) where state = 'ready';
create index job_due on pipeline.job (not_before) where state = 'ready';
create index job_unpublished on pipeline.job (brain_id, lane, not_before) where state = 'ready' and published_at is null;
create index job_in_flight on pipeline.job (brain_id, lane) where published_at is not null and state in ('ready', 'leased');
create index job_leased on pipeline.job (leased_until) where state = 'leased';
create index job_open on pipeline.job (brain_id, lane) where state in ('ready', 'leased', 'dead');
create index job_brain on pipeline.job (brain_id, created_at);

-- The next jobs of each line are marked as published and returned, so many that no more than `width` of the line are in flight. A
-- brain that floods a lane has no more than that in the broker's queue, so another brain's job waits behind no more than that.
-- A capture calls this as well as every worker: it sees nothing of a job but what a message carries.
create function pipeline.announce(brains uuid[], lanes text[], width int)
  returns table (id uuid, brain_id uuid, lane text, traceparent text) language sql volatile security definer set search_path = pg_catalog as $$
  with line as (
    select distinct a.brain_id, a.lane from unnest(brains, lanes) as a(brain_id, lane)
  ), room as (
    select l.brain_id, l.lane, width - (select count(*) from (
             select from pipeline.job j where j.brain_id = l.brain_id and j.lane = l.lane and j.published_at is not null
                and j.state in ('ready', 'leased') limit width) f)::int as free
      from line l
  ), next as (
    select n.id from room r cross join lateral (
      select j.id from pipeline.job j
       where j.brain_id = r.brain_id and j.lane = r.lane and j.state = 'ready' and j.published_at is null
         and j.not_before <= clock_timestamp()
       order by j.not_before limit greatest(r.free, 0) for update skip locked) n
  )
  update pipeline.job j set published_at = clock_timestamp(), announcements = j.announcements + 1
    from next n where j.id = n.id returning j.id, j.brain_id, j.lane, j.traceparent $$;

-- The broker did not take them: they are as they were before.
create function pipeline.withdraw(jobs uuid[]) returns void language sql volatile security definer set search_path = pg_catalog as $$
  update pipeline.job j set published_at = null, announcements = greatest(j.announcements - 1, 0)
   where j.id = any (jobs) and j.state = 'ready' $$;

-- Who works: one row for each process, written every few seconds. A row that grows old is a worker that is gone, frozen or cut off.
create table pipeline.worker (
  name text primary key check (length(name) between 1 and 200),
  lane text not null check (lane in ('ingest', 'learn', 'index', 'graph')),
  version text not null check (length(version) <= 50),
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  -- how far its clock is ahead of the database's
  clock_ahead interval not null default '0',
  holds int not null default 0,
  state text not null check (state in ('working', 'draining', 'stopped')),
  trouble text not null default '' check (length(trouble) <= 500)
);
