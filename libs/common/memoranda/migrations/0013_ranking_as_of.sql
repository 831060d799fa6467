-- Ranking as of the lens' knowledge time: a word weighs by how often it occurs in what was known then. It was counted over all that is
-- known now, so that the order of an answer, and with it what the limit cut off, changed with later writes.
set local role memoranda_lens;

create or replace function lens.search_revisions(question text, pool int) returns table (revision_id uuid, score real, bounded boolean)
  language plpgsql stable security definer set search_path = pg_catalog as $$
declare
  bound constant int := 1000;
  picked tsquery;
begin
  if not lens.is_open() then
    raise exception 'the lens is not open' using errcode = '42501';
  end if;
  picked := lens.picking(question, 'revision', bound);
  if picked is null then
    return;
  end if;
  return query
  with candidate as materialized (
    select x.revision_id as id, x.lexemes from ledger.revision_lexeme x where x.lexemes @@ picked limit bound
  ), counted as materialized (
    select count(*) as number from candidate
  ), word as materialized (
    select q.lexeme, evidence.quoted(q.lexeme)::tsquery as term, q.share from lens.question_words(question, 'revision') q
  ), known as materialized (
    select c.id, c.lexemes, r.recorded_at from candidate c
    cross join lateral (
      select r.recorded_at from ledger.revision r
       where r.id = c.id and r.brain_id = access.current_brain() and r.recorded_at <= lens.known_at()
         and not exists (select from ledger.revision n where n.claim_id = r.claim_id and n.recorded_at > r.recorded_at
                            and n.recorded_at <= lens.known_at())
      offset 0) r
  ), hit as materialized (
    select k.id, k.recorded_at, w.lexeme, w.share, length(k.lexemes) as words from known k join word w on k.lexemes @@ w.term
  ), weighed as (
    select h.lexeme, ln(1 + 1 / greatest(h.share, (count(*) + 0.5) / greatest(1000, (select n.number from counted n)))) as weight
      from hit h group by h.lexeme, h.share
  ), scored as (
    select h.id, h.recorded_at, (sum(w.weight) / (1 + 0.05 * ln(1 + h.words)))::real as points
      from hit h join weighed w on w.lexeme = h.lexeme group by h.id, h.recorded_at, h.words
  )
  select s.id, s.points, (select n.number from counted n) >= bound
    from scored s
   order by s.points desc, s.recorded_at desc, s.id limit pool;
end $$;

create or replace function lens.search_chunks(question text, pool int) returns table (chunk_id uuid, score real, bounded boolean)
  language plpgsql stable security definer set search_path = pg_catalog as $$
declare
  bound constant int := 1000;
  picked tsquery;
begin
  if not lens.is_open() then
    raise exception 'the lens is not open' using errcode = '42501';
  end if;
  picked := lens.picking(question, 'chunk', bound);
  if picked is null then
    return;
  end if;
  return query
  with candidate as materialized (
    select x.chunk_id as id, x.lexemes from evidence.chunk_lexeme x where x.lexemes @@ picked limit bound
  ), counted as materialized (
    select count(*) as number from candidate
  ), word as materialized (
    select q.lexeme, evidence.quoted(q.lexeme)::tsquery as term, q.share from lens.question_words(question, 'chunk') q
  ), known as materialized (
    select c.id, c.lexemes, r.recorded_at from candidate c
    cross join lateral (
      select v.recorded_at from evidence.chunk k join evidence.version v on v.id = k.version_id
       where k.id = c.id and k.brain_id = access.current_brain() and v.recorded_at <= lens.known_at()
      offset 0) r
  ), hit as materialized (
    select k.id, k.recorded_at, w.lexeme, w.share, length(k.lexemes) as words from known k join word w on k.lexemes @@ w.term
  ), weighed as (
    select h.lexeme, ln(1 + 1 / greatest(h.share, (count(*) + 0.5) / greatest(1000, (select n.number from counted n)))) as weight
      from hit h group by h.lexeme, h.share
  ), scored as (
    select h.id, h.recorded_at, (sum(w.weight) / (1 + 0.1 * ln(1 + h.words)))::real as points
      from hit h join weighed w on w.lexeme = h.lexeme group by h.id, h.recorded_at, h.words
  )
  select s.id, s.points, (select n.number from counted n) >= bound
    from scored s
   order by s.points desc, s.recorded_at desc, s.id limit pool;
end $$;
