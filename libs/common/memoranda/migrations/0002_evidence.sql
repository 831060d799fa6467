-- Evidence: sources, captured events, immutable versions and their chunks, and the words by which both sides are compared.
set local role memoranda_owner;

-- Characters that show nothing: default-ignorable code points, as Unicode lists them.
create function evidence.visible(original text) returns text language sql immutable parallel safe as $$
  select regexp_replace(original,
    '[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0'
    '\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]', '', 'g') $$;

-- One spelling for what looks the same: compatibility forms, case, and characters that show nothing. Text of ASCII alone, which
-- most is, needs its case folded and no more.
do $$
declare
  folded text;
begin
  if current_setting('server_version_num')::int >= 180000 then
    folded := 'casefold(%s collate pg_unicode_fast)';
  elsif current_setting('server_version_num')::int >= 170000 then
    folded := 'replace(replace(lower(upper(%s collate pg_c_utf8) collate pg_c_utf8), U&''\00DF'', ''ss''), U&''\03C2'', U&''\03C3'')';
  else
    folded := 'replace(replace(lower(upper(%s collate "und-x-icu") collate "und-x-icu"), U&''\00DF'', ''ss''), U&''\03C2'', U&''\03C3'')';
  end if;
  execute 'create function evidence.fold(original text) returns text language sql immutable parallel safe as $b$ '
    'select case when octet_length(original) = length(original) then lower(original collate "C") collate "default" else '
    'normalize(evidence.visible(normalize(' || format(folded, 'normalize(evidence.visible(original), nfkc)') || ', nfkc)), nfkc) collate "default" end $b$';
end $$;

-- Wrapping quotes and trailing punctuation dropped, white space made one blank.
create function evidence.trimmed(folded text) returns text language sql immutable parallel safe as $$
  select regexp_replace(regexp_replace(regexp_replace(folded, '\s+', ' ', 'g'),
           '^[\s"''`*~_\u2018-\u201f\u2039\u203a\u00ab\u00bb\u300c-\u300f(\[]+', ''),
           '[\s"''`*~_\u2018-\u201f\u2039\u203a\u00ab\u00bb\u300c-\u300f)\].,;:!?]+$', '') $$;

-- The key of a subject or a predicate: white space, hyphens and underscores are one separator.
create function evidence.name_key(original text) returns text language sql immutable parallel safe as $$
  select evidence.trimmed(regexp_replace(evidence.fold(original), '[\s_-]+', ' ', 'g')) $$;

-- The key of a value: by meaning where it is a boolean, number, version, duration, size or URL, by its words otherwise.
-- 3.10 and 3.1 stay apart (they may be versions), so only an all-zero fraction is dropped.
create function evidence.value_key(original text) returns text language plpgsql immutable parallel safe as $$
declare
  word text := evidence.trimmed(evidence.fold(original));
  plain text;
  part text[];
  total numeric := 0;
