-- Revoking a token: the argument has the name of the table, so the columns say whose they are.
set local role memoranda_owner;

create or replace function access.revoke_token(token uuid) returns boolean language plpgsql volatile security definer
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
