-- The ledger: claims as append-only chains of revisions, their supports, rules, exemptions, conflicts, receipts; and the audit.
set local role memoranda_owner;

create table audit.entry (
  id bigint generated always as identity primary key,
  brain_id uuid not null references access.brain,
  recorded_at timestamptz not null default clock_timestamp(),
  principal_id uuid references access.principal,
  channel text,
  action text not null,
  subject_type text not null,
  subject_id uuid not null,
  reason text,
  before_digest bytea,
  after_digest bytea,
  traceparent text
);
create index audit_subject on audit.entry (brain_id, subject_id);
create index audit_time on audit.entry (brain_id, id);

create function audit.note(brain uuid, action text, subject_type text, subject uuid, reason text, before_digest bytea, after_digest bytea)
  returns void language sql volatile security definer set search_path = pg_catalog as $$
  insert into audit.entry (brain_id, principal_id, channel, action, subject_type, subject_id, reason, before_digest, after_digest,
                           traceparent)
  values (brain, access.current_principal(), access.channel(), action, subject_type, subject, reason, before_digest, after_digest,
          nullif(current_setting('memoranda.traceparent', true), '')) $$;

create table ledger.claim (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain
);

create table ledger.revision (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  claim_id uuid not null references ledger.claim,
  ordinal int not null,
  recorded_at timestamptz not null,
  kind text not null check (kind in ('fact', 'decision', 'procedure', 'preference', 'handover', 'recap', 'note')),
  subject text check (length(subject) between 1 and 500),
  predicate text check (length(predicate) between 1 and 500),
  value text check (length(value) between 1 and 8000),
  polarity text not null default 'affirms' check (polarity in ('affirms', 'denies')),
  statement text check (length(statement) between 1 and 10000),
  cardinality text not null default 'one' check (cardinality in ('one', 'many')),
  repositories text[] not null default '{}',
  areas text[] not null default '{}',
  environments text[] not null default '{}',
  valid_from timestamptz,
  valid_to timestamptz,
  said_at timestamptz not null,
  author_role text not null check (author_role in ('person', 'document', 'tool', 'assistant')),
  review text not null default 'proposed' check (review in ('proposed', 'accepted', 'rejected')),
  lifecycle text not null default 'active' check (lifecycle in ('active', 'withdrawn', 'expired')),
  freshness text not null default 'current' check (freshness in ('current', 'needs_verification', 'superseded', 'unsupported')),
  operational text not null default 'declared' check (operational in ('declared', 'implemented', 'deployed', 'verified')),
  observed_at timestamptz,
  outcome text check (length(outcome) <= 2000),
  admission text not null default 'proposed' check (admission in ('proposed', 'blocked_by_rule', 'uncertain_evidence', 'needs_review',
                                                    'accepted_by_policy', 'retired_by_policy', 'reviewed')),
  origin text not null check (origin in ('person', 'agent', 'model_extracted', 'model_reconciled', 'model_synthesized', 'literal')),
  superseded_by uuid references ledger.claim,
  reviewer_id uuid references access.principal,
  acceptance_policy text check (acceptance_policy in ('literal', 'person_stated', 'autonomous')),
  model_request_id uuid,
  principal_id uuid references access.principal,
  reason text check (length(reason) <= 2000),
  subject_key text,
  predicate_key text,
  value_key text,
  family bytea not null,
  rule_key bytea not null,
  digest bytea not null,
  erased_at timestamptz,
  unique (claim_id, ordinal),
  check (valid_from is null or valid_to is null or valid_from <= valid_to),
  check (operational not in ('deployed', 'verified') or observed_at is not null),
  check (review <> 'accepted' or ((reviewer_id is null) <> (acceptance_policy is null))),
  check (acceptance_policy is null or review = 'accepted'),
  check (erased_at is not null or (subject is not null and predicate is not null and value is not null and statement is not null))
);
create unique index revision_claim_time on ledger.revision (claim_id, recorded_at);
create index revision_family on ledger.revision (brain_id, family);
create index revision_rule on ledger.revision (brain_id, rule_key);
create index revision_subject on ledger.revision (brain_id, subject_key);
create index revision_recent on ledger.revision (brain_id, recorded_at);

-- The text index of the revisions. It can be dropped and rebuilt from them.
create table ledger.revision_lexeme (
  revision_id uuid primary key references ledger.revision,
  brain_id uuid not null references access.brain,
  lexemes tsvector not null
);
-- no list of what is not merged yet: every search reads it from end to end (6,000 new revisions made recall 2.9 times slower)
create index revision_lexeme_search on ledger.revision_lexeme using gin (lexemes) with (fastupdate = off);

create function ledger.index_revision(r ledger.revision) returns void language sql volatile as $$
  insert into ledger.revision_lexeme (revision_id, brain_id, lexemes)
  values (r.id, r.brain_id, array_to_tsvector(array[evidence.brain_lexeme(r.brain_id)])
          || evidence.lexemes(concat_ws(' ', r.subject, r.predicate, r.value, r.statement)))
  on conflict do nothing $$;

create table ledger.support (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  revision_id uuid not null references ledger.revision deferrable initially deferred,
  ordinal int not null check (ordinal between 1 and 20),
  chunk_id uuid not null references evidence.chunk,
  first_line int not null,
  last_line int not null,
  role text not null check (role in ('person', 'document', 'tool', 'assistant')),
  said_at timestamptz,
  unique (revision_id, ordinal),
  check (last_line between first_line and first_line + 200)
);
create index support_chunk on ledger.support (chunk_id);

