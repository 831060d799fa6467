-- The lens: the one predicate through which everything is read.
set local role memoranda_owner;
grant usage on schema access, evidence, ledger, pipeline, audit to memoranda_lens;
grant select on all tables in schema evidence, ledger, pipeline, audit to memoranda_lens;
grant select on access.brain, access.principal, access.brain_grant to memoranda_lens;
grant execute on all functions in schema access, evidence to memoranda_lens;
revoke execute on function access.make_brain_secret(uuid), access.seal(), access.act(bytea, bytea, text), access.serve(uuid), access.touch(bytea),
  evidence.index_chunks(uuid), evidence.blank_sources(uuid[]) from memoranda_lens;
grant execute on function ledger.period(timestamptz, timestamptz), ledger.author_rank(text),
  ledger.holds_banned_value(uuid, text, timestamptz) to memoranda_lens;

-- Opening needs to sign, and to wait for writers: it belongs to the owner.
create function access.open_lens(credential bytea, brain text, mode text, fact_time timestamptz, known_at timestamptz,
                                 repositories text[], areas text[], environments text[],
                                 out brain_id uuid, out principal_id uuid, out kind text, out role text, out channel text,
                                 out knowledge_time timestamptz, out refused text)
  returns setof record language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  found_one record;
  asked timestamptz := known_at;
begin
  for found_one in select * from access.standing(credential, null, brain) loop
    brain_id := found_one.brain_id; principal_id := found_one.principal_id; kind := found_one.kind; role := found_one.role;
    channel := found_one.channel; refused := null;
    if mode not in ('accepted', 'operational', 'investigation', 'history') then
      refused := 'unknown_mode';
      return next; return;
    end if;
    if mode = 'history' and access.role_rank(role) < 3 and not found_one.reads_history then
      refused := 'history_needs_reviewer';
      return next; return;
    end if;
    -- whoever writes now commits before this returns; whoever writes later gets a later time
    begin
      perform pg_advisory_xact_lock_shared(access.write_lock(brain_id));
      raise exception sqlstate 'MEM00';
    exception when sqlstate 'MEM00' then null;
    end;
    knowledge_time := least(coalesce(asked, 'infinity'), clock_timestamp());
    perform access.put('brain', brain_id::text), access.put('principal', principal_id::text), access.put('role', role),
            access.put('channel', 'lens'), access.put('mode', mode),
            access.put('fact_time', coalesce(fact_time, knowledge_time)::text), access.put('known_at', knowledge_time::text),
            access.put('scope', jsonb_build_array(coalesce(repositories, '{}'), coalesce(areas, '{}'), coalesce(environments, '{}'))::text);
    perform access.put('seal', access.seal());
    perform access.touch(credential);
    return next;
  end loop;
end $$;

create function access.in_scope(row_repositories text[], row_areas text[], row_environments text[], scope jsonb)
  returns boolean language sql immutable parallel safe as $$
  select (row_repositories = '{}' or scope->0 = '[]'::jsonb or scope->0 ?| row_repositories)
     and (row_areas = '{}' or scope->1 = '[]'::jsonb or scope->1 ?| row_areas)
     and (row_environments = '{}' or scope->2 = '[]'::jsonb or scope->2 ?| row_environments) $$;
grant execute on function access.in_scope(text[], text[], text[], jsonb), access.is_sealed(), access.seal(), access.said() to memoranda_lens;

set local role memoranda_lens;

create function lens.mode() returns text language sql stable as $$ select current_setting('memoranda.mode', true) $$;
create function lens.fact_time() returns timestamptz language sql stable
  as $$ select nullif(current_setting('memoranda.fact_time', true), '')::timestamptz $$;
create function lens.known_at() returns timestamptz language sql stable
  as $$ select nullif(current_setting('memoranda.known_at', true), '')::timestamptz $$;
create function lens.scope() returns jsonb language sql stable
  as $$ select nullif(current_setting('memoranda.scope', true), '')::jsonb $$;

-- No row leaves unless the lens was opened by a credential, in this very transaction.
create function lens.is_open() returns boolean language sql stable
  as $$ select coalesce(lens.mode(), '') <> '' and access.is_sealed() $$;

