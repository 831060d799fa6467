-- Rights: the brain wall on every table that has a brain, and the least that each role needs.
set local role memoranda_owner;

do $$
declare
  walled record;
begin
  for walled in
    select n.nspname as place, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'brain_id' and not a.attisdropped
     where c.relkind in ('r', 'p') and n.nspname in ('access', 'evidence', 'ledger', 'pipeline', 'audit', 'graph')
  loop
    execute format('alter table %I.%I enable row level security', walled.place, walled.name);
    execute format('alter table %I.%I force row level security', walled.place, walled.name);
    if walled.place <> 'access' then
      execute format('create policy brain_wall on %I.%I using (brain_id = access.current_brain()) '
                     'with check (brain_id = access.current_brain())', walled.place, walled.name);
    end if;
  end loop;
end $$;

-- who holds a credential is asked before a brain is known, by the owner's functions alone
create policy owner_asks on access.brain_grant to memoranda_owner using (true) with check (true);
create policy owner_asks on access.brain_secret to memoranda_owner using (true) with check (true);
create policy owner_asks on access.token to memoranda_owner using (true) with check (true);
create policy brain_wall on access.brain_grant to memoranda_lens, memoranda_command using (brain_id = access.current_brain());
alter table access.brain enable row level security;
alter table access.brain force row level security;
create policy owner_asks on access.brain to memoranda_owner using (true) with check (true);
create policy brain_wall on access.brain to memoranda_lens, memoranda_command, memoranda_ingest, memoranda_learner
  using (id = access.current_brain());

-- A text match is not leakproof, so behind a wall it could not use its index. The search functions put the brain into the match
-- itself and join the walled tables.
create policy search on ledger.revision_lexeme for select to memoranda_lens using (true);
create policy search on evidence.chunk_lexeme for select to memoranda_lens using (true);

-- workers and their sweeper see the jobs of every brain
create policy lanes on pipeline.job to memoranda_ingest, memoranda_learner, memoranda_indexer, memoranda_graph
  using (true) with check (true);
create policy owner_announces on pipeline.job to memoranda_owner using (true) with check (true);

grant usage on schema access to memoranda_gateway, memoranda_command, memoranda_ingest, memoranda_learner, memoranda_indexer, memoranda_graph;
grant usage on schema evidence, ledger, pipeline to memoranda_command, memoranda_ingest, memoranda_learner;
grant usage on schema pipeline to memoranda_indexer, memoranda_graph;
grant usage on schema evidence, ledger to memoranda_indexer;

grant execute on function access.current_brain(), access.current_principal(), access.put(text, text), access.new_id(), access.said(),
  access.role_rank(text), access.write_lock(uuid), access.channel(), access.is_sealed()
  to memoranda_command, memoranda_ingest, memoranda_learner, memoranda_indexer, memoranda_graph, memoranda_gateway;
grant execute on function access.stamp(uuid), access.brain_hmac(text), access.brain_word(text)
  to memoranda_command, memoranda_ingest, memoranda_learner;
grant execute on all functions in schema evidence to memoranda_command, memoranda_ingest, memoranda_learner;
revoke execute on function evidence.blank_sources(uuid[]) from memoranda_command, memoranda_ingest, memoranda_learner;
grant execute on function access.act(bytea, bytea, text), access.holder(bytea, bytea) to memoranda_command;
grant execute on function access.serve(uuid) to memoranda_ingest, memoranda_learner, memoranda_indexer, memoranda_graph;
grant execute on function ledger.period(timestamptz, timestamptz), ledger.author_rank(text), ledger.family_of(text, text),
  ledger.rule_key_of(text, text, text, text), ledger.is_live(text, text, text, text, timestamptz),
  ledger.contradict(ledger.revision, ledger.revision), ledger.family_heads(uuid, bytea), ledger.binding_rules(ledger.revision)
  to memoranda_command, memoranda_learner;
grant execute on function ledger.resolve_conflict(uuid, text, text), ledger.erase_claim(uuid, text), ledger.erase_source(uuid, text)
  to memoranda_command;
-- index
grant execute on function evidence.index_chunks(uuid), ledger.sample_words(uuid, text) to memoranda_indexer;
revoke execute on function evidence.index_chunks(uuid) from memoranda_ingest, memoranda_learner;