create table ledger.derivation (
  brain_id uuid not null references access.brain,
  revision_id uuid not null references ledger.revision deferrable initially deferred,
  ordinal int not null,
  input_revision_id uuid references ledger.revision,
  input_chunk_id uuid references evidence.chunk,
  primary key (revision_id, ordinal),
  check ((input_revision_id is null) <> (input_chunk_id is null))
);
create index derivation_revision on ledger.derivation (input_revision_id);
create index derivation_chunk on ledger.derivation (input_chunk_id);

-- A value that a person turned down. Only digests: erasing the claim's text does not lift the ban.
create table ledger.rule (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  revision_id uuid not null references ledger.revision,
  cause text not null check (cause in ('rejected', 'corrected', 'withdrawn')),
  rule_key bytea not null,
  names bigint[] not null,
  value_gram bigint not null,
  value_words bigint[] not null,
  value_length int not null,
  repositories text[] not null,
  areas text[] not null,
  environments text[] not null,
  valid_from timestamptz,
  valid_to timestamptz,
  made_by uuid not null references access.principal,
  reason text check (length(reason) <= 2000),
  recorded_at timestamptz not null
);
create index rule_lookup on ledger.rule (brain_id, rule_key);
create index rule_revision on ledger.rule (revision_id);
create index rule_anchor on ledger.rule (brain_id, (names[1]));

-- One revision that a rule does not bind, because a person revalidated it.
create table ledger.exemption (
  rule_id uuid not null references ledger.rule,
  revision_id uuid not null references ledger.revision deferrable initially deferred,
  brain_id uuid not null references access.brain,
  made_by uuid not null references access.principal,
  reason text not null check (length(reason) between 1 and 2000),
  recorded_at timestamptz not null,
  primary key (rule_id, revision_id)
);
create index exemption_revision on ledger.exemption (revision_id);

-- A chunk that repeats a rule's value. Both never change, so neither does this.
create table ledger.rule_hit (
  chunk_id uuid not null references evidence.chunk,
  rule_id uuid not null references ledger.rule,
  brain_id uuid not null references access.brain,
  -- an edge that comes later may make an old chunk repeat a value: what was answered before stays
  recorded_at timestamptz not null,
  primary key (chunk_id, rule_id)
);
create index rule_hit_rule on ledger.rule_hit (rule_id);

create table ledger.conflict (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  family bytea not null,
  left_claim uuid not null references ledger.claim,
  right_claim uuid not null references ledger.claim,
  left_revision uuid not null references ledger.revision,
  right_revision uuid not null references ledger.revision,
  opened_at timestamptz not null,
  closed_at timestamptz,
  resolution text check (resolution in ('ended', 'keep_one', 'keep_both', 'retract', 'replace')),
  resolved_by uuid references access.principal,
  reason text check (length(reason) <= 2000),
  check (left_claim < right_claim),
  check ((closed_at is null) = (resolution is null))
);
create unique index conflict_open on ledger.conflict (left_claim, right_claim) where closed_at is null;
create index conflict_left on ledger.conflict (left_claim);
create index conflict_right on ledger.conflict (right_claim);
create index conflict_brain on ledger.conflict (brain_id, opened_at);

create table ledger.pin (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  claim_id uuid not null references ledger.claim,
  pinned boolean not null,
  made_by uuid not null references access.principal,
  recorded_at timestamptz not null
);
create index pin_claim on ledger.pin (claim_id, recorded_at);

-- An agent's wish that a person look at a value.
create table ledger.flag (
  id uuid primary key default access.new_id(),
  brain_id uuid not null references access.brain,
  claim_id uuid not null references ledger.claim,
  made_by uuid not null references access.principal,
  reason text not null check (length(reason) between 1 and 2000),
  recorded_at timestamptz not null default clock_timestamp()
);
create index flag_claim on ledger.flag (claim_id);

create table ledger.receipt (
  brain_id uuid not null references access.brain,
  principal_id uuid not null references access.principal,
  key text not null check (length(key) between 1 and 200),
  command text not null,
  payload_digest bytea not null,
  result jsonb,
  subject_id uuid,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (brain_id, principal_id, key)
);
create index receipt_subject on ledger.receipt (subject_id);

create function ledger.period(valid_from timestamptz, valid_to timestamptz) returns tstzrange language sql immutable parallel safe
  as $$ select tstzrange(valid_from, valid_to, '[)') $$;

-- Ranks of who spoke, for succession.
create function ledger.author_rank(role text) returns int language sql immutable parallel safe
  as $$ select array_position(array['assistant', 'tool', 'document', 'person'], role) $$;

create function ledger.family_of(subject_key text, predicate_key text) returns bytea language sql stable
  as $$ select access.brain_hmac(subject_key || chr(31) || predicate_key) $$;

create function ledger.rule_key_of(subject_key text, predicate_key text, value_key text, polarity text) returns bytea language sql stable
  as $$ select access.brain_hmac(subject_key || chr(31) || predicate_key || chr(31) || value_key
                                 || case polarity when 'denies' then chr(31) || 'denies' else '' end) $$;

-- A revision that can contradict: not rejected, withdrawn, superseded, blocked or erased.
create function ledger.is_live(review text, lifecycle text, freshness text, admission text, erased_at timestamptz) returns boolean
  language sql immutable parallel safe as $$
  select review <> 'rejected' and lifecycle = 'active' and freshness not in ('superseded', 'unsupported')
     and admission not in ('blocked_by_rule', 'needs_review') and erased_at is null $$;

