"""Sending: two batches under way at once, but only where the outcome is the same as one after the other."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from memoranda_cli.batches import Batch
from memoranda_cli.errors import Failure

# batches read ahead of the senders: enough to keep them busy, few enough to bound memory to some 30 MB
READ_AHEAD: Final = 2
# the server reads and masks one batch while its database stores the other; a third gained nothing
AT_ONCE: Final = 2

Owner = TypeVar("Owner")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parcel(Generic[Owner]):
    """A batch and what it is sent for."""

    owner: Owner
    batch: Batch

    def waits_for(self, other: Parcel[Owner]) -> bool:
        """Whether the order of the two could be seen: they are of one owner or source, or an event is in both.

        A resumed session repeats the events of the one before, and whichever is stored first owns them.
        """
        return self.owner is other.owner or self.batch.source == other.batch.source or not self.batch.keys.isdisjoint(other.batch.keys)


class Sender(Generic[Owner]):
    """Sends batches from threads of its own. What is stored is what sending them in the order of ``put`` would have stored.

    ``deliver`` is called for each batch; a Failure that it raises ends the sending, and is raised to whoever puts or leaves.
    """

    def __init__(self, deliver: Callable[[Owner, bytes], None]) -> None:
        self._deliver = deliver
        self._turn = threading.Condition()
        self._waiting: deque[Parcel[Owner]] = deque()
        self._under_way: list[Parcel[Owner]] = []
        self._ended = False
        self._broken: Failure | None = None
        self._threads = [threading.Thread(target=self._run, name="sender", daemon=True) for _ in range(AT_ONCE)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._turn:
            if kind is not None:
                # what was not sent yet is dropped: the next import sends it again
                self._waiting.clear()
            self._ended = True
            self._turn.notify_all()
        for thread in self._threads:
            thread.join()
        if kind is None and self._broken:
            raise self._broken

    def put(self, owner: Owner, batches: Iterable[Batch]) -> None:
        """Hands batches over, and waits while enough are waiting. Raises what ended the sending of earlier ones."""
        for batch in batches:
            with self._turn:
                self._turn.wait_for(lambda: self._broken or len(self._waiting) < READ_AHEAD)
                if self._broken:
                    raise self._broken
                self._waiting.append(Parcel(owner=owner, batch=batch))
                self._turn.notify_all()

    def _run(self) -> None:
        while parcel := self._take():
            try:
                self._deliver(parcel.owner, parcel.batch.body)
            except Failure as failure:
                self._stop(failure)
            finally:
                with self._turn:
                    self._under_way.remove(parcel)
                    self._turn.notify_all()

    def _take(self) -> Parcel[Owner] | None:
        """The next parcel once it waits for none that is under way; None when there is no more."""
        with self._turn:
            self._turn.wait_for(self._may_go)
            if not self._waiting:
                return None
            parcel = self._waiting.popleft()
            self._under_way.append(parcel)
            self._turn.notify_all()
            return parcel

    def _may_go(self) -> bool:
        if self._waiting:
            return not any(self._waiting[0].waits_for(other) for other in self._under_way)
        return self._ended

    def _stop(self, failure: Failure) -> None:
        with self._turn:
            self._broken = self._broken or failure
            self._waiting.clear()