-- Why a revision is not to be believed, by itself: 'hard' keeps it from investigation too, 'soft' from what is accepted only.
create view lens.judged with (security_barrier) as
select r.id, r.claim_id,
  case
    when r.erased_at is not null then 'erased'
    when not access.in_scope(r.repositories, r.areas, r.environments, lens.scope()) then 'out_of_scope'
    when exists (select from ledger.revision n
                  where n.claim_id = r.claim_id and n.recorded_at > r.recorded_at and n.recorded_at <= lens.known_at()) then 'superseded'
    when r.review = 'rejected' then 'rejected'
    when r.lifecycle = 'withdrawn' then 'withdrawn'
    when r.lifecycle = 'expired' then 'expired'
    when r.admission = 'blocked_by_rule' then 'blocked_by_rule'
    when exists (select from ledger.rule u
                  where u.brain_id = r.brain_id and u.rule_key = r.rule_key and u.recorded_at <= lens.known_at()
                    and evidence.scopes_meet(u.repositories, u.areas, u.environments, r.repositories, r.areas, r.environments)
                    and ledger.period(u.valid_from, u.valid_to) && ledger.period(r.valid_from, r.valid_to)
                    and not exists (select from ledger.exemption e where e.rule_id = u.id and e.revision_id = r.id))
      then 'blocked_by_rule'
    when r.admission = 'needs_review' and r.review <> 'accepted' then 'repeats_rejected_value'
    when r.freshness = 'superseded' then 'superseded'
    when r.freshness = 'unsupported' then 'unsupported'
    when r.valid_from > lens.fact_time() then 'not_yet_valid'
    when r.valid_to <= lens.fact_time() then case when r.superseded_by is null then 'no_longer_valid' else 'superseded' end
    when not exists (select from ledger.derivation d where d.revision_id = r.id)
     and not exists (select from ledger.support s join evidence.chunk c on c.id = s.chunk_id
                      where s.revision_id = r.id and c.erased_at is null) then 'unsupported'
  end as hard,
  case
    when r.freshness = 'needs_verification' then 'needs_verification'
    when r.review <> 'accepted' then 'unreviewed'
    -- a word of lower rank that nobody accepted does not put an accepted claim in doubt; the conflict itself is still open
    when exists (select from ledger.conflict k
                  cross join lateral (select case when k.left_claim = r.claim_id then k.right_revision else k.left_revision end as id) side
                   join ledger.revision o on o.id = side.id
                  where (k.left_claim = r.claim_id or k.right_claim = r.claim_id)
                    and k.opened_at <= lens.known_at() and (k.closed_at is null or k.closed_at > lens.known_at())
                    and (o.review = 'accepted' or ledger.author_rank(o.author_role) >= ledger.author_rank(r.author_role))
                    -- what does not apply where the reader is does not put in doubt what does
                    and access.in_scope(o.repositories, o.areas, o.environments, lens.scope()))
      then 'in_conflict'
  end as soft,
  case when r.operational <> 'verified' or r.observed_at is null or r.outcome is null then 'unverified_in_operation' end as unverified
from ledger.revision r
where r.brain_id = access.current_brain() and r.recorded_at <= lens.known_at();

-- The worst that is to be said of the inputs of a derived revision, at this moment.
create function lens.inputs(derived uuid) returns text language sql stable security definer set search_path = pg_catalog as $$
  with recursive input(revision_id, chunk_id) as (
    select d.input_revision_id, d.input_chunk_id from ledger.derivation d where d.revision_id = derived
    union
    select d.input_revision_id, d.input_chunk_id from ledger.derivation d join input i on d.revision_id = i.revision_id
  )
  select case
    when exists (select from input i join evidence.chunk c on c.id = i.chunk_id where c.erased_at is not null
                    or exists (select from ledger.rule_hit h join ledger.rule u on u.id = h.rule_id
                                where h.chunk_id = c.id and h.recorded_at <= lens.known_at()))
      or exists (select from input i left join lens.judged j on j.id = i.revision_id
                  where i.revision_id is not null and (j.id is null or j.hard is not null)) then 'hard'
    when exists (select from input i where i.chunk_id is not null)
      or exists (select from input i join lens.judged j on j.id = i.revision_id where j.soft is not null) then 'soft'
  end $$;

-- `offset 0` keeps a look-up by id where it stands: a brain that was filled a minute ago has no statistics, and the planner, taking
-- every table for a row long, judged the whole brain once for each row that was asked for. A CASE asks about inputs only where there are any.
create view lens.standing with (security_barrier) as
select j.id, j.claim_id,
  coalesce(j.hard, case when i.worst = 'hard' then 'input_not_eligible' end) as hard,
  coalesce(j.soft, case when i.worst = 'soft' then 'input_not_eligible' end) as soft,
  j.unverified
from lens.judged j
cross join lateral (
  select case when exists (select from ledger.derivation d where d.revision_id = j.id) then lens.inputs(j.id) end as worst) i;

create function lens.withheld(hard text, soft text, unverified text) returns text language sql stable as $$
  select case lens.mode()
    when 'history' then case when hard in ('erased', 'out_of_scope') then hard end
    when 'investigation' then hard
    when 'operational' then coalesce(hard, soft, unverified)
    else coalesce(hard, soft) end $$;