create function ledger.contradict(a ledger.revision, b ledger.revision) returns boolean language sql immutable parallel safe as $$
  select a.family = b.family and a.claim_id <> b.claim_id
     and evidence.scopes_meet(a.repositories, a.areas, a.environments, b.repositories, b.areas, b.environments)
     and ledger.period(a.valid_from, a.valid_to) && ledger.period(b.valid_from, b.valid_to)
     and case when a.polarity = b.polarity
              then a.polarity = 'affirms' and a.value_key <> b.value_key and a.cardinality = 'one' and b.cardinality = 'one'
              else a.value_key = b.value_key end
     and a.superseded_by is distinct from b.claim_id and b.superseded_by is distinct from a.claim_id $$;

-- The latest revision of each claim of a family, as written so far in this transaction and committed before it.
create function ledger.family_heads(brain uuid, wanted bytea) returns setof ledger.revision language sql stable as $$
  select r.* from ledger.revision r
   where r.brain_id = brain and r.family = wanted
     and not exists (select from ledger.revision n where n.claim_id = r.claim_id and n.ordinal > r.ordinal) $$;

-- The rules that bind a revision.
create function ledger.binding_rules(r ledger.revision) returns setof ledger.rule language sql stable as $$
  select u.* from ledger.rule u
   where u.brain_id = r.brain_id and u.rule_key = r.rule_key
     and evidence.scopes_meet(u.repositories, u.areas, u.environments, r.repositories, r.areas, r.environments)
     and ledger.period(u.valid_from, u.valid_to) && ledger.period(r.valid_from, r.valid_to)
     and not exists (select from ledger.exemption e where e.rule_id = u.id and e.revision_id = r.id) $$;

create function ledger.fill_support() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  piece evidence.chunk;
  run int;
begin
  if exists (select from ledger.revision where id = new.revision_id) then
    raise exception 'a revision never changes: supports are written before it' using errcode = 'MEM01';
  end if;
  select * into piece from evidence.chunk c where c.id = new.chunk_id and c.brain_id = new.brain_id;
  if piece.id is null or piece.erased_at is not null then
    raise exception 'the cited evidence is not retained' using errcode = 'MEM02';
  end if;
  if new.first_line < piece.first_line or new.last_line > piece.last_line then
    raise exception 'the cited lines % to % are not in the chunk', new.first_line, new.last_line using errcode = 'MEM02';
  end if;
  -- the least trusted line decides; text that Memoranda delivered is no evidence
  select r.role, r.said into new.role, new.said_at
    from unnest(piece.run_lines, piece.run_roles, piece.run_said) with ordinality as r(line, role, said, place)
   where r.place between evidence.run_of(piece.run_lines, new.first_line) and evidence.run_of(piece.run_lines, new.last_line)
   order by coalesce(ledger.author_rank(r.role), 0), r.said desc nulls last limit 1;
  if new.role = 'memoranda' then
    raise exception 'recalled text is no evidence' using errcode = 'MEM02';
  end if;
  return new;
end $$;
create trigger support_fill before insert on ledger.support for each row execute function ledger.fill_support();

create function ledger.fill_derivation() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
begin
  if exists (select from ledger.revision where id = new.revision_id) then
    raise exception 'a revision never changes: what it was made from is written before it' using errcode = 'MEM01';
  end if;
  return new;
end $$;
create trigger derivation_fill before insert on ledger.derivation for each row execute function ledger.fill_derivation();

create function ledger.admit_revision() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  before ledger.revision;
  cited record;
  acting text := access.channel();
  actor uuid := access.current_principal();
  own uuid;
