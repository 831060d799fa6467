"""Takes the guarding lines out, one at a time, and sees the tests fail: ``make guards``.

Each guard is copied out of the tree with its line changed and the tests that hold it are run there. A guard whose tests still
pass without it guards nothing: the run names it and ends with 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SQL = "libs/common/memoranda/migrations/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One line that holds something up: what to change it to, and which tests then have to fail."""

    name: str
    file: str
    line: str
    without: str
    tests: str


GUARDS = (
    Guard(
        name="a rule blocks on insert (1)",
        file=SQL + "0003_ledger.sql",
        line="if new.review <> 'rejected' and new.lifecycle = 'active' and exists (select from ledger.binding_rules(new)) then",
        without="if false then",
        tests="tests/flow/test_rules.py",
    ),
    Guard(
        name="keys fold width and case (1)",
        file=SQL + "0002_evidence.sql",
        line="word text := evidence.trimmed(evidence.fold(original));",
        without="word text := evidence.trimmed(original);",
        tests="tests/flow/test_rules.py",
    ),
    Guard(
        name="the lens asks the rules made since (1)",
        file=SQL + "0005_lens.sql",
        line="where u.brain_id = r.brain_id and u.rule_key = r.rule_key and u.recorded_at <= lens.known_at()",
        without="where false and u.rule_key = r.rule_key",
        tests="tests/flow/test_rules.py tests/properties",
    ),
    Guard(
        name="chunks sealed later are matched with the rules (1)",
        file=SQL + "0003_ledger.sql",
        line="create trigger version_match before insert on evidence.version for each row execute function ledger.match_version();",
        without="create trigger version_match before insert on evidence.version for each row when (false) execute function "
        "ledger.match_version();",
        tests="tests/flow/test_rules.py",
    ),
    Guard(
        name="the edge of two chunks is matched (1)",
        file=SQL + "0003_ledger.sql",
        line="if earlier.id is not null and earlier.text is not null then",
        without="if false then",
        tests="tests/flow/test_rules.py",
    ),
    Guard(
        name="the gateway has no right on a table (2)",
        file=SQL + "0007_rights.sql",
        line="grant usage on schema lens to memoranda_gateway;",
        without="grant usage on schema lens to memoranda_gateway; set local role memoranda_owner; grant select on ledger.claim to "
        "memoranda_gateway; set local role memoranda_lens;",
        tests="tests/store/test_walls.py",
    ),
    Guard(
        name="the lens is sealed (2)",
        file=SQL + "0005_lens.sql",
        line="as $$ select coalesce(lens.mode(), '') <> '' and access.is_sealed() $$;",
        without="as $$ select coalesce(lens.mode(), '') <> '' $$;",
        tests="tests/store/test_walls.py",
    ),
    Guard(
        name="withheld content is blanked in the view (3)",
        file=SQL + "0005_lens.sql",
        line="case when s.withheld is null then r.value end as value",
        without="r.value as value",
        tests="tests/store/test_walls.py",
    ),
    Guard(
        name="tables are walled by brain (4)",
        file=SQL + "0007_rights.sql",
        line="execute format('alter table %I.%I force row level security', walled.place, walled.name);",
        without="execute format('alter table %I.%I no force row level security', walled.place, walled.name);",
        tests="tests/store/test_walls.py",
    ),
    Guard(
        name="a reviewer needs a browser session (5)",
        file=SQL + "0003_ledger.sql",
        line="if new.reviewer_id is not null and (acting <> 'browser' or new.reviewer_id <> actor",
        without="if new.reviewer_id is not null and (new.reviewer_id is null",
        tests="tests/flow/test_authority.py",
    ),
    Guard(
        name="a channel counts only when it is sealed (5)",
        file=SQL + "0001_roles.sql",
        line="as $$ select case when access.is_sealed() then nullif(current_setting('memoranda.channel', true), '') end $$;",
        without="as $$ select nullif(current_setting('memoranda.channel', true), '') $$;",
        tests="tests/flow/test_authority.py",
    ),
    Guard(
        name="a policy accepts its authors only (6)",
        file=SQL + "0003_ledger.sql",
        line="if new.acceptance_policy = 'person_stated' and cited.all_person is not true",
        without="if new.acceptance_policy = 'person_stated' and false",
        tests="tests/flow/test_authority.py",
    ),
    Guard(
        name="the least trusted line decides (6)",
        file=SQL + "0003_ledger.sql",
        line="order by coalesce(ledger.author_rank(r.role), 0), r.said desc nulls last limit 1;",
        without="order by coalesce(ledger.author_rank(r.role), 0) desc, r.said desc nulls last limit 1;",
        tests="tests/flow/test_authority.py tests/flow/test_capture.py",
    ),
    Guard(
        name="completing asks for the fencing token and the deadline (7)",
        file="libs/common/memoranda/store/jobs.py",
        line=" where id = %(id)s and fencing_token = %(token)s and state = 'leased' and leased_until > clock_timestamp()\nreturning id\n"
        '"""\n\n\ndef complete',
        without=' where id = %(id)s\nreturning id\n"""\n\n\ndef complete',
        tests="tests/flow/test_jobs.py",
    ),
    Guard(
        name="captures of one source take turns (7)",
        file="libs/common/memoranda/store/evidence.py",
        line="on conflict (brain_id, key) do nothing",
        without="on conflict (id) do nothing",
        tests="tests/flow/test_capture.py",
    ),
    Guard(
        name="a sealed version takes no more chunks (8)",
        file=SQL + "0002_evidence.sql",
        line="if exists (select from evidence.version v where v.id in (select a.version_id from added a)) then",
        without="if false then",
        tests="tests/flow/test_erasure_races.py",
    ),
    Guard(
        name="the author of a contribution is whoever is signed in (6)",
        file=SQL + "0002_evidence.sql",
        line="where r.role <> case access.channel() when 'browser' then 'person' else 'assistant' end) then",
        without="where false) then",
        tests="tests/flow/test_authority.py",
    ),
    Guard(
        name="append-only stops the owner too (8)",
        file=SQL + "0003_ledger.sql",
        line="raise exception '% is append-only', tg_table_schema || '.' || tg_table_name using errcode = 'MEM01';",
        without="return coalesce(new, old);",
        tests="tests/store/test_walls.py",
    ),
    Guard(
        name="derived memory asks for its inputs (9)",
        file=SQL + "0005_lens.sql",
        line="coalesce(j.hard, case when i.worst = 'hard' then 'input_not_eligible' end) as hard,",
        without="j.hard as hard,",
        tests="tests/flow/test_capture.py",
    ),
    Guard(
        name="a reader waits for who took an earlier time (10)",
        file=SQL + "0005_lens.sql",
        line="perform pg_advisory_xact_lock_shared(access.write_lock(brain_id));",
        without="perform pg_advisory_xact_lock_shared(0);",
        tests="tests/flow/test_succession.py",
    ),
    Guard(
        name="rules made later do not reach back in as-of reads (10)",
        file=SQL + "0005_lens.sql",
        line="where u.brain_id = r.brain_id and u.rule_key = r.rule_key and u.recorded_at <= lens.known_at()",
        without="where u.brain_id = r.brain_id and u.rule_key = r.rule_key",
        tests="tests/flow/test_succession.py",
    ),
    Guard(
        name="a key is bound to its payload (11)",
        file="libs/common/memoranda/store/receipts.py",
        line="if bytes(row[0]) != digest:",
        without="if False:",
        tests="tests/flow/test_capture.py",
    ),
    Guard(
        name="calls with one key wait for each other (11)",
        file="libs/common/memoranda/store/receipts.py",
        line="    connection.execute(LOCK, parameters)\n",
        without="",
        tests="tests/flow/test_capture.py",
    ),
    Guard(
        name="a replacement ends what it replaces (12)",
        file="services/learner/memoranda_learner/learn.py",
        line="            self._end(head, found.at, superseded_by=claim_id)\n",
        without="            pass\n",
        tests="tests/flow/test_succession.py",
    ),
    Guard(
        name="recalled text is no evidence (13)",
        file=SQL + "0003_ledger.sql",
        line="if new.role = 'memoranda' then",
        without="if false then",
        tests="tests/flow/test_capture.py",
    ),
    Guard(
        name="the learner skips recalled text (13)",
        file="services/learner/memoranda_learner/extract.py",
        line='if role == "memoranda":',
        without="if False:",
        tests="tests/flow/test_capture.py",
    ),
)


