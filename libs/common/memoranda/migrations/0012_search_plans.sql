-- Search in time that does not grow with the brain, whatever the planner knows of it. Measured at 100,000 revisions, on two busy cores:
-- find_exact read every revision, since an `or` over two columns has no index (150 ms, a second and a half at a million; now 1 ms).
-- Ranking asked of every candidate and word twice whether it holds, and sorted whole text vectors (17 ms of 36; now asked once, 6 ms).
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
  ), hit as materialized (
    select c.id, w.lexeme, w.share, length(c.lexemes) as words from candidate c join word w on c.lexemes @@ w.term
  ), weighed as (
    select h.lexeme, ln(1 + 1 / greatest(h.share, (count(*) + 0.5) / greatest(1000, (select n.number from counted n)))) as weight
      from hit h group by h.lexeme, h.share
  ), scored as (
    select h.id, (sum(w.weight) / (1 + 0.05 * ln(1 + h.words)))::real as points
      from hit h join weighed w on w.lexeme = h.lexeme group by h.id, h.words
  )
  select s.id, s.points, (select n.number from counted n) >= bound
    from scored s
    cross join lateral (
      select r.recorded_at from ledger.revision r
       where r.id = s.id and r.brain_id = access.current_brain() and r.recorded_at <= lens.known_at()
         and not exists (select from ledger.revision n where n.claim_id = r.claim_id and n.recorded_at > r.recorded_at
                            and n.recorded_at <= lens.known_at())
      offset 0) r
   order by s.points desc, r.recorded_at desc, s.id limit pool;
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
  ), hit as materialized (
    select c.id, w.lexeme, w.share, length(c.lexemes) as words from candidate c join word w on c.lexemes @@ w.term
  ), weighed as (
    select h.lexeme, ln(1 + 1 / greatest(h.share, (count(*) + 0.5) / greatest(1000, (select n.number from counted n)))) as weight
      from hit h group by h.lexeme, h.share
  ), scored as (
    select h.id, (sum(w.weight) / (1 + 0.1 * ln(1 + h.words)))::real as points
      from hit h join weighed w on w.lexeme = h.lexeme group by h.id, h.words
  )
  select s.id, s.points, (select n.number from counted n) >= bound
    from scored s
    cross join lateral (
      select v.recorded_at from evidence.chunk c join evidence.version v on v.id = c.version_id
       where c.id = s.id and c.brain_id = access.current_brain() and v.recorded_at <= lens.known_at()
      offset 0) r
   order by s.points desc, r.recorded_at desc, s.id limit pool;
end $$;

create or replace function lens.find_exact(question text, pool int) returns table (revision_id uuid) language sql stable security definer
  set search_path = pg_catalog as $$
  with asked as materialized (
    select evidence.name_key(left(question, 2000)) as whole, regexp_split_to_array(
             trim(regexp_replace(evidence.fold(left(question, 2000)), '[\s_?!,;:"''`()=-]+', ' ', 'g')), ' ') as words,
           substring(lower(question) from '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')::uuid as id
  ), gram as materialized (
    select distinct array_to_string(words[first : last], ' ') as phrase
      from asked, generate_series(1, least(cardinality(words), 40)) first, generate_series(first, least(first + 4, cardinality(words))) last
    union
    select regexp_replace(words[place], '\.[^.]*$', '') from asked, generate_series(1, least(cardinality(words), 40)) place
     where words[place] ~ '\.'
    union
    select regexp_replace(words[place], '^.*\.', '') from asked, generate_series(1, least(cardinality(words), 40)) place
     where words[place] ~ '\.'
  ), found_one as (
    select r.* from asked a cross join lateral (
      select r.id, r.claim_id, r.recorded_at from ledger.revision r
       where r.brain_id = access.current_brain() and r.subject_key = a.whole offset 0) r
    union
    select r.* from asked a cross join lateral (
      select r.id, r.claim_id, r.recorded_at from ledger.revision r where r.brain_id = access.current_brain() and r.id = a.id offset 0) r
    union
    select r.* from asked a cross join lateral (
      select r.id, r.claim_id, r.recorded_at from ledger.revision r
       where r.brain_id = access.current_brain() and r.claim_id = a.id offset 0) r
    union
    select r.* from gram g cross join lateral (
      select r.id, r.claim_id, r.recorded_at from ledger.revision r
       where r.brain_id = access.current_brain() and r.subject_key = g.phrase
         and exists (select from gram p where p.phrase = r.predicate_key) offset 0) r
  )
  select f.id from found_one f
    cross join lateral (
      select where not exists (select from ledger.revision n where n.claim_id = f.claim_id and n.recorded_at > f.recorded_at
                                  and n.recorded_at <= lens.known_at())
      offset 0) latest
   where lens.is_open() and f.recorded_at <= lens.known_at()
   order by f.recorded_at desc, f.id limit pool $$;
