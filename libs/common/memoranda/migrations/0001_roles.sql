-- Roles, schemas, and who is acting: the signed settings of a transaction.
-- Roles belong to the whole server, so another database may be making them at this moment.
do $$
declare
  wanted text;
begin
  foreach wanted in array array['memoranda_owner', 'memoranda_lens'] loop
    begin
      if not exists (select from pg_roles where rolname = wanted) then
        execute format('create role %I nologin', wanted);
      end if;
    exception when duplicate_object or unique_violation then null;
    end;
  end loop;
  foreach wanted in array array['memoranda_gateway', 'memoranda_command', 'memoranda_ingest', 'memoranda_learner',
                                'memoranda_indexer', 'memoranda_graph'] loop
    begin
      if not exists (select from pg_roles where rolname = wanted) then
        execute format('create role %I login', wanted);
        -- compiling a query costs hundreds of milliseconds, running it one or two
        execute format('alter role %I set jit = off', wanted);
      end if;
    exception when duplicate_object or unique_violation then null;
    end;
  end loop;
  -- a migration runs as an administrator and hands everything to the owner; concurrent databases grant the same memberships
  begin
    if not pg_has_role(current_user, 'memoranda_owner', 'member') then
      execute format('grant memoranda_owner to %I', current_user);
    end if;
    if not pg_has_role(current_user, 'memoranda_lens', 'member') then
      execute format('grant memoranda_lens to %I', current_user);
    end if;
  exception when unique_violation then null;
  end;
end $$;

create schema access authorization memoranda_owner;
create schema evidence authorization memoranda_owner;
create schema ledger authorization memoranda_owner;
create schema pipeline authorization memoranda_owner;
create schema graph authorization memoranda_owner;
create schema audit authorization memoranda_owner;
create schema lens authorization memoranda_lens;

-- functions are granted one by one
alter default privileges for role memoranda_owner revoke execute on functions from public;
alter default privileges for role memoranda_lens revoke execute on functions from public;

do $$
begin
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect on database %I to memoranda_gateway, memoranda_command, memoranda_ingest, memoranda_learner, '
                 'memoranda_indexer, memoranda_graph', current_database());
end $$;
revoke create on schema public from public;

set local role memoranda_owner;

do $$
begin
  if current_setting('server_version_num')::int >= 180000 then
    execute 'create function access.new_id() returns uuid language sql volatile as ''select uuidv7()''';
  else
    execute 'create function access.new_id() returns uuid language sql volatile as ''select gen_random_uuid()''';
  end if;
end $$;

create table access.principal (
  id uuid primary key default access.new_id(),
  kind text not null check (kind in ('person', 'agent', 'service')),
  name text not null check (length(name) between 1 and 200),
  created_at timestamptz not null default clock_timestamp(),
  disabled_at timestamptz,
  unique (kind, name)
);

create table access.brain (
  id uuid primary key default access.new_id(),
  slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name text not null check (length(name) between 1 and 200),
  policy text not null default 'review' check (policy in ('review', 'literal', 'person_stated', 'autonomous')),
  created_at timestamptz not null default clock_timestamp()
);

-- The pads of HMAC-SHA256 under the brain's key (RFC 2104), kept apart so that no serving role can read them.
create table access.brain_secret (
  brain_id uuid primary key references access.brain,
  inner_pad bytea not null check (length(inner_pad) = 64),
  outer_pad bytea not null check (length(outer_pad) = 64)
);

create table access.brain_grant (
  brain_id uuid not null references access.brain,
  principal_id uuid not null references access.principal,
  role text not null check (role in ('reader', 'writer', 'reviewer', 'admin')),
  granted_at timestamptz not null default clock_timestamp(),
  primary key (brain_id, principal_id)
);
create index on access.brain_grant (principal_id);

create table access.token (
  id uuid primary key default access.new_id(),
  brain_id uuid references access.brain,
  principal_id uuid not null references access.principal,
  digest bytea not null unique check (length(digest) = 32),
  role text not null check (role in ('reader', 'writer', 'reviewer', 'admin')),
  reads_history boolean not null default false,
  label text not null check (length(label) between 1 and 200),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);