def main(only: str = "") -> int:
    """Tries every guard whose name holds ``only``. Returns how many guard nothing, at most 1."""
    idle: list[str] = []
    with tempfile.TemporaryDirectory(prefix="memoranda-guards-") as folder:
        copy = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".hypothesis", "*_cache")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for guard in GUARDS:
            if only in guard.name:
                held = _fails_without(copy, guard)
                sys.stdout.write(f"{'held' if held else 'IDLE'}  {guard.name}\n")
                sys.stdout.flush()
                if not held:
                    idle.append(guard.name)
    return 1 if idle else 0


def _fails_without(copy: Path, guard: Guard) -> bool:
    place = copy / guard.file
    text = place.read_text()
    if text.count(guard.line) != 1:
        raise SystemExit(f"{guard.name}: its line stands {text.count(guard.line)} times in {guard.file}")
    place.write_text(text.replace(guard.line, guard.without))
    try:
        paths = [str(path.relative_to(copy)) for path in (copy / "libs", copy / "services", copy / "clients")]
        roots = [str(found) for path in paths for found in (copy / path).iterdir() if found.is_dir()]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*roots, str(copy / "libs/common"), str(copy)])}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-p", "no:cacheprovider", *guard.tests.split()]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, check=False, timeout=600)
        verdict = done.stdout.decode().rstrip().rsplit("\n", 1)[-1]
        return done.returncode != 0 and " failed" in verdict
    finally:
        place.write_text(text)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
