"""Recalled claims as text for models: short, cited, and inside their frame."""

from __future__ import annotations

import re

from memoranda_api.wire import ClaimOut, EvidenceOut, Recalled

_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def rendered_recall(answer: Recalled) -> str:
    """A whole answer, framed as evidence."""
    parts = [answer.framing.open, answer.framing.note]
    for title, claims in (("ACCEPTED", answer.accepted), ("PROPOSED, NOT REVIEWED", answer.proposed)):
        if claims:
            parts.append(f"\n{title}")
            parts.extend(rendered_claim(claim) for claim in claims)
    if answer.evidence:
        parts.append("\nRAW EVIDENCE, NOT REVIEWED")
        parts.extend(_rendered_piece(piece) for piece in answer.evidence)
    if not (answer.accepted or answer.proposed or answer.evidence):
        parts.append("\nNothing that is eligible was found.")
    parts.append(f"\n{_coverage(answer)}")
    parts.append(answer.close)
    return "\n".join(parts)


def rendered_claim(claim: ClaimOut) -> str:
    """One claim with its standing and its cited lines. No text of it can begin a line of its own."""
    if claim.withheld is not None:
        return f"- [withheld: {claim.withheld}] claim {claim.claim_id}"
    sign = "≠" if claim.polarity == "denies" else "="
    disputed = ", disputed" if claim.disputed else ""
    said = f"by {claim.author_role}, said {claim.said_at:%Y-%m-%d}; claim {claim.claim_id}"
    named = _in_line(f"{claim.subject} · {claim.predicate} {sign} {claim.value}")
    lines = [f"- {named}  [{claim.standing}{disputed}; {said}]"]
    if claim.statement:
        lines.append(f"  {_in_line(claim.statement)}")
    for support in claim.supports:
        where = _in_line(f"{support.role}, {support.source.host} line {support.first_line}")
        if support.excerpt is None:
            lines.append(f"  > {where}: [withheld: {support.withheld}]")
        else:
            lines.append(f"  > {where}:")
            lines.extend(_quoted(support.excerpt))
    return "\n".join(lines)


def _rendered_piece(piece: EvidenceOut) -> str:
    roles = ", ".join(dict.fromkeys(run.role for run in piece.runs))
    where = _in_line(f"{piece.source.host} {piece.source.title or piece.source.external_id}, lines {piece.first_line}-{piece.last_line}")
    branch = ", from an abandoned branch" if piece.abandoned else ""
    return "\n".join([f"- [{roles}{branch}; {where}; chunk {piece.chunk_id}]", *_quoted(piece.text)])


def _in_line(text: str) -> str:
    return _BREAKS.sub(" ⏎ ", text)


def _quoted(text: str) -> list[str]:
    return [f"  | {line}" for line in text.splitlines()]


def _coverage(answer: Recalled) -> str:
    coverage = answer.coverage
    withheld = ", ".join(f"{number} {reason}" for reason, number in coverage.withheld.items()) or "nothing"
    cut = f"; cut at {', '.join(coverage.bounds)}" if coverage.truncated else ""
    return f"Coverage: mode {coverage.mode}, as known {coverage.knowledge_time.isoformat()}, withheld {withheld}{cut}."