begin
  if word = '' then
    word := trim(evidence.fold(original));
  end if;
  if word in ('true', 'yes', 'on') then return 'bool:true'; end if;
  if word in ('false', 'no', 'off') then return 'bool:false'; end if;
  if word !~ '[0-9]' and word !~ '://' then return 'text:' || word; end if;
  if word ~ '^[+-]?[0-9]{1,3}([,_ ][0-9]{3})+(\.[0-9]+)?$' or word ~ '^[+-]?[0-9]+(_[0-9]+)*(\.[0-9]+)?$' then
    plain := regexp_replace(regexp_replace(word, '[,_ ]', '', 'g'), '^\+', '');
    plain := regexp_replace(plain, '\.0+$', '');
    plain := regexp_replace(plain, '^(-?)0+([0-9])', '\1\2');
    return 'num:' || plain;
  end if;
  if word ~ '^v[0-9]+$' then
    return 'num:' || regexp_replace(word, '^v0*([0-9])', '\1');
  end if;
  if word ~ '^v?[0-9]+(\.[0-9]+){2,}([.+-][0-9a-z.+-]+)?$' or word ~ '^v[0-9]+(\.[0-9]+)*([.+-][0-9a-z.+-]+)?$' then
    return 'ver:' || regexp_replace(word, '^v', '');
  end if;
  if word ~ '^([0-9]+([,_][0-9]{3})*(\.[0-9]+)?[ -]?(milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)[ ,]*)+$' then
    for part in select regexp_matches(word,
        '([0-9]+(?:[,_][0-9]{3})*(?:\.[0-9]+)?)[ -]?(milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)', 'g') loop
      total := total + regexp_replace(part[1], '[,_]', '', 'g')::numeric * case
        when part[2] ~ '^(ms|msec|milli)' then 0.001
        when part[2] ~ '^s' then 1
        when part[2] ~ '^m' then 60
        when part[2] ~ '^h' then 3600
        when part[2] ~ '^d' then 86400
        else 604800 end;
    end loop;
    return 'dur:' || trim_scale(total)::text;
  end if;
  part := regexp_match(word, '^([0-9]+(?:[.,_][0-9]+)*)[ -]?(bytes?|b|[kmgt]i?b|[kmgt])$');
  if part is not null then
    return 'size:' || trim_scale(regexp_replace(part[1], '[,_]', '', 'g')::numeric * case
      when part[2] ~ '^b' then 1
      when part[2] ~ '^ki' then 1024 when part[2] ~ '^mi' then 1048576 when part[2] ~ '^gi' then 1073741824
      when part[2] ~ '^ti' then 1099511627776
      when part[2] ~ '^k' then 1000 when part[2] ~ '^m' then 1000000 when part[2] ~ '^g' then 1000000000 else 1000000000000 end)::text;
  end if;
  if word ~ '^[a-z][a-z0-9+.-]*://' then
    word := regexp_replace(word, '^(https://[^/:]+):443(/|$)', '\1\2');
    word := regexp_replace(word, '^(http://[^/:]+):80(/|$)', '\1\2');
    return 'url:' || regexp_replace(word, '/+$', '');
  end if;
  return 'text:' || word;
exception when numeric_value_out_of_range or invalid_text_representation then
  return 'text:' || word;
end $$;

-- A text as it reads: without terminal colours, and with the line ends that an escape stands for.
create function evidence.plain(original text) returns text language sql immutable parallel safe as $$
  select case when original ~ E'[\\\\\x1b]' then regexp_replace(regexp_replace(original, E'\x1b\\[[0-9;]*[A-Za-z]', '', 'g'), '\\+[nrt]', ' ', 'g')
              else original end $$;

-- The words of a name, as finely as it splits: at case, hyphen, underscore and dot.
create function evidence.name_words(original text) returns text[] language sql immutable parallel safe as $$
  select coalesce(array_agg(distinct word[1]), '{}') from regexp_matches(evidence.fold(
    regexp_replace(regexp_replace(original, '([[:lower:][:digit:]])([[:upper:]])', '\1 \2', 'g'),
                   '([[:upper:]])([[:upper:]][[:lower:]])', '\1 \2', 'g')), '[[:alnum:]]+', 'g') word $$;

-- The words of a value in their order.
create function evidence.value_sequence(original text) returns text[] language sql immutable parallel safe as $$
  select coalesce(array_agg(word[1] order by place), '{}')
    from regexp_matches(evidence.fold(original), '[[:alnum:]]+', 'g') with ordinality as t(word, place) $$;

-- Every run of so many words of a text.
create function evidence.sequences(original text, length int) returns text[] language sql immutable parallel safe as $$
  select coalesce(array_agg(distinct array_to_string(w.words[first : first + sequences.length - 1], ' ')), '{}')
    from (select evidence.value_sequence(original) as words) w, generate_series(1, cardinality(w.words) - sequences.length + 1) first $$;

-- The words of a text: identifiers are split at case, hyphen, underscore and dot.
create function evidence.words(original text) returns text[] language sql immutable parallel safe as $$
  select coalesce(array_agg(distinct word), '{}') from (
    select (regexp_matches(evidence.fold(original), '[[:alnum:]]+', 'g'))[1] as word
    union all
    select (regexp_matches(evidence.fold(regexp_replace(regexp_replace(original, '([[:lower:][:digit:]])([[:upper:]])', '\1 \2', 'g'),
            '([[:upper:]])([[:upper:]][[:lower:]])', '\1 \2', 'g')), '[[:alnum:]]+', 'g'))[1]) w $$;

