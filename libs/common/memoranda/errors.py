"""Every error that crosses a module, as a tree.

MemorandaError
├── Refused              the caller asked for what is not allowed or cannot be; asking again changes nothing
│   ├── Invalid          a field is wrong: `field` says which
│   ├── NotSignedIn      no credential, or one that does not hold
│   ├── Forbidden        the credential holds and its role or channel is too little
│   ├── NotFound         unknown, or not the caller's to know of
│   ├── KeyReused        an idempotency key came back with another payload
│   ├── BannedValue      a rule bans the value
│   ├── SupersedeOwn     the writer would contradict its own live claim: `claim_id`
│   ├── Stale            the thing moved on meanwhile: read it again
│   ├── EvidenceGone     the cited evidence is not retained, or was never shown
│   └── Erased           a person erased this source: nothing of it is taken in again
├── Busy                 the store is away, slow or full; the same request may be sent again
│   └── OutcomeUnknown   the connection broke while committing: send the identical request with the same key
├── LeaseLost            the worker's right to a job ran out: write nothing, take the next
└── Misconfigured        settings, files or schema do not fit: the operator has to act
"""

from __future__ import annotations


class MemorandaError(Exception):
    """The root. ``code`` is stable and machine-readable; ``mend`` says what to do next."""

    code = "error"
    mend = ""

    def __init__(self, message: str, *, mend: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if mend is not None:
            self.mend = mend


class Refused(MemorandaError):
    """Raised before anything is stored. The catcher shows it; a retry cannot help."""

    code = "refused"


class Invalid(Refused):
    """Raised when one field of a command is wrong. ``field`` is its path in the payload."""

    code = "invalid"

    def __init__(self, message: str, *, field: str, mend: str | None = None) -> None:
        super().__init__(message, mend=mend)
        self.field = field


class NotSignedIn(Refused):
    """Raised when no credential came, or one that is unknown, expired or revoked."""

    code = "not_signed_in"
    mend = "send a token as 'Authorization: Bearer mem_…', or sign in again"


class Forbidden(Refused):
    """Raised when the caller is known and may not do this."""

    code = "role_too_low"


class NotFound(Refused):
    """Raised for what does not exist and for what the caller may not know of, alike."""

    code = "not_found"


class KeyReused(Refused):
    """Raised when an idempotency key is known with another payload. The first result stands."""

    code = "key_reused"
    mend = "use a new idempotency key for a new command"


class BannedValue(Refused):
    """Raised when a reviewer accepts a value that a rule bans."""

    code = "banned_value"
    mend = "revalidate the claim with changed evidence or applicability"


class SupersedeOwn(Refused):
    """Raised when a writer would contradict a live proposal of its own."""

    code = "supersede_own_claim"

    def __init__(self, message: str, *, claim_id: str) -> None:
        super().__init__(message, mend=f"revise claim {claim_id} instead")
        self.claim_id = claim_id


class Stale(Refused):
    """Raised when what the command was made for has changed since."""

    code = "stale"
    mend = "read it again and decide anew"


class EvidenceGone(Refused):
    """Raised when a cited span is not retained, lies outside its chunk, or is no evidence."""

    code = "evidence_not_retained"
    mend = "cite lines of a chunk that recall shows"


class Erased(Refused):
    """Raised when evidence comes that a person has erased."""

    code = "erased"
    mend = "capture it under another name if it is meant to come back"


class Busy(MemorandaError):
    """Raised when the store cannot answer now. Nothing was stored; the same request may be sent again."""

    code = "busy"
    mend = "try again shortly"


class OutcomeUnknown(Busy):
    """Raised when a commit was under way and its end is not known. Only the same key makes sending again safe."""

    code = "outcome_unknown"
    mend = "send the identical request again with the same idempotency key"


class LeaseLost(MemorandaError):
    """Raised in a worker whose lease ran out or was taken. The transaction must roll back."""

    code = "lease_lost"


class Misconfigured(MemorandaError):
    """Raised at start when the process cannot work as it is set up."""

    code = "misconfigured"
