-- How far a source has come: its jobs and those of its versions, and what learning them came to.
set local role memoranda_owner;
create index job_subject on pipeline.job (subject_id);

set local role memoranda_lens;
create view lens.progress with (security_barrier) as
select s.id as source_id, j.id as job_id, j.lane, j.kind, j.state, j.error, j.result
from evidence.source s
join pipeline.job j on j.subject_id = s.id
  or j.subject_id in (select v.id from evidence.version v where v.source_id = s.id)
where s.brain_id = access.current_brain() and j.brain_id = access.current_brain() and lens.is_open();

create view lens.sealed with (security_barrier) as
select s.id as source_id, (select count(*) from evidence.event e where e.source_id = s.id) as events,
  (select count(*) from evidence.event e where e.source_id = s.id
      and e.id <= coalesce((select max(v.last_event) from evidence.version v where v.source_id = s.id), 0)) as sealed_events,
  (select count(*) from evidence.version v where v.source_id = s.id) as versions,
  (select count(*) from evidence.chunk c where c.source_id = s.id) as chunks
from evidence.source s where s.brain_id = access.current_brain() and lens.is_open();

grant select on lens.progress, lens.sealed to memoranda_gateway;

-- Which revisions are about a subject, by its key.
create function lens.about(wanted_subject text, wanted_predicate text) returns setof uuid language sql stable security definer
  set search_path = pg_catalog as $$
  select r.id from ledger.revision r
   where lens.is_open() and r.brain_id = access.current_brain() and r.subject_key = evidence.name_key(wanted_subject)
     and (wanted_predicate is null or r.predicate_key = evidence.name_key(wanted_predicate)) $$;
grant execute on function lens.about(text, text) to memoranda_gateway;