-- Every run of one to three tokens of a text, as value keys: what it says by meaning.
create function evidence.value_grams(original text) returns text[] language sql immutable parallel safe as $$
  with whole as (
    select token[1] as token, place from regexp_matches(evidence.fold(original),
      '[a-z][a-z0-9+.-]*://[^\s"''<>)\]]+|[[:alnum:]_]+(?:[.,:/+-][[:alnum:]_]+)*', 'g') with ordinality as t(token, place)
  ), fine as (
    select token[1] as token, place from regexp_matches(evidence.fold(original),
      '[0-9]+(?:[.,][0-9]+)+|[[:alnum:]]+', 'g') with ordinality as t(token, place)
  ), grams as (
    select token as gram from whole
    union select token from fine
    union select a.token || ' ' || b.token from fine a join fine b on b.place = a.place + 1
    union select a.token || ' ' || b.token || ' ' || c.token
      from fine a join fine b on b.place = a.place + 1 join fine c on c.place = a.place + 2
  )
  select coalesce(array_agg(distinct evidence.value_key(gram)), '{}') from grams where length(gram) <= 200 $$;

-- The lexemes of a text: stemmed prose, identifiers split, accents folded; a statement's identifiers are kept whole too. Positions
-- are left out: ranking does not use them, and they are most of a lexeme list's size.
create function evidence.searchable(original text) returns text language sql immutable parallel safe as $$
  select case when octet_length(original) = length(original) then original
              else regexp_replace(normalize(original, nfkd), '[\u0300-\u036f]', '', 'g') end $$;

create function evidence.lexemes(original text) returns tsvector language sql immutable parallel safe as $$
  select strip(to_tsvector('pg_catalog.english', s.txt)
      || to_tsvector('pg_catalog.english', regexp_replace(s.txt, '([a-z0-9])([A-Z])|[_./:@-]', '\1 \2', 'g')))
    from (select evidence.searchable(original) as txt) s $$;

-- The same in one pass, for long texts: parsing is what costs.
create function evidence.split_lexemes(original text) returns tsvector language sql immutable parallel safe as $$
  select strip(to_tsvector('pg_catalog.english', regexp_replace(s.txt, '([a-z0-9])([A-Z])|[_/:@-]|\.(?=[A-Za-z])', '\1 \2', 'g')))
    from (select evidence.searchable(original) as txt) s $$;

create function evidence.scopes_meet(a_repositories text[], a_areas text[], a_environments text[],
                                     b_repositories text[], b_areas text[], b_environments text[])
  returns boolean language sql immutable parallel safe as $$
  select (a_repositories = '{}' or b_repositories = '{}' or a_repositories && b_repositories)
     and (a_areas = '{}' or b_areas = '{}' or a_areas && b_areas)
     and (a_environments = '{}' or b_environments = '{}' or a_environments && b_environments) $$;

create table evidence.source (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  kind text not null check (kind in ('session', 'document', 'contribution', 'review')),
  host text not null check (length(host) between 1 and 100),
  external_id text not null check (length(external_id) between 1 and 500),
  title text not null default '' check (length(title) <= 500),
  repositories text[] not null default '{}',
  areas text[] not null default '{}',
  environments text[] not null default '{}',
  branch text,
  captured_by uuid references access.principal,
  recorded_at timestamptz not null default clock_timestamp(),
  erased_at timestamptz,
  unique (brain_id, host, external_id)
);

create table evidence.event (
  id bigint generated always as identity primary key,
  brain_id uuid not null references access.brain,
  source_id uuid not null references evidence.source,
  key bytea not null check (length(key) = 16),
  parent_key bytea,
  role text not null check (role in ('person', 'assistant', 'tool', 'document', 'memoranda')),
  kind text not null check (kind in ('prompt', 'reply', 'tool_call', 'tool_result', 'summary', 'notice', 'document')),
  said_at timestamptz,
  abandoned boolean not null default false,
  body text,
  digest bytea not null check (length(digest) = 16),
  captured_at timestamptz not null default clock_timestamp(),
  erased_at timestamptz
);
-- Compressing captured text with pglz took four fifths of the time of storing it. Where the server has lz4 it is used; elsewhere
-- text lies as it came, and chunks stay in their rows.
alter table evidence.event alter column body set storage external;
do $$
begin
  alter table evidence.event alter column body set compression lz4;
  alter table evidence.event alter column body set storage extended;
exception when feature_not_supported then null;
end $$;
create unique index event_key on evidence.event (brain_id, key);
create index event_source on evidence.event (source_id, id);

create table evidence.version (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  source_id uuid not null references evidence.source,
  ordinal int not null check (ordinal > 0),
  last_event bigint not null,
  line_count int not null,
  digest bytea not null,
  replaces boolean not null default false,
  recorded_at timestamptz not null,
  unique (source_id, ordinal)
);

