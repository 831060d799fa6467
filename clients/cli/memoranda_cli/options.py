"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path | None, typer.Option("--data", help="The data folder on this machine.  [env: MEMORANDA_DATA; default: ~/.memoranda]")]
Url = Annotated[str | None, typer.Option("--url", help="The address of a Memoranda.  [env: MEMORANDA_URL, MEMORANDA_TOKEN]")]
Brain = Annotated[str | None, typer.Option("--brain", help="The brain.  [env: MEMORANDA_BRAIN]")]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
Repository = Annotated[list[str] | None, typer.Option("--repository", help="Where it applies: a repository's URL. May be repeated.")]
Area = Annotated[list[str] | None, typer.Option("--area", help="Where it applies: an area. May be repeated.")]
Environment = Annotated[list[str] | None, typer.Option("--environment", help="Where it applies: an environment. May be repeated.")]
Reason = Annotated[str, typer.Option("--reason", help="Why. It is kept with the decision.", prompt="Why")]