-- capture, contribute, review
grant select on access.brain to memoranda_command, memoranda_ingest, memoranda_learner;
grant select, insert on evidence.source, evidence.event, evidence.version, evidence.chunk to memoranda_command;
grant select, insert on ledger.claim, ledger.revision, ledger.support, ledger.derivation, ledger.rule, ledger.exemption, ledger.pin,
  ledger.flag, ledger.receipt to memoranda_command;
grant select on ledger.conflict to memoranda_command;
grant select, insert on pipeline.job to memoranda_command;
grant update (state, attempts, not_before, published_at, announcements, finished_at, error) on pipeline.job to memoranda_command;

-- seal
grant select on evidence.source, evidence.event to memoranda_ingest;
grant select, insert on evidence.version, evidence.chunk to memoranda_ingest;

-- learn
grant select on evidence.source, evidence.version, evidence.chunk to memoranda_learner;
grant select, insert on ledger.claim, ledger.revision, ledger.support, ledger.derivation to memoranda_learner;
grant select on ledger.conflict, ledger.rule, ledger.exemption to memoranda_learner;

-- any worker takes, renews, ends and sweeps jobs
grant select, insert, update on pipeline.job to memoranda_ingest, memoranda_learner, memoranda_indexer, memoranda_graph;
grant select, insert, update, delete on pipeline.worker to memoranda_ingest, memoranda_learner, memoranda_indexer, memoranda_graph;
grant execute on function pipeline.announce(uuid[], text[], int), pipeline.withdraw(uuid[])
  to memoranda_command, memoranda_ingest, memoranda_learner, memoranda_indexer, memoranda_graph;
grant usage on sequence pipeline.fencing to memoranda_ingest, memoranda_learner, memoranda_indexer, memoranda_graph;