begin
  if acting is null then
    raise exception 'nobody is acting in this transaction' using errcode = '42501';
  end if;
  new.recorded_at := access.stamp(new.brain_id);
  select * into before from ledger.revision r where r.claim_id = new.claim_id order by r.ordinal desc limit 1;
  new.ordinal := coalesce(before.ordinal, 0) + 1;
  if before.recorded_at >= new.recorded_at then
    new.recorded_at := before.recorded_at + interval '1 microsecond';
  end if;
  new.principal_id := actor;
  new.erased_at := null;

  if new.subject is null or new.predicate is null or new.value is null or new.statement is null then
    raise exception 'a claim needs a subject, a predicate, a value and a statement' using errcode = 'MEM03';
  end if;
  new.subject_key := evidence.name_key(new.subject);
  new.predicate_key := evidence.name_key(new.predicate);
  new.value_key := evidence.value_key(new.value);
  if new.subject_key = '' or new.predicate_key = '' then
    raise exception 'the subject and the predicate need a letter or a digit' using errcode = 'MEM03';
  end if;
  new.family := ledger.family_of(new.subject_key, new.predicate_key);
  new.rule_key := ledger.rule_key_of(new.subject_key, new.predicate_key, new.value_key, new.polarity);
  new.digest := sha256(convert_to(jsonb_build_array(new.kind, new.subject, new.predicate, new.value, new.polarity, new.statement,
    new.cardinality, new.repositories, new.areas, new.environments, new.valid_from, new.valid_to, new.review, new.lifecycle,
    new.freshness, new.operational, new.admission)::text, 'UTF8'));
  if before.id is not null and before.family <> new.family then
    raise exception 'a claim keeps its subject and its predicate' using errcode = 'MEM03';
  end if;
  if before.erased_at is not null then
    raise exception 'an erased claim cannot be written again' using errcode = 'MEM02';
  end if;

  -- what the evidence says of its author is data: the writer's word for it does not count
  select count(*) as number, max(s.said_at) as said,
         (array_agg(s.role order by ledger.author_rank(s.role) desc))[1] as highest,
         bool_and(s.role = 'person') as all_person, bool_and(s.role in ('person', 'document')) as all_stated
    into cited from ledger.support s where s.revision_id = new.id;
  if cited.number = 0 and not exists (select from ledger.derivation d where d.revision_id = new.id) then
    raise exception 'a claim needs evidence: cite 1 to 20 spans' using errcode = 'MEM02';
  end if;
  new.author_role := coalesce(cited.highest, 'assistant');
  new.said_at := coalesce(cited.said, new.said_at, new.recorded_at);

  -- who may do what
  if new.reviewer_id is not null and (acting <> 'browser' or new.reviewer_id <> actor
      or access.role_rank(current_setting('memoranda.role', true)) < 3
      or not exists (select from access.principal p where p.id = actor and p.kind = 'person')) then
    raise exception 'only a person in a browser session can review' using errcode = '42501';
  end if;
  if new.admission = 'reviewed' and new.reviewer_id is null or new.review = 'rejected' and new.reviewer_id is null then
    raise exception 'a review needs a reviewer' using errcode = '42501';
  end if;
  if acting in ('token', 'page') and (new.review <> 'proposed' or access.role_rank(current_setting('memoranda.role', true)) < 2) then
    raise exception 'a token can propose, and nothing more' using errcode = '42501';
  end if;
  if acting in ('token', 'page') and before.id is not null
     and (before.review <> 'proposed' or before.principal_id is distinct from actor) then
    raise exception 'an agent revises only its own unreviewed proposals' using errcode = '42501';
  end if;
  if acting = 'service' and before.reviewer_id is not null then
    raise exception 'what a person reviewed is changed by a person only' using errcode = '42501';
  end if;
  if new.acceptance_policy is not null then
    if new.acceptance_policy <> (select b.policy from access.brain b where b.id = new.brain_id)
       and new.acceptance_policy is distinct from before.acceptance_policy then
      raise exception 'the brain does not have the policy %', new.acceptance_policy using errcode = '42501';
    end if;
    if new.acceptance_policy = 'person_stated' and cited.all_person is not true
       or new.acceptance_policy = 'literal' and cited.all_stated is not true then
      raise exception 'the policy % does not accept what this author wrote', new.acceptance_policy using errcode = '42501';
    end if;
  end if;

  -- an exemption goes on while the value, the scope and the period stay
  if before.id is not null and before.rule_key = new.rule_key
     and (before.repositories, before.areas, before.environments) = (new.repositories, new.areas, new.environments)
     and ledger.period(before.valid_from, before.valid_to) @> ledger.period(new.valid_from, new.valid_to) then
    insert into ledger.exemption (rule_id, revision_id, brain_id, made_by, reason, recorded_at)
    select e.rule_id, new.id, e.brain_id, e.made_by, e.reason, new.recorded_at
      from ledger.exemption e where e.revision_id = before.id
    on conflict do nothing;
  end if;
  if new.review <> 'rejected' and new.lifecycle = 'active' and exists (select from ledger.binding_rules(new)) then
    if new.reviewer_id is not null then
      raise exception 'a rule bans this value: revalidate it with changed evidence or applicability' using errcode = 'MEM05';
    end if;
    new.review := 'proposed';
    new.acceptance_policy := null;
    new.admission := 'blocked_by_rule';
  elsif new.admission = 'blocked_by_rule' then
    raise exception 'no rule bans this value' using errcode = 'MEM03';
  elsif new.polarity = 'affirms' and new.reviewer_id is null and new.review <> 'rejected' and new.lifecycle = 'active' and exists (
      select from ledger.hits(new.brain_id, concat_ws(' ', new.subject, new.predicate, new.value, new.statement), '-infinity') hit
        join ledger.rule u on u.id = hit
       where evidence.scopes_meet(u.repositories, u.areas, u.environments, new.repositories, new.areas, new.environments)
         and ledger.period(u.valid_from, u.valid_to) && ledger.period(new.valid_from, new.valid_to)
         and not exists (select from ledger.exemption e where e.rule_id = u.id and e.revision_id = new.id)) then
    -- it says, in other words, what a person turned down: no policy accepts it, and only a person lets it be read
    new.review := 'proposed';
    new.acceptance_policy := null;
    new.admission := 'needs_review';
  end if;

  if acting in ('token', 'page') and new.lifecycle = 'active' and new.admission not in ('blocked_by_rule', 'needs_review') then
    select h.claim_id into own from ledger.family_heads(new.brain_id, new.family) h
     where h.principal_id = actor and h.review = 'proposed' and h.origin in ('agent', 'person')
       and ledger.is_live(h.review, h.lifecycle, h.freshness, h.admission, h.erased_at) and ledger.contradict(h, new)
       and not exists (select from ledger.binding_rules(h)) limit 1;
    if own is not null then
      raise exception 'this contradicts your own live claim: revise that one instead' using errcode = 'MEM04', detail = own::text;
    end if;
  end if;
  return new;
end $$;
create trigger revision_admit before insert on ledger.revision for each row execute function ledger.admit_revision();

-- Opens and closes the conflicts of one claim so that they are exactly those that hold now.
create function ledger.reconcile_conflicts(changed ledger.revision) returns void language plpgsql security definer
  set search_path = pg_catalog as $$
declare
  opened timestamptz := changed.recorded_at;