create view lens.revision with (security_barrier) as
select r.id, r.claim_id, r.ordinal, r.recorded_at, s.withheld, coalesce(s.hard, s.soft, 'accepted') as standing,
  r.kind, case when s.withheld is null then r.subject end as subject, case when s.withheld is null then r.predicate end as predicate,
  case when s.withheld is null then r.value end as value, r.polarity, case when s.withheld is null then r.statement end as statement,
  r.cardinality, r.repositories, r.areas, r.environments, r.valid_from, r.valid_to, r.said_at, r.author_role, r.review, r.lifecycle,
  r.freshness, r.operational, r.observed_at, case when s.withheld is null then r.outcome end as outcome, r.admission, r.origin,
  r.superseded_by, r.reviewer_id, p.name as reviewer, r.acceptance_policy, r.principal_id, w.name as writer,
  case when s.withheld is null then r.reason end as reason, r.digest, r.erased_at,
  not exists (select from ledger.revision n where n.claim_id = r.claim_id and n.recorded_at > r.recorded_at
                 and n.recorded_at <= lens.known_at()) as is_latest,
  exists (select from ledger.conflict k where (k.left_claim = r.claim_id or k.right_claim = r.claim_id)
             and k.opened_at <= lens.known_at() and (k.closed_at is null or k.closed_at > lens.known_at())) as disputed,
  coalesce((select n.pinned from ledger.pin n where n.claim_id = r.claim_id and n.recorded_at <= lens.known_at()
             order by n.recorded_at desc limit 1), false) as pinned
from ledger.revision r
join lateral (select t.hard, t.soft, lens.withheld(t.hard, t.soft, t.unverified) as withheld
                from lens.standing t where t.id = r.id offset 0) s on true
left join access.principal p on p.id = r.reviewer_id
left join access.principal w on w.id = r.principal_id
where r.brain_id = access.current_brain() and lens.is_open();

create view lens.chunk with (security_barrier) as
select c.id, c.source_id, c.version_id, c.ordinal, c.first_line, c.last_line, v.recorded_at, j.withheld,
  case when j.withheld is null then c.text end as text, c.run_lines, c.run_roles, c.run_said, c.abandoned,
  s.kind as source_kind, s.host, s.external_id, case when s.erased_at is null then s.title end as title,
  s.repositories, s.areas, s.environments
from evidence.chunk c
join evidence.version v on v.id = c.version_id
join evidence.source s on s.id = c.source_id
cross join lateral (select case
    when c.erased_at is not null then 'erased'
    when not access.in_scope(s.repositories, s.areas, s.environments, lens.scope()) then 'out_of_scope'
    when lens.mode() = 'history' then null
    when exists (select from evidence.version n where n.source_id = c.source_id and n.replaces and n.ordinal > v.ordinal
                    and n.recorded_at <= lens.known_at()) then 'superseded'
    when exists (select from ledger.rule_hit h join ledger.rule u on u.id = h.rule_id
                  where h.chunk_id = c.id and h.recorded_at <= lens.known_at()
                    and evidence.scopes_meet(u.repositories, u.areas, u.environments, s.repositories, s.areas, s.environments)
                    -- a value that a person revalidated may be read again
                    and not exists (select from ledger.exemption e join ledger.revision x on x.id = e.revision_id
                                     where e.rule_id = u.id and e.recorded_at <= lens.known_at() and x.review = 'accepted'
                                       and x.lifecycle = 'active'
                                       and not exists (select from ledger.revision n where n.claim_id = x.claim_id
                                            and n.recorded_at > x.recorded_at and n.recorded_at <= lens.known_at())))
      then 'repeats_rejected_value'
  end as withheld) j
where c.brain_id = access.current_brain() and v.recorded_at <= lens.known_at() and lens.is_open();

create function lens.lines_of(original text, chunk_first int, first_line int, last_line int) returns text language sql immutable as $$
  select array_to_string((string_to_array(original, E'\n'))[first_line - chunk_first + 1 : last_line - chunk_first + 1], E'\n') $$;

-- The excerpt of cited lines whose chunk is withheld for another of its lines. Null where they hold the banned value themselves.
create function lens.excerpt(chunk uuid, first_line int, last_line int, chunk_withheld text) returns text language plpgsql stable
  security definer set search_path = pg_catalog as $$
declare
  cited text;
begin
  if not lens.is_open() or chunk_withheld not in ('repeats_rejected_value', 'superseded') then
    return null;
  end if;
  select lens.lines_of(c.text, c.first_line, excerpt.first_line, excerpt.last_line) into cited
    from evidence.chunk c where c.id = chunk and c.brain_id = access.current_brain() and c.erased_at is null;
  if ledger.holds_banned_value(chunk, cited, lens.known_at()) then
    return null;
  end if;
  return cited;
end $$;

