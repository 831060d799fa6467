-- Plans of the lens that do not rest on statistics. A brain that was filled a minute ago has none yet: the planner then takes every
-- table for a row long, and judged the whole brain once for each row that was asked for (20 of 800 claims took 34 seconds, now 5 ms).
-- `offset 0` keeps a look-up by id where it stands; a CASE asks about inputs only where there are any, which a join did not.
set local role memoranda_lens;

create or replace view lens.standing with (security_barrier) as
select j.id, j.claim_id,
  coalesce(j.hard, case when i.worst = 'hard' then 'input_not_eligible' end) as hard,
  coalesce(j.soft, case when i.worst = 'soft' then 'input_not_eligible' end) as soft,
  j.unverified
from lens.judged j
cross join lateral (
  select case when exists (select from ledger.derivation d where d.revision_id = j.id) then lens.inputs(j.id) end as worst) i;

create or replace view lens.revision with (security_barrier) as
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

create or replace view lens.support with (security_barrier) as
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
