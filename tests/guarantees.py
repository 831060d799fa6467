"""What must always hold. Each has a test that names it with ``@pytest.mark.guarantee(number)``; a full run fails where one has none."""

from __future__ import annotations

GUARANTEES: dict[int, str] = {
    1: "A rejected value is never eligible again, from any writer, spelling or source, after a reindex, and after its text is erased.",
    2: "Nothing reaches a reader but through the lens: the gateway's role is denied on every base table that exists.",
    3: "A withheld row's content appears nowhere in any answer, error, log, span or metric.",
    4: "One brain's rows are invisible to another's principals.",
    5: "No bearer token can make a revision accepted by a reviewer.",
    6: "Text that an assistant or a tool wrote is not accepted by any policy but autonomous.",
    7: "A job's effect happens exactly once, whatever is killed, doubled, delayed or reordered; an acknowledged capture is never lost.",
    8: "A revision, support, rule, receipt or audit row never changes or goes, but by erasure, which leaves the row and its digest.",
    9: "Derived memory is never more trusted than its least trusted input.",
    10: "As-of reads are stable: the answer for knowledge time K does not change with later writes, erasure aside.",
    11: "A replayed command returns the first result; a replayed key with another payload is refused.",
    12: "No replacement leaves zero claims where one held, and none leaves two.",
    13: "Recalled text that comes back in a captured session adds no claim and no support.",
}