-- The cited lines of what may be read. An excerpt is withheld with its revision, and for what it says itself.
create view lens.support with (security_barrier) as
select s.revision_id, s.ordinal, s.chunk_id, s.first_line, s.last_line, s.role, s.said_at,
  coalesce(r.withheld, case when e.excerpt is null then k.withheld end) as withheld, e.excerpt,
  k.source_id, k.source_kind, k.host, k.external_id, k.title
from ledger.support s
cross join lateral (select v.withheld from lens.revision v where v.id = s.revision_id offset 0) r
cross join lateral (
  select v.withheld, v.text, v.first_line, v.source_id, v.source_kind, v.host, v.external_id, v.title
    from lens.chunk v where v.id = s.chunk_id offset 0) k
cross join lateral (select case
    when r.withheld is not null then null
    when k.withheld is null then lens.lines_of(k.text, k.first_line, s.first_line, s.last_line)
    else lens.excerpt(s.chunk_id, s.first_line, s.last_line, k.withheld) end as excerpt) e
where s.brain_id = access.current_brain();

create view lens.derivation with (security_barrier) as
select d.revision_id, d.ordinal, d.input_revision_id, d.input_chunk_id
from ledger.derivation d where d.brain_id = access.current_brain() and lens.is_open();

create view lens.source with (security_barrier) as
select s.id, s.kind, s.host, s.external_id, case when j.withheld is null then s.title end as title, s.repositories, s.areas,
  s.environments, s.branch, s.recorded_at, s.erased_at, j.withheld,
  (select count(*) from evidence.event e where e.source_id = s.id) as events,
  (select count(*) from evidence.version v where v.source_id = s.id and v.recorded_at <= lens.known_at()) as versions,
  (select count(*) from evidence.chunk c where c.source_id = s.id) as chunks
from evidence.source s
cross join lateral (select case
    when s.erased_at is not null then 'erased'
    when not access.in_scope(s.repositories, s.areas, s.environments, lens.scope()) then 'out_of_scope' end as withheld) j
where s.brain_id = access.current_brain() and lens.is_open();

create view lens.conflict with (security_barrier) as
select c.id, c.left_claim, c.right_claim, c.left_revision, c.right_revision, c.opened_at,
  case when c.closed_at <= lens.known_at() then c.closed_at end as closed_at,
  case when c.closed_at <= lens.known_at() then c.resolution end as resolution,
  case when c.closed_at <= lens.known_at() then p.name end as resolved_by,
  case when c.closed_at <= lens.known_at() and access.role_rank(current_setting('memoranda.role', true)) >= 3 then c.reason end as reason
from ledger.conflict c left join access.principal p on p.id = c.resolved_by
where c.brain_id = access.current_brain() and c.opened_at <= lens.known_at() and lens.is_open();

-- Rules hold digests only: what was banned is read in the revision, where the mode allows it.
create view lens.rule with (security_barrier) as
select u.id, u.revision_id, u.cause, u.repositories, u.areas, u.environments, u.valid_from, u.valid_to, p.name as made_by,
  u.reason, u.recorded_at
from ledger.rule u join access.principal p on p.id = u.made_by
where u.brain_id = access.current_brain() and u.recorded_at <= lens.known_at() and lens.is_open()
  and access.role_rank(current_setting('memoranda.role', true)) >= 3;

create view lens.flag with (security_barrier) as
select f.id, f.claim_id, p.name as made_by, f.reason, f.recorded_at
from ledger.flag f join access.principal p on p.id = f.made_by
where f.brain_id = access.current_brain() and lens.is_open() and access.role_rank(current_setting('memoranda.role', true)) >= 2;

create view lens.job with (security_barrier) as
select j.id, j.lane, j.kind, j.subject_id, j.state, j.attempts, j.max_attempts, j.not_before, j.leased_by, j.leased_until,
  j.published_at, j.created_at, j.finished_at, j.error, j.result
from pipeline.job j where j.brain_id = access.current_brain() and lens.is_open();

create view lens.worker with (security_barrier) as
select w.name, w.lane, w.version, w.started_at, w.seen_at, clock_timestamp() - w.seen_at as silent, w.clock_ahead, w.holds, w.state, w.trouble
from pipeline.worker w where lens.is_open();

create view lens.audit with (security_barrier) as
select e.id, e.recorded_at, p.name as principal, p.kind as principal_kind, e.channel, e.action, e.subject_type, e.subject_id, e.reason,
  e.before_digest, e.after_digest, e.traceparent
from audit.entry e left join access.principal p on p.id = e.principal_id
where e.brain_id = access.current_brain() and e.recorded_at <= lens.known_at() and lens.is_open()
  and access.role_rank(current_setting('memoranda.role', true)) >= 3;

create view lens.brain with (security_barrier) as
select b.id, b.slug, b.name, b.policy, b.created_at from access.brain b where b.id = access.current_brain() and lens.is_open();
