"""What the pipeline's state means: lanes that nobody works, workers that fell silent, and jobs that fail. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from memoranda_cli.findings import Finding

# a worker says that it is there every three seconds
SILENT_SECONDS: Final = 12.0
# leases and retries go by the database's clock, but logs and traces of a machine whose clock is wrong mislead
CLOCK_SECONDS: Final = 5.0
# capture to claim takes a second or two where nothing is in the way
WAITING_SECONDS: Final = 60.0
SERVICES: Final = {"ingest": "ingest", "learn": "learner", "index": "indexer", "graph": "graph"}

State = Mapping[str, Any]


def examine(state: State) -> Iterator[Finding]:
    """Every finding about the pipeline's state as the API tells it."""
    if state["bus"] == "rabbitmq":
        yield _bus(state)
        for lane in SERVICES:
            yield _lane(lane, state["workers"])
        yield from _clocks(state["workers"])
    for lane in state["lanes"]:
        yield from _jobs(lane)


def _bus(state: State) -> Finding:
    if trouble := state["bus_trouble"]:
        return Finding(
            what="broker",
            verdict="wrong",
            found=f"the API cannot publish: {trouble}",
            mend="start RabbitMQ, or correct MEMORANDA_BROKER; captures are stored meanwhile, and published when it is back",
        )
    return Finding(what="broker", verdict="ok", found="RabbitMQ")


def _lane(lane: str, workers: list[State]) -> Finding:
    service = SERVICES[lane]
    what = f"lane {lane}"
    mine = [worker for worker in workers if worker["lane"] == lane and worker["state"] != "stopped"]
    seen = [worker for worker in mine if worker["silent_seconds"] <= SILENT_SECONDS]
    silent = [worker for worker in mine if worker["silent_seconds"] > SILENT_SECONDS]
    troubled = [worker for worker in seen if worker["trouble"]]
    if silent:
        worst = max(silent, key=lambda worker: worker["silent_seconds"])
        found = f"{worst['name']} was last seen {worst['silent_seconds']:.0f} s ago: it is gone, frozen or cut off from the database"
        mend = f"look at that process and its log; others go on with its jobs. Start memoranda-{service} again where it is gone"
        return Finding(what=what, verdict="note" if seen else "wrong", found=found, mend=mend)
    if not seen:
        return Finding(what=what, verdict="wrong", found="nobody works it: its jobs wait", mend=f"start memoranda-{service}")
    if troubled:
        worker = troubled[0]
        return Finding(
            what=what, verdict="wrong", found=f"{worker['name']}: {worker['trouble']}", mend="start the broker; nothing is lost meanwhile"
        )
    draining = sum(worker["state"] == "draining" for worker in seen)
    found = f"{len(seen)} worker{'s' if len(seen) > 1 else ''}{f', {draining} draining' if draining else ''}"
    return Finding(what=what, verdict="ok", found=found)


def _clocks(workers: list[State]) -> Iterator[Finding]:
    for worker in workers:
        ahead = worker["clock_ahead_seconds"]
        if abs(ahead) > CLOCK_SECONDS and worker["state"] != "stopped":
            found = f"that of {worker['name']} is {abs(ahead):,.0f} s {'ahead of' if ahead > 0 else 'behind'} the database's"
            yield Finding(
                what="clock", verdict="wrong", found=found, mend="set that machine's clock by NTP; jobs go by the database's clock"
            )


def _jobs(lane: State) -> Iterator[Finding]:
    what = f"jobs to {lane['lane']}"
    why = f": {'; '.join(lane['errors'])}" if lane["errors"] else ""
    if lane["dead"]:
        mend = "memoranda jobs list --state dead, mend the cause, then memoranda jobs requeue ID"
        yield Finding(what=what, verdict="wrong", found=f"{lane['dead']:,} failed for good{why}", mend=mend)
    elif lane["retrying"]:
        found = f"{lane['retrying']:,} failed and will be tried again{why}"
        yield Finding(what=what, verdict="wrong", found=found, mend="mend the cause; nothing has to be started again")
    if lane["overrun"]:
        found = f"{lane['overrun']:,} held beyond their lease: their worker is gone or frozen"
        yield Finding(what=what, verdict="note", found=found, mend="they are taken back within seconds while any worker runs")
    if lane["waiting"] and lane["oldest_seconds"] > WAITING_SECONDS:
        found = f"{lane['waiting']:,} wait, the oldest for {lane['oldest_seconds']:,.0f} s"
        yield Finding(what=what, verdict="wrong", found=found, mend="see the lane's workers above; more of them share the work")