create table evidence.chunk (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  source_id uuid not null references evidence.source,
  version_id uuid not null references evidence.version deferrable initially deferred,
  ordinal int not null,
  first_line int not null check (first_line > 0),
  last_line int not null,
  text text,
  -- who wrote each line, and when: runs of lines by their first line
  run_lines int[] not null,
  run_roles text[] not null,
  run_said timestamptz[] not null,
  continues boolean not null default false,
  abandoned boolean not null default false,
  digest bytea not null,
  erased_at timestamptz,
  check (last_line >= first_line),
  check (cardinality(run_lines) > 0 and cardinality(run_lines) = cardinality(run_roles)
         and cardinality(run_lines) = cardinality(run_said))
);
alter table evidence.chunk alter column text set storage external;
alter table evidence.chunk set (toast_tuple_target = 8160);
create unique index chunk_order on evidence.chunk (source_id, ordinal, version_id);
create index chunk_version on evidence.chunk (version_id, ordinal);

-- A token's word for its author is 'assistant', whatever it says: only a worker copies the roles of a captured session.
create function evidence.check_author() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
begin
  if access.channel() is null then
    raise exception 'nobody is acting in this transaction' using errcode = '42501';
  end if;
  if access.channel() <> 'service' and exists (select from added a, unnest(a.run_roles) r(role)
       where r.role <> case access.channel() when 'browser' then 'person' else 'assistant' end) then
    raise exception 'the author of a contribution is whoever is signed in' using errcode = '42501';
  end if;
  return null;
end $$;
create trigger chunk_author after insert on evidence.chunk referencing new table as added for each statement
  execute function evidence.check_author();

-- What was erased is not written again, by whoever was on the way; and a sealed version takes no more chunks. The lock on the
-- source waits for an erasure that is under way, and makes one wait for this.
create function evidence.refuse_erased() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  captured record;
begin
  for captured in select s.erased_at from evidence.source s where s.id in (select a.source_id from added a) for share loop
    if captured.erased_at is not null then
      raise exception 'this source was erased' using errcode = 'MEM02';
    end if;
  end loop;
  return null;
end $$;
create trigger refuse_erased after insert on evidence.event referencing new table as added for each statement
  execute function evidence.refuse_erased();
create trigger refuse_erased after insert on evidence.chunk referencing new table as added for each statement
  execute function evidence.refuse_erased();
create trigger refuse_erased after insert on evidence.version referencing new table as added for each statement
  execute function evidence.refuse_erased();

create function evidence.refuse_sealed() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
begin
  if exists (select from evidence.version v where v.id in (select a.version_id from added a)) then
    raise exception 'a sealed version takes no more chunks' using errcode = 'MEM01';
  end if;
  return null;
end $$;
create trigger refuse_sealed after insert on evidence.chunk referencing new table as added for each statement
  execute function evidence.refuse_sealed();

-- The text index of the chunks. It can be dropped and rebuilt from them.
create table evidence.chunk_lexeme (
  chunk_id uuid primary key references evidence.chunk,
  brain_id uuid not null references access.brain,
  lexemes tsvector not null
);
-- a short one (256 KB): writing a chunk costs 30 % more than with the default of 4 MB, which searches read from end to end
create index chunk_lexeme_search on evidence.chunk_lexeme using gin (lexemes) with (gin_pending_list_limit = 256);

create function evidence.brain_lexeme(brain uuid) returns text language sql immutable parallel safe
  as $$ select 'brain:' || brain::text $$;

-- A lexeme as it is written in a text query.
create function evidence.quoted(lexeme text) returns text language sql immutable parallel safe
  as $$ select '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''' $$;

create function evidence.index_chunks(version uuid) returns bigint language sql volatile security definer set search_path = pg_catalog as $$
  with added as (
    insert into evidence.chunk_lexeme (chunk_id, brain_id, lexemes)
    select c.id, c.brain_id, array_to_tsvector(array[evidence.brain_lexeme(c.brain_id)]) || evidence.split_lexemes(c.text)
      from evidence.chunk c where c.version_id = version and c.erased_at is null and c.run_roles <> array_fill('memoranda'::text, array[cardinality(c.run_roles)])
    on conflict do nothing returning 1)
  select count(*) from added $$;

-- Which role wrote a line of a chunk, and when.
create function evidence.run_of(lines int[], line int) returns int language sql immutable parallel safe
  as $$ select max(place)::int from unnest(lines) with ordinality as r(first, place) where r.first <= line $$;
