"""The machine that a run was made on, and how much of its memory some processes hold."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

import psutil


def described() -> dict[str, Any]:
    """Processor, cores, memory, and what else was running when the bench began."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 1),
    }


def _cpu() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found.group(1) if found else platform.processor() or platform.machine()


def held_bytes(pid: int) -> int:
    """The memory that a process and all its descendants hold: the sum of their proportional set sizes.

    A page that several of them share, Postgres' buffers for one, counts once. Where the kernel does not tell (Linux does, in
    smaps_rollup), the resident sizes are added up, which counts shared pages more than once.
    """
    total = 0
    top = psutil.Process(pid)
    for process in [top, *top.children(recursive=True)]:
        try:
            total += _proportional(process.pid)
        except (OSError, psutil.Error):
            # ended meanwhile
            continue
    return total


def _proportional(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup")
    if not rollup.exists():
        return int(psutil.Process(pid).memory_info().rss)
    found = re.search(r"^Pss:\s+(\d+) kB", rollup.read_text(), re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0