begin
  update ledger.conflict c set closed_at = opened, resolution = 'ended'
   where c.closed_at is null and (c.left_claim = changed.claim_id or c.right_claim = changed.claim_id);
  if not ledger.is_live(changed.review, changed.lifecycle, changed.freshness, changed.admission, changed.erased_at)
     or exists (select from ledger.binding_rules(changed)) then
    return;
  end if;
  insert into ledger.conflict (brain_id, family, left_claim, right_claim, left_revision, right_revision, opened_at)
  select changed.brain_id, changed.family, least(changed.claim_id, o.claim_id), greatest(changed.claim_id, o.claim_id),
         case when changed.claim_id < o.claim_id then changed.id else o.id end,
         case when changed.claim_id < o.claim_id then o.id else changed.id end, opened
    from ledger.family_heads(changed.brain_id, changed.family) o
   where ledger.is_live(o.review, o.lifecycle, o.freshness, o.admission, o.erased_at)
     and ledger.contradict(changed, o)
     and not exists (select from ledger.binding_rules(o))
     -- a person said that both may stand: as long as neither changes its value, that holds
     and not exists (select from ledger.conflict k join ledger.revision l on l.id = k.left_revision
                       join ledger.revision r on r.id = k.right_revision
                      where k.resolution = 'keep_both' and k.left_claim = least(changed.claim_id, o.claim_id)
                        and k.right_claim = greatest(changed.claim_id, o.claim_id)
                        and least(l.rule_key, r.rule_key) = least(changed.rule_key, o.rule_key)
                        and greatest(l.rule_key, r.rule_key) = greatest(changed.rule_key, o.rule_key));
end $$;

create function ledger.after_revision() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  before_digest bytea;
begin
  perform ledger.index_revision(new);
  perform ledger.reconcile_conflicts(new);
  select r.digest into before_digest from ledger.revision r where r.claim_id = new.claim_id and r.ordinal = new.ordinal - 1;
  perform audit.note(new.brain_id, case
      when new.review = 'rejected' then 'reject'
      when new.lifecycle = 'withdrawn' then 'withdraw'
      when new.admission = 'reviewed' then 'review'
      when new.ordinal = 1 then 'propose'
      else 'revise' end, 'claim', new.claim_id, new.reason, before_digest, new.digest);
  return null;
end $$;
create trigger revision_after after insert on ledger.revision for each row execute function ledger.after_revision();

-- The two sides of the edge between a chunk and the one before it.
create function ledger.edge(earlier evidence.chunk, later evidence.chunk) returns text language sql immutable as $$
  select right(earlier.text, 400) || case when later.continues then '' else E'\n' end || left(later.text, 400) $$;

create function ledger.word_digests(original text) returns bigint[] language sql stable as $$
  select coalesce(array_agg(access.brain_word(word)), '{}') from unnest(evidence.words(original)) word $$;

-- What a text says, as digests: by meaning where a length is 0, and its runs of so many words.
create function ledger.marks(original text, lengths int[]) returns bigint[] language sql stable as $$
  select coalesce(array_agg(access.brain_word(mark)), '{}') from (
    select gram as mark from unnest(evidence.value_grams(case when 0 = any (lengths) then original else '' end)) gram
    union
    select 'words:' || run from unnest(lengths) n, unnest(evidence.sequences(original, n)) run where n between 1 and 8) m $$;

-- The rules, of those made after a time, whose names a text holds together with the value: by meaning, or word for word. A value of
-- more than eight words counts when all of them are there.
create function ledger.hits(brain uuid, original text, since timestamptz) returns setof uuid language plpgsql stable as $$
declare
  readable text := evidence.plain(original);
  digests bigint[];
  named uuid[];
  lengths int[];
  said bigint[];
begin
  if not exists (select from ledger.rule u where u.brain_id = brain and u.recorded_at > since) then
    return;
  end if;
  digests := ledger.word_digests(readable);
  select array_agg(distinct u.id), array_agg(distinct u.value_length) into named, lengths
    from unnest(digests) word join ledger.rule u on u.brain_id = brain and u.names[1] = word
   where u.names <@ digests and u.recorded_at > since;
  if named is null then
    return;
  end if;
  said := ledger.marks(readable, lengths);
  return query select u.id from ledger.rule u
   where u.id = any (named) and case when u.value_length > 8 then u.value_words <@ digests else u.value_gram = any (said) end;
end $$;

-- The hits of a version's chunks, and of the edges between them, among the rules made after a time.
create function ledger.version_hits(version uuid, source uuid, replaces boolean, brain uuid, since timestamptz)
  returns table (chunk_id uuid, rule_id uuid) language plpgsql stable as $$
declare
  piece evidence.chunk;
  earlier evidence.chunk;
begin
  select * into earlier from evidence.chunk c where c.source_id = source and c.version_id <> version and not replaces
   order by c.ordinal desc limit 1;
  for piece in select * from evidence.chunk c where c.version_id = version order by c.ordinal loop
    return query select piece.id, hit from ledger.hits(brain, piece.text, since) hit;
    if earlier.id is not null and earlier.text is not null then
      return query select side.id, hit from ledger.hits(brain, ledger.edge(earlier, piece), since) hit
        cross join (values (earlier.id), (piece.id)) side(id);
    end if;
    earlier := piece;
  end loop;
end $$;

-- Marks what repeats rejected values in a version that is being written. It compares before it takes the write lock, and under the lock
-- once more with what was made meanwhile, so that nobody waits for the comparing.
create function ledger.match_version() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  seen timestamptz;
  found_chunks uuid[];
  found_rules uuid[];