-- the gateway: the lens and nothing else (these functions are the words of the lens' predicate; none of them reads a table)
grant execute on function access.in_scope(text[], text[], text[], jsonb), ledger.period(timestamptz, timestamptz),
  ledger.author_rank(text), evidence.scopes_meet(text[], text[], text[], text[], text[], text[]) to memoranda_gateway;
grant execute on function access.open_lens(bytea, text, text, timestamptz, timestamptz, text[], text[], text[]),
  access.holder(bytea, bytea) to memoranda_gateway;

create function access.brains_of(credential bytea) returns table (slug text, name text, policy text, role text, created_at timestamptz)
  language sql stable security definer set search_path = pg_catalog as $$
  select b.slug, b.name, b.policy, s.role, b.created_at from access.brain b
    cross join lateral access.standing(credential, null, b.slug) s order by b.slug $$;
grant execute on function access.brains_of(bytea) to memoranda_gateway, memoranda_command;

create function access.add_brain(slug text, name text, policy text, owner uuid) returns uuid language plpgsql volatile security definer
  set search_path = pg_catalog as $$
declare
  made uuid;
begin
  insert into access.brain (slug, name, policy) values (slug, name, policy) returning id into made;
  perform access.make_brain_secret(made);
  insert into access.brain_grant (brain_id, principal_id, role) values (made, owner, 'admin');
  perform access.put('brain', made::text), access.put('principal', owner::text);
  perform audit.note(made, 'create', 'brain', made, null, null, null);
  return made;
end $$;

-- A signed-in person, or an admin's token that is not bound to one brain, makes a brain and becomes its admin.
create function access.create_brain(credential bytea, csrf bytea, slug text, name text, policy text) returns uuid language plpgsql volatile
  security definer set search_path = pg_catalog as $$
declare
  who record;
begin
  select * into who from access.holder(credential, csrf) h
   where h.channel = 'browser' or (h.channel = 'token' and h.token_brain is null and h.token_role = 'admin');
  if who.principal_id is null then
    raise exception 'this credential cannot make a brain' using errcode = '42501';
  end if;
  if policy = 'autonomous' and who.channel <> 'browser' then
    raise exception 'only a person switches the autonomous policy on' using errcode = '42501';
  end if;
  return access.add_brain(slug, name, policy, who.principal_id);
end $$;

create function access.issue_token(token_digest bytea, brain uuid, holder uuid, token_role text, history boolean, token_label text,
                                   expires timestamptz) returns uuid language sql volatile security definer set search_path = pg_catalog as $$
  insert into access.token (digest, brain_id, principal_id, role, reads_history, label, expires_at)
  values (token_digest, brain, holder, token_role, history, token_label, expires) returning id $$;

-- An admin of a brain, in the browser, gives an agent its token. The agent becomes a principal with that role in the brain.
create function access.give_token(token_digest bytea, agent text, token_role text, history boolean, token_label text, expires timestamptz)
  returns uuid language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  holder uuid;
  made uuid;
begin
  if access.channel() is distinct from 'browser' or current_setting('memoranda.role', true) <> 'admin' then
    raise exception 'only an admin in a browser session gives a token' using errcode = '42501';
  end if;
  insert into access.principal (kind, name) values ('agent', agent) on conflict (kind, name) do update set name = excluded.name
  returning id into holder;
  insert into access.brain_grant (brain_id, principal_id, role) values (access.current_brain(), holder, token_role)
  on conflict (brain_id, principal_id) do update set role = excluded.role
    where access.role_rank(excluded.role) > access.role_rank(access.brain_grant.role);
  made := access.issue_token(token_digest, access.current_brain(), holder, token_role, history, token_label, expires);
  perform audit.note(access.current_brain(), 'give', 'token', made, token_label, null, token_digest);
  return made;
end $$;

create function access.revoke_token(token uuid) returns boolean language plpgsql volatile security definer
  set search_path = pg_catalog as $$
begin
  if access.channel() is distinct from 'browser' or current_setting('memoranda.role', true) <> 'admin' then
    raise exception 'only an admin in a browser session revokes a token' using errcode = '42501';
  end if;
  update access.token t set revoked_at = clock_timestamp()
   where t.id = revoke_token.token and t.brain_id = access.current_brain() and t.revoked_at is null;
  if not found then
    return false;
  end if;
  perform audit.note(access.current_brain(), 'revoke', 'token', revoke_token.token, null, null, null);
  return true;
end $$;

create function access.tokens() returns table (id uuid, agent text, role text, reads_history boolean, label text, created_at timestamptz,
                                               expires_at timestamptz, last_used_at timestamptz, revoked_at timestamptz)
  language sql stable security definer set search_path = pg_catalog as $$
  select t.id, p.name, t.role, t.reads_history, t.label, t.created_at, t.expires_at, t.last_used_at, t.revoked_at
    from access.token t join access.principal p on p.id = t.principal_id
   where t.brain_id = access.current_brain() and access.is_sealed()
     and current_setting('memoranda.role', true) = 'admin' order by t.created_at $$;

-- A one-time sign-in link becomes a browser session, once.
create function access.redeem_sign_in(link bytea, session bytea, csrf bytea, lifetime interval) returns text language plpgsql volatile
  security definer set search_path = pg_catalog as $$
declare
  who uuid;
begin
  update access.sign_in set used_at = clock_timestamp()
   where digest = link and used_at is null and expires_at > clock_timestamp() returning principal_id into who;
  if who is null then
    return null;
  end if;
  insert into access.browser_session (digest, csrf_digest, principal_id, expires_at)
  values (session, csrf, who, clock_timestamp() + lifetime);
  return (select name from access.principal where id = who);
end $$;

create function access.end_session(session bytea) returns boolean language sql volatile security definer set search_path = pg_catalog as $$
  update access.browser_session set revoked_at = clock_timestamp() where digest = session and revoked_at is null returning true $$;

create function access.who(credential bytea, csrf bytea) returns table (name text, kind text, channel text) language sql stable
  security definer set search_path = pg_catalog as $$
  select p.name, h.kind, h.channel from access.holder(credential, csrf) h join access.principal p on p.id = h.principal_id $$;

grant execute on function access.create_brain(bytea, bytea, text, text, text), access.give_token(bytea, text, text, boolean, text, timestamptz),
  access.revoke_token(uuid), access.tokens(), access.redeem_sign_in(bytea, bytea, bytea, interval), access.end_session(bytea),
  access.who(bytea, bytea) to memoranda_command;
grant execute on function access.who(bytea, bytea), access.tokens() to memoranda_gateway;

set local role memoranda_lens;
grant usage on schema lens to memoranda_gateway;
grant select on lens.revision, lens.chunk, lens.support, lens.derivation, lens.source, lens.conflict, lens.rule, lens.flag, lens.job,
  lens.worker, lens.audit, lens.brain to memoranda_gateway;
grant execute on function lens.search_revisions(text, int), lens.search_chunks(text, int), lens.find_exact(text, int), lens.mode(),
  lens.fact_time(), lens.known_at(), lens.scope(), lens.is_open(), lens.withheld(text, text, text), lens.inputs(uuid),
  lens.lines_of(text, int, int, int), lens.excerpt(uuid, int, int, text) to memoranda_gateway;
