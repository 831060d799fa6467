"""The command memoranda-migrate: brings a database up to this release, and sets up what a new installation needs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Final

import psycopg

from memoranda import migrations
from memoranda.errors import MemorandaError
from memoranda_up import steward

ROLES: Final = ("gateway", "command", "ingest", "learner", "indexer", "graph")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs once and ends; exits with 2 and one message where it cannot. Several at once are safe."""
    given = _parsed(arguments)
    try:
        print(json.dumps(run(given.database, given)))
    except MemorandaError as error:
        sys.exit(f"memoranda-migrate: {error.message}{f'; {error.mend}' if error.mend else ''}")
    except psycopg.Error as error:
        sys.exit(f"memoranda-migrate: the database refused: {(error.diag.message_primary or str(error)).strip()}")


def run(dsn: str, given: argparse.Namespace) -> dict[str, object]:
    """Migrates, sets passwords, and makes brain, token and sign-in link where a brain is named. What was done, for programs."""
    if given.dry_run:
        return {"pending": migrations.pending(dsn)}
    done: dict[str, object] = {"applied": migrations.upgrade(dsn)}
    passwords = {role: os.environ.get(f"MEMORANDA_PASSWORD_{role.upper()}") for role in ROLES}
    for role, password in passwords.items():
        if password:
            steward.set_password(dsn, f"memoranda_{role}", password)
    done["passwords"] = [role for role, password in passwords.items() if password]
    if given.brain:
        household = steward.prepare(dsn, brain=given.brain, person=given.person, token=os.environ.get("MEMORANDA_TOKEN"), alone=False)
        link = f"{given.url.rstrip('/')}/sign-in?link={steward.new_link(dsn, household.person)}"
        done |= {"brain": household.brain, "person": household.person, "token": household.token, "sign_in": link}
    return done


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="memoranda-migrate", description="Bring Memoranda's database up to this release.")
    parser.add_argument(
        "--database",
        default=os.environ.get("MEMORANDA_ADMIN_DATABASE", ""),
        help="an administrator's connection string (MEMORANDA_ADMIN_DATABASE); roles get the passwords in MEMORANDA_PASSWORD_<ROLE>",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be applied")
    parser.add_argument("--brain", default="", help="make this brain, and print a token and a one-time sign-in link for it")
    parser.add_argument("--person", default="admin", help="who becomes the admin of the brain")
    parser.add_argument("--url", default="http://127.0.0.1:7411", help="where the API answers, for the sign-in link")
    given = parser.parse_args(arguments)
    if not given.database:
        parser.error("name the database: --database 'host=… dbname=memoranda user=…', or MEMORANDA_ADMIN_DATABASE")
    return given


if __name__ == "__main__":
    main()