create table access.sign_in (
  digest bytea primary key check (length(digest) = 32),
  principal_id uuid not null references access.principal,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz
);

create table access.browser_session (
  digest bytea primary key check (length(digest) = 32),
  csrf_digest bytea not null check (length(csrf_digest) = 32),
  principal_id uuid not null references access.principal,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);

-- One row: the key that signs a transaction's settings.
create table access.installation (
  only_one boolean primary key default true check (only_one),
  signing_key bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
);
insert into access.installation default values;

create function access.current_brain() returns uuid language sql stable
  as $$ select nullif(current_setting('memoranda.brain', true), '')::uuid $$;
create function access.current_principal() returns uuid language sql stable
  as $$ select nullif(current_setting('memoranda.principal', true), '')::uuid $$;

-- What a transaction says of itself, bound to this backend and this transaction, so that it cannot be carried over.
create function access.said() returns bytea language sql stable as $$
  select convert_to(jsonb_build_array(
    pg_backend_pid(), transaction_timestamp(),
    current_setting('memoranda.brain', true), current_setting('memoranda.principal', true),
    current_setting('memoranda.role', true), current_setting('memoranda.channel', true),
    current_setting('memoranda.mode', true), current_setting('memoranda.fact_time', true),
    current_setting('memoranda.known_at', true), current_setting('memoranda.scope', true))::text, 'UTF8') $$;

create function access.seal() returns text language sql stable security definer set search_path = pg_catalog
  as $$ select encode(sha256(signing_key || sha256(signing_key || access.said())), 'hex') from access.installation $$;

create function access.is_sealed() returns boolean language sql stable security definer set search_path = pg_catalog
  as $$ select coalesce(current_setting('memoranda.seal', true), '') = access.seal() $$;

create function access.put(setting text, value text) returns void language sql
  as $$ select set_config('memoranda.' || setting, coalesce(value, ''), true) $$;

-- The channel of this transaction: browser, token, service, or NULL when nobody proved who they are.
create function access.channel() returns text language sql stable security definer set search_path = pg_catalog
  as $$ select case when access.is_sealed() then nullif(current_setting('memoranda.channel', true), '') end $$;

create function access.role_rank(role text) returns int language sql immutable
  as $$ select array_position(array['reader', 'writer', 'reviewer', 'admin'], role) $$;

-- Who holds a credential, whichever kind it is. A browser session counts as proven for writing only with its CSRF token.
create function access.holder(credential bytea, csrf bytea, out principal_id uuid, out kind text, out channel text,
                              out token_brain uuid, out token_role text, out reads_history boolean)
  returns setof record language sql stable security definer set search_path = pg_catalog as $$
  select p.id, p.kind, 'token', t.brain_id, t.role, t.reads_history
    from access.token t join access.principal p on p.id = t.principal_id
   where t.digest = credential and t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp())
     and p.disabled_at is null
  union all
  select p.id, p.kind, case when csrf = s.csrf_digest then 'browser' else 'page' end, null, 'admin', true
    from access.browser_session s join access.principal p on p.id = s.principal_id
   where s.digest = credential and s.revoked_at is null and s.expires_at > clock_timestamp() and p.disabled_at is null $$;

-- What a credential may do in a brain: no row for an unknown brain and for one without rights to it alike.
create function access.standing(credential bytea, csrf bytea, brain text, out brain_id uuid, out principal_id uuid, out kind text,
                                out role text, out channel text, out reads_history boolean)
  returns setof record language sql stable security definer set search_path = pg_catalog as $$
  select b.id, h.principal_id, h.kind,
         case when access.role_rank(h.token_role) < access.role_rank(g.role) then h.token_role else g.role end,
         h.channel, h.reads_history
    from access.holder(credential, csrf) h
    join access.brain b on b.slug = brain and (h.token_brain is null or h.token_brain = b.id)
    join access.brain_grant g on g.brain_id = b.id and g.principal_id = h.principal_id $$;

