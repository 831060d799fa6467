-- A cited line is withheld for what it says itself, not for what else its chunk says: where a chunk repeats a rejected value, those
-- of its cited lines that do not hold the value are still shown.
set local role memoranda_owner;

create function ledger.holds_banned_value(chunk uuid, cited text, as_of timestamptz) returns boolean language sql stable security definer
  set search_path = pg_catalog as $$
  select exists (
    select from ledger.rule_hit h join ledger.rule u on u.id = h.rule_id
     where h.chunk_id = chunk and u.recorded_at <= as_of
       and case when u.value_length > 3 then u.value_words <@ ledger.word_digests(cited)
                else exists (select from unnest(evidence.value_grams(cited)) gram where access.brain_word(gram) = u.value_gram) end) $$;
grant usage on schema ledger to memoranda_lens;
grant execute on function ledger.holds_banned_value(uuid, text, timestamptz) to memoranda_lens;

set local role memoranda_lens;

create function lens.lines_of(original text, chunk_first int, first_line int, last_line int) returns text language sql immutable as $$
  select array_to_string((string_to_array(original, E'\n'))[first_line - chunk_first + 1 : last_line - chunk_first + 1], E'\n') $$;

-- The excerpt of cited lines as far as the lens shows them: the chunk itself may be withheld for another of its lines.
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

create or replace view lens.support with (security_barrier) as
select s.revision_id, s.ordinal, s.chunk_id, s.first_line, s.last_line, s.role, s.said_at,
  coalesce(r.withheld, case when e.excerpt is null then k.withheld end) as withheld, e.excerpt,
  k.source_id, k.source_kind, k.host, k.external_id, k.title
from ledger.support s
join lens.revision r on r.id = s.revision_id
join lens.chunk k on k.id = s.chunk_id
cross join lateral (select case
    when r.withheld is not null then null
    when k.withheld is null then lens.lines_of(k.text, k.first_line, s.first_line, s.last_line)
    else lens.excerpt(s.chunk_id, s.first_line, s.last_line, k.withheld) end as excerpt) e
where s.brain_id = access.current_brain();
grant execute on function lens.lines_of(text, int, int, int), lens.excerpt(uuid, int, int, text) to memoranda_gateway;