begin
  if access.channel() is distinct from 'service' and not exists (
      select from evidence.source s where s.id = new.source_id and s.kind in ('contribution', 'review')) then
    raise exception 'only a worker seals what was captured' using errcode = '42501';
  end if;
  select max(u.recorded_at) into seen from ledger.rule u where u.brain_id = new.brain_id;
  if seen is not null then
    select array_agg(h.chunk_id), array_agg(h.rule_id) into found_chunks, found_rules
      from ledger.version_hits(new.id, new.source_id, new.replaces, new.brain_id, '-infinity') h;
  end if;
  new.recorded_at := access.stamp(new.brain_id);
  insert into ledger.rule_hit (chunk_id, rule_id, brain_id, recorded_at)
  select h.chunk_id, h.rule_id, new.brain_id, new.recorded_at from unnest(found_chunks, found_rules) h(chunk_id, rule_id)
  union
  select h.chunk_id, h.rule_id, new.brain_id, new.recorded_at
    from ledger.version_hits(new.id, new.source_id, new.replaces, new.brain_id, coalesce(seen, '-infinity')) h
  on conflict do nothing;
  return new;
end $$;
create trigger version_match before insert on evidence.version for each row execute function ledger.match_version();

-- Whether a text holds a value that a rule bans in its chunk, whoever is named: a cited line is judged by what it says itself.
create function ledger.holds_banned_value(chunk uuid, cited text, as_of timestamptz) returns boolean language sql stable security definer
  set search_path = pg_catalog as $$
  select exists (
    select from ledger.rule_hit h join ledger.rule u on u.id = h.rule_id
     where h.chunk_id = chunk and h.recorded_at <= as_of
       and case when u.value_length > 8 then u.value_words <@ ledger.word_digests(evidence.plain(cited))
                else u.value_gram = any (ledger.marks(evidence.plain(cited), array[u.value_length])) end) $$;

create function ledger.fill_rule() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  banned ledger.revision;
begin
  select * into banned from ledger.revision r where r.id = new.revision_id and r.brain_id = new.brain_id;
  if access.channel() is distinct from 'browser' or access.role_rank(current_setting('memoranda.role', true)) < 3 then
    raise exception 'only a person in a browser session makes a rule' using errcode = '42501';
  end if;
  if banned.id is null or banned.erased_at is not null then
    raise exception 'a rule needs the revision that it bans' using errcode = 'MEM03';
  end if;
  new.recorded_at := access.stamp(new.brain_id);
  new.made_by := access.current_principal();
  new.rule_key := banned.rule_key;
  new.names := (select array_agg(access.brain_word(word)) from unnest(evidence.name_words(banned.subject || ' ' || banned.predicate)) word);
  if banned.polarity = 'denies' then
    -- text that holds the words affirms as often as it denies: a rejected denial bans the denial, and marks no text
    new.names := '{}';
  end if;
  new.value_words := (select coalesce(array_agg(access.brain_word(word)), '{}') from unnest(evidence.value_sequence(banned.value)) word);
  -- a value of words is compared word for word, whatever signs stand between them; any other by what it means
  if banned.value_key like 'text:%' and cardinality(new.value_words) > 0 then
    new.value_length := cardinality(new.value_words);
    new.value_gram := access.brain_word('words:' || array_to_string(evidence.value_sequence(banned.value), ' '));
  else
    new.value_length := 0;
    new.value_gram := access.brain_word(banned.value_key);
  end if;
  new.repositories := banned.repositories; new.areas := banned.areas; new.environments := banned.environments;
  new.valid_from := banned.valid_from; new.valid_to := banned.valid_to;
  return new;
end $$;
create trigger rule_fill before insert on ledger.rule for each row execute function ledger.fill_rule();

-- A new rule reaches back: conflicts of what it now bans end, and every chunk that repeats its value is marked.
-- Whether a text can hold a value at all: a look at its letters, before the digests of all that it says are computed.
create function ledger.may_hold(value_key text, original text) returns boolean language sql immutable as $$
  select case
    when value_key like 'num:%' then position(ltrim(substr(value_key, 5), '-') in translate(evidence.fold(original), ',_ ', '')) > 0
    when value_key like 'text:%' then position(coalesce((evidence.value_sequence(substr(value_key, 6)))[1], '') in evidence.fold(original)) > 0
    else true end $$;

create function ledger.after_rule() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  banned ledger.revision;
  other ledger.revision;
  all_names tsquery;
  any_name tsquery;