-- Notes a token's use, to the minute, and never waits for another transaction to do so.
create function access.touch(credential bytea) returns void language sql volatile security definer set search_path = pg_catalog as $$
  update access.token set last_used_at = clock_timestamp() where id in (
    select t.id from access.token t where t.digest = credential
       and (t.last_used_at is null or t.last_used_at < clock_timestamp() - interval '1 minute') for update skip locked) $$;

-- Opens a writing transaction: says who acts, in which brain, over which channel, and seals it.
create function access.act(credential bytea, csrf bytea, brain text, out brain_id uuid, out principal_id uuid, out kind text,
                           out role text, out channel text)
  returns setof record language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  found_one record;
begin
  for found_one in select * from access.standing(credential, csrf, brain) loop
    perform access.put('brain', found_one.brain_id::text), access.put('principal', found_one.principal_id::text),
            access.put('role', found_one.role), access.put('channel', found_one.channel), access.put('mode', ''),
            access.put('fact_time', ''), access.put('known_at', ''), access.put('scope', '');
    perform access.put('seal', access.seal());
    perform access.touch(credential);
    brain_id := found_one.brain_id; principal_id := found_one.principal_id; kind := found_one.kind;
    role := found_one.role; channel := found_one.channel;
    return next;
  end loop;
end $$;

-- Opens a worker's transaction in one brain. Only the workers' own login roles may.
create function access.serve(brain uuid) returns uuid language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  me uuid;
begin
  if session_user not in ('memoranda_ingest', 'memoranda_learner', 'memoranda_indexer', 'memoranda_graph') then
    raise exception 'only a worker serves a brain' using errcode = '42501';
  end if;
  select p.id into me from access.principal p where p.kind = 'service' and p.name = session_user;
  perform access.put('brain', brain::text), access.put('principal', me::text), access.put('role', 'writer'),
          access.put('channel', 'service'), access.put('mode', ''), access.put('fact_time', ''), access.put('known_at', ''),
          access.put('scope', '');
  perform access.put('seal', access.seal());
  return me;
end $$;

insert into access.principal (kind, name)
select 'service', name from unnest(array['memoranda_ingest', 'memoranda_learner', 'memoranda_indexer', 'memoranda_graph']) name;

-- HMAC-SHA256 under the current brain's key. It tells whether two values are the same, and nothing else about them.
create function access.brain_hmac(message text) returns bytea language sql stable security definer set search_path = pg_catalog as $$
  select sha256(s.outer_pad || sha256(s.inner_pad || convert_to(message, 'UTF8')))
    from access.brain_secret s where s.brain_id = access.current_brain() $$;

-- The first 63 bits of it, for sets of words.
create function access.brain_word(message text) returns bigint language sql stable
  as $$ select ('x' || left(encode(access.brain_hmac(message), 'hex'), 16))::bit(64)::bigint $$;

create function access.make_brain_secret(brain uuid) returns void language plpgsql security definer set search_path = pg_catalog as $$
declare
  key bytea := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
            || sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
  inside bytea := key;
  outside bytea := key;
begin
  for place in 0..63 loop
    inside := set_byte(inside, place, get_byte(key, place) # 54);   -- 0x36
    outside := set_byte(outside, place, get_byte(key, place) # 92); -- 0x5c
  end loop;
  insert into access.brain_secret (brain_id, inner_pad, outer_pad) values (brain, inside, outside);
end $$;

-- The one lock that writers of a brain hold from the moment they take a time until they commit, so that a reader that waits
-- for it once knows that everything recorded up to now is visible.
create function access.write_lock(brain uuid) returns bigint language sql immutable
  as $$ select hashtextextended('memoranda write ' || brain::text, 0) $$;

-- A time that no committed row of the brain is later than, and that no row yet to come is earlier than.
create function access.stamp(brain uuid) returns timestamptz language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(access.write_lock(brain));
  return clock_timestamp();
end $$;
