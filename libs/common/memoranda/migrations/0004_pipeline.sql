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
create index job_leased on pipeline.job (leased_until) where state = 'leased';
create index job_brain on pipeline.job (brain_id, created_at);