begin
  select * into banned from ledger.revision r where r.id = new.revision_id;
  perform audit.note(new.brain_id, 'rule', 'rule', new.id, new.reason, null, new.rule_key);
  for other in select h.* from ledger.family_heads(new.brain_id, banned.family) h where h.rule_key = new.rule_key loop
    other.recorded_at := new.recorded_at;
    perform ledger.reconcile_conflicts(other);
  end loop;
  if banned.polarity = 'denies' then
    return null;
  end if;
  select string_agg(evidence.quoted(lexeme), ' & ')::tsquery,
         (evidence.quoted(evidence.brain_lexeme(new.brain_id)) || ' & (' || string_agg(evidence.quoted(lexeme), ' | ') || ')')::tsquery
    into all_names, any_name from unnest(evidence.split_lexemes(banned.subject || ' ' || banned.predicate));
  with naming as materialized (
    select x.chunk_id as id, x.lexemes from evidence.chunk_lexeme x where any_name is not null and x.lexemes @@ any_name
    union all
    -- what is not indexed yet, and names that the index leaves out, may be anywhere
    select c.id, null from evidence.chunk c where c.brain_id = new.brain_id and c.erased_at is null
       and (any_name is null or not exists (select from evidence.chunk_lexeme x where x.chunk_id = c.id))
  ), windows as (
    select array[c.id] as chunks, c.text as original from naming n join evidence.chunk c on c.id = n.id
     where n.lexemes is null or n.lexemes @@ all_names
    union all
    select array[e.id, l.id], ledger.edge(e, l)
      from (select n.id as here, b.earlier, b.later from naming n join evidence.chunk c on c.id = n.id
             cross join lateral (
               select (select p.id from evidence.chunk p where p.source_id = c.source_id and p.ordinal < c.ordinal
                        order by p.ordinal desc limit 1) as earlier, c.id as later
               union all
               select c.id, (select p.id from evidence.chunk p where p.source_id = c.source_id and p.ordinal > c.ordinal
                        order by p.ordinal limit 1)) b where b.earlier is not null and b.later is not null
           ) pair
      join evidence.chunk e on e.id = pair.earlier and e.erased_at is null
      join evidence.chunk l on l.id = pair.later and l.erased_at is null
      left join evidence.chunk_lexeme x on x.chunk_id = e.id
      left join evidence.chunk_lexeme y on y.chunk_id = l.id
     where x.lexemes is null or y.lexemes is null or all_names is null or (x.lexemes || y.lexemes) @@ all_names
  )
  insert into ledger.rule_hit (chunk_id, rule_id, brain_id, recorded_at)
  select distinct chunk, new.id, new.brain_id, new.recorded_at from windows w, unnest(w.chunks) chunk
   where case when not ledger.may_hold(banned.value_key, evidence.plain(w.original)) then false
              when not new.names <@ ledger.word_digests(evidence.plain(w.original)) then false
              when new.value_length > 8 then new.value_words <@ ledger.word_digests(evidence.plain(w.original))
              else new.value_gram = any (ledger.marks(evidence.plain(w.original), array[new.value_length])) end
  on conflict do nothing;
  return null;
end $$;
create trigger rule_after after insert on ledger.rule for each row execute function ledger.after_rule();

create function ledger.fill_exemption() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
begin
  -- the revision's own trigger carries an exemption on; everything else needs a person
  if pg_trigger_depth() = 1 and (access.channel() is distinct from 'browser'
      or access.role_rank(current_setting('memoranda.role', true)) < 3) then
    raise exception 'only a person in a browser session makes an exemption' using errcode = '42501';
  end if;
  new.recorded_at := access.stamp(new.brain_id);
  if pg_trigger_depth() = 1 then
    new.made_by := access.current_principal();
    perform audit.note(new.brain_id, 'exempt', 'revision', new.revision_id, new.reason, null, null);
  end if;
  return new;
end $$;
create trigger exemption_fill before insert on ledger.exemption for each row execute function ledger.fill_exemption();

create function ledger.fill_person_act() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
begin
  if access.channel() is distinct from 'browser' or access.role_rank(current_setting('memoranda.role', true)) < 3 then
    raise exception 'only a person in a browser session pins' using errcode = '42501';
  end if;
  new.recorded_at := access.stamp(new.brain_id);
  new.made_by := access.current_principal();
  perform audit.note(new.brain_id, case when new.pinned then 'pin' else 'unpin' end, 'claim', new.claim_id, null, null, null);
  return new;
end $$;
create trigger pin_fill before insert on ledger.pin for each row execute function ledger.fill_person_act();

create function ledger.fill_flag() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
begin
  if access.channel() is null or access.role_rank(current_setting('memoranda.role', true)) < 2 then
    raise exception 'a flag needs the writer role' using errcode = '42501';
  end if;
  new.made_by := access.current_principal();
  new.recorded_at := clock_timestamp();
  perform audit.note(new.brain_id, 'flag', 'claim', new.claim_id, new.reason, null, null);
  return new;
end $$;
create trigger flag_fill before insert on ledger.flag for each row execute function ledger.fill_flag();

-- A person ends a conflict. The claims themselves move by revisions of their own.
create function ledger.resolve_conflict(conflict uuid, how text, why text) returns boolean language plpgsql volatile security definer
  set search_path = pg_catalog as $$
declare
  found_one ledger.conflict;
begin
  if access.channel() is distinct from 'browser' or access.role_rank(current_setting('memoranda.role', true)) < 3 then
    raise exception 'only a person in a browser session resolves a conflict' using errcode = '42501';
  end if;
  update ledger.conflict c set closed_at = access.stamp(c.brain_id), resolution = how, resolved_by = access.current_principal(), reason = why
   where c.id = conflict and c.brain_id = access.current_brain() and (c.closed_at is null or c.resolution = 'ended'
         and c.resolved_by is null and c.closed_at >= transaction_timestamp())
   returning * into found_one;
  if found_one.id is null then
    return false;
  end if;
  perform audit.note(found_one.brain_id, 'resolve', 'conflict', conflict, how || ': ' || why, null, null);
  return true;
end $$;

-- Append-only is a matter of grants; this stops the owner too, but for erasure.
create function ledger.refuse_change() returns trigger language plpgsql set search_path = pg_catalog as $$
begin
  if current_setting('memoranda.erasing', true) = access.seal() and tg_op = 'UPDATE' then
    return new;
  end if;
  raise exception '% is append-only', tg_table_schema || '.' || tg_table_name using errcode = 'MEM01';
