"""What the demo holds itself to: every step says what came out, and whether it is what should have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One expectation. ``found`` is what was there, for the case that it does not hold."""

    step: int
    what: str
    holds: bool
    found: str


@dataclass(slots=True)
class Checks:
    """Collects the checks of all steps and prints each as it is made."""

    console: Console
    made: list[Check] = field(default_factory=list[Check])
    step: int = 0

    def hold(self, what: str, holds: bool, found: object = "") -> None:
        """Makes one check."""
        check = Check(step=self.step, what=what, holds=bool(holds), found=str(found))
        self.made.append(check)
        mark = ("✓ ", "green") if check.holds else ("✗ ", "bold red")
        remark = "" if check.holds else f"  (found: {check.found[:300]})"
        self.console.print(Text.assemble("  ", mark, what, (remark, "red")))

    def failed(self) -> list[Check]:
        """Those that do not hold."""
        return [check for check in self.made if not check.holds]

    def all_hold(self) -> bool:
        """Whether everything came out as it should."""
        return not self.failed()


def words(reasons: Iterable[str]) -> str:
    """A listing in plain words."""
    return ", ".join(reasons) or "none"
