-- A reader that waits for a writer gives the lock back whatever happens. Held by the session it outlived a reader that was stopped
-- between taking it and giving it back (a statement timeout does that at once, since it strikes when the wait ends): the connection
-- went back to its pool with the lock, and nobody could write in the brain until it was closed.
set local role memoranda_owner;

create or replace function access.open_lens(credential bytea, brain text, mode text, fact_time timestamptz, known_at timestamptz,
                                 repositories text[], areas text[], environments text[],
                                 out brain_id uuid, out principal_id uuid, out kind text, out role text, out channel text,
                                 out knowledge_time timestamptz, out refused text)
  returns setof record language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  found_one record;
  asked timestamptz := known_at;
begin
  for found_one in select * from access.standing(credential, null, brain) loop
    brain_id := found_one.brain_id; principal_id := found_one.principal_id; kind := found_one.kind; role := found_one.role;
    channel := found_one.channel; refused := null;
    if mode not in ('accepted', 'operational', 'investigation', 'history') then
      refused := 'unknown_mode';
      return next; return;
    end if;
    if mode = 'history' and access.role_rank(role) < 3 and not found_one.reads_history then
      refused := 'history_needs_reviewer';
      return next; return;
    end if;
    -- whoever writes now commits before this returns; whoever writes later gets a later time
    begin
      perform pg_advisory_xact_lock_shared(access.write_lock(brain_id));
      raise exception sqlstate 'MEM00';
    exception when sqlstate 'MEM00' then null;
    end;
    knowledge_time := least(coalesce(asked, 'infinity'), clock_timestamp());
    perform access.put('brain', brain_id::text), access.put('principal', principal_id::text), access.put('role', role),
            access.put('channel', 'lens'), access.put('mode', mode),
            access.put('fact_time', coalesce(fact_time, knowledge_time)::text), access.put('known_at', knowledge_time::text),
            access.put('scope', jsonb_build_array(coalesce(repositories, '{}'), coalesce(areas, '{}'), coalesce(environments, '{}'))::text);
    perform access.put('seal', access.seal());
    perform access.touch(credential);
    return next;
  end loop;
end $$;
