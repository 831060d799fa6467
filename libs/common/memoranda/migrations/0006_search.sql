-- Finding: ranked candidates, as ids and scores only. What a candidate says is read through the lens afterwards.
set local role memoranda_owner;

-- How common the common words of a brain are, sampled by a chore. It ranks and bounds; it can be dropped and rebuilt.
create table ledger.common_word (
  brain_id uuid not null references access.brain,
  place text not null check (place in ('revision', 'chunk')),
  sampled_at timestamptz not null,
  lexeme text not null,
  share real not null check (share > 0 and share <= 1),
  primary key (brain_id, place, sampled_at, lexeme)
);
-- A reader as of a time uses the sample that there was then, so that the order of its answer stays.
create table ledger.word_sample (
  brain_id uuid not null references access.brain,
  place text not null check (place in ('revision', 'chunk')),
  sampled_at timestamptz not null,
  rows bigint not null,
  primary key (brain_id, place, sampled_at)
);
grant select on ledger.common_word, ledger.word_sample to memoranda_lens;

-- Counts the words of up to 20,000 rows of a brain, when it has doubled since the last time. Small brains need no sample.
create function ledger.sample_words(brain uuid, wanted text) returns boolean language plpgsql volatile security definer
  set search_path = pg_catalog as $$
declare
  now_rows bigint;
  listed text;
  id text;
  words text[];
  shares real[];
  taken timestamptz;
begin
  listed := case wanted when 'revision' then 'ledger.revision_lexeme' else 'evidence.chunk_lexeme' end;
  id := case wanted when 'revision' then 'revision_id' else 'chunk_id' end;
  execute format('select count(*) from %s where brain_id = %L', listed, brain) into now_rows;
  if now_rows < 2000 or now_rows < 2 * coalesce((select max(s.rows) from ledger.word_sample s where s.brain_id = brain and s.place = wanted), 0) then
    return false;
  end if;
  -- the last digits of an id are random: they draw the sample without sorting the brain
  execute format($q$
    select array_agg(s.word), array_agg(least(s.ndoc::real / least(20000, %s), 1))
      from ts_stat($s$select lexemes from %s where brain_id = %L and right(%I::text, 4) < %L$s$) s
     where s.ndoc >= 20 and s.word not like 'brain:%%'$q$,
    now_rows, listed, brain, id, case when now_rows <= 20000 then 'g' else lpad(to_hex((65536 * 20000.0 / now_rows)::int), 4, '0') end)
    into words, shares;
  taken := access.stamp(brain);
  insert into ledger.word_sample (brain_id, place, sampled_at, rows) values (brain, wanted, taken, now_rows);
  insert into ledger.common_word (brain_id, place, sampled_at, lexeme, share)
  select brain, wanted, taken, w.word, w.share from unnest(words, shares) w(word, share);
  return true;
end $$;

set local role memoranda_lens;

-- The sample that there was at the lens' knowledge time.
create function lens.sampled(wanted text) returns timestamptz language sql stable as $$
  select max(s.sampled_at) from ledger.word_sample s
   where s.brain_id = access.current_brain() and s.place = wanted and s.sampled_at <= lens.known_at() $$;

-- The words of a question, rarest first, with the weight of each. 24 is more than a person's question holds.
-- Each is looked up by itself: a sample that was taken a minute ago has no statistics yet, and joined as one table the words cost more than
-- the search (at 145,000 revisions 18.3 ms, so 11.8).
create function lens.question_words(question text, wanted text) returns table (lexeme text, share real) language sql stable as $$
  select w.lexeme, coalesce(c.share, 0)
    from (select distinct u.lexeme from unnest(evidence.lexemes(left(question, 2000))) u) w
    cross join (select lens.sampled(wanted) as sampled_at offset 0) s
    left join lateral (
      select k.share from ledger.common_word k
       where k.brain_id = access.current_brain() and k.place = wanted and k.sampled_at = s.sampled_at and k.lexeme = w.lexeme
      offset 0) c on true
   order by 2, 1 limit 24 $$;

-- Which words pick the candidates: the rare ones (any may match) as long as together they stay under the bound; where even the
-- rarest is common, the rarest ones together. Words left out still count in the ranking.
create function lens.picking(question text, wanted text, bound int) returns tsquery language plpgsql stable as $$
declare
  total bigint := coalesce((select s.rows from ledger.word_sample s
    where s.brain_id = access.current_brain() and s.place = wanted and s.sampled_at = lens.sampled(wanted)), 0);
  expected numeric := 0;
  picked text;
  word record;
  joint numeric := 1;
begin
  for word in select q.lexeme, q.share from lens.question_words(question, wanted) q order by q.share, q.lexeme loop
    if picked is null then
      picked := evidence.quoted(word.lexeme);
      expected := word.share * total;
      joint := word.share;
    elsif expected > bound and joint * total > bound then
      picked := picked || ' & ' || evidence.quoted(word.lexeme);
      joint := joint * word.share;
    elsif expected + word.share * total <= bound then
      picked := picked || ' | ' || evidence.quoted(word.lexeme);
      expected := expected + word.share * total;
    else
      exit;
    end if;
  end loop;
  if picked is null then
    return null;
  end if;
  return (evidence.quoted(evidence.brain_lexeme(access.current_brain())) || ' & (' || picked || ')')::tsquery;
end $$;

-- Ranked revisions that were the latest of their claim at the lens' knowledge time. Source of the weights: inverse document
-- frequency (Robertson and Sparck Jones), by share of the brain where it is sampled and by share of the candidates elsewhere.
create function lens.search_revisions(question text, pool int) returns table (revision_id uuid, score real, bounded boolean)
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

create function lens.search_chunks(question text, pool int) returns table (chunk_id uuid, score real, bounded boolean)
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

-- What a question names outright: a claim or revision by id, a subject, or a subject with its predicate.
create function lens.find_exact(question text, pool int) returns table (revision_id uuid) language sql stable security definer
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