end $$;
do $$
declare
  kept text;
begin
  foreach kept in array array['ledger.claim', 'ledger.revision', 'ledger.support', 'ledger.derivation', 'ledger.rule', 'ledger.exemption',
    'ledger.rule_hit', 'ledger.pin', 'ledger.flag', 'ledger.receipt', 'audit.entry', 'evidence.event', 'evidence.version',
    'evidence.chunk'] loop
    execute format('create trigger append_only before update or delete on %s for each row execute function ledger.refuse_change()', kept);
    execute format('create trigger append_only_all before truncate on %s for each statement execute function ledger.refuse_change()', kept);
  end loop;
end $$;

-- Blanks one revision and what was made from it, in place. The row, its times and its digests stay.
create function ledger.blank_revisions(wanted uuid[]) returns int language plpgsql security definer set search_path = pg_catalog as $$
declare
  reached uuid[];
  claims uuid[];
begin
  with recursive made(id) as (
    select unnest(wanted)
    union
    select d.revision_id from ledger.derivation d join made m on d.input_revision_id = m.id
  ) select array_agg(id) into reached from made;
  update ledger.revision r set subject = null, predicate = null, value = null, statement = null, outcome = null, reason = null,
         subject_key = null, predicate_key = null, value_key = null, model_request_id = null, erased_at = clock_timestamp()
   where r.id = any (reached) and r.erased_at is null;
  delete from ledger.revision_lexeme where revision_id = any (reached);
  select array_agg(distinct claim_id) into claims from ledger.revision where id = any (reached);
  update ledger.receipt set result = null where subject_id = any (claims) or subject_id = any (reached);
  update ledger.conflict c set closed_at = clock_timestamp(), resolution = 'ended'
   where c.closed_at is null
     and exists (select from ledger.revision r where r.id = any (reached) and r.claim_id in (c.left_claim, c.right_claim)
           and not exists (select from ledger.revision n where n.claim_id = r.claim_id and n.ordinal > r.ordinal));
  return coalesce(cardinality(reached), 0);
end $$;

create function ledger.begin_erasure() returns uuid language plpgsql security definer set search_path = pg_catalog as $$
begin
  if access.channel() is distinct from 'browser' or access.role_rank(current_setting('memoranda.role', true)) < 3 then
    raise exception 'only a person in a browser session erases' using errcode = '42501';
  end if;
  perform access.stamp(access.current_brain());
  perform access.put('erasing', access.seal());
  return access.current_brain();
end $$;

create function ledger.erase_claim(claim uuid, why text) returns int language plpgsql volatile security definer
  set search_path = pg_catalog as $$
declare
  brain uuid := ledger.begin_erasure();
  number int;
  last_digest bytea;
begin
  select digest into last_digest from ledger.revision r where r.claim_id = claim and r.brain_id = brain order by ordinal desc limit 1;
  if last_digest is null then
    return 0;
  end if;
  -- what the contribution wrote down for this claim alone goes with it
  perform evidence.blank_sources(array(
    select distinct c.source_id from ledger.support s join ledger.revision r on r.id = s.revision_id
      join evidence.chunk c on c.id = s.chunk_id join evidence.source o on o.id = c.source_id
     where r.claim_id = claim and o.kind in ('contribution', 'review')));
  number := ledger.blank_revisions(array(select id from ledger.revision where claim_id = claim and brain_id = brain));
  perform audit.note(brain, 'erase', 'claim', claim, why, last_digest, null);
  perform access.put('erasing', '');
  return number;
end $$;

-- Blanks the text of sources. Times, digests and keys stay, so that nothing of it is taken in a second time.
create function evidence.blank_sources(wanted uuid[]) returns int language plpgsql security definer set search_path = pg_catalog as $$
declare
  pieces uuid[];
begin
  -- the source first: whoever is writing into it has committed by then, and what it wrote is seen below
  update evidence.source set title = '', branch = null, erased_at = clock_timestamp() where id = any (wanted) and erased_at is null;
  select array_agg(id) into pieces from evidence.chunk where source_id = any (wanted);
  update evidence.event set body = null, erased_at = clock_timestamp() where source_id = any (wanted) and erased_at is null;
  update evidence.chunk set text = null, erased_at = clock_timestamp() where source_id = any (wanted) and erased_at is null;
  delete from evidence.chunk_lexeme where chunk_id = any (pieces);
  -- claims that no retained line supports any more, and what was made from the chunks
  return ledger.blank_revisions(array(
    select s.revision_id from ledger.support s where s.chunk_id = any (pieces)
       and not exists (select from ledger.support k join evidence.chunk c on c.id = k.chunk_id
                        where k.revision_id = s.revision_id and c.erased_at is null)
    union
    select d.revision_id from ledger.derivation d where d.input_chunk_id = any (pieces)));
end $$;

create function ledger.erase_source(source uuid, why text) returns int language plpgsql volatile security definer
  set search_path = pg_catalog as $$
declare
  brain uuid;
  number int;
begin
  -- in the order in which a seal takes them, so that neither waits for the other in a ring
  perform from evidence.source s where s.id = source for update;
  brain := ledger.begin_erasure();
  if not exists (select from evidence.source s where s.id = source and s.brain_id = brain) then
    return -1;
  end if;
  number := evidence.blank_sources(array[source]);
  perform audit.note(brain, 'erase', 'source', source, why, null, null);
  perform access.put('erasing', '');
  return number;
end $$;
