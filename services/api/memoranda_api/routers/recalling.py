"""Recall: one question, one answer with its coverage."""

from __future__ import annotations

from memoranda.store import lens
from memoranda_api.gateway import TheCredential, TheGateway
from memoranda_api.recall import Question, recall
from memoranda_api.routers import READ, router
from memoranda_api.wire import Recalled, RecallIn

routes = router("recall")


@routes.post("/recall", response_model=Recalled, operation_id="recall", responses=READ)
def post_recall(brain: str, body: RecallIn, gateway: TheGateway, credential: TheCredential) -> dict[str, object]:
    """Answers a question. Asked again with the knowledge time of its coverage, the answer is the same."""
    return ask(gateway, credential, brain, body)


def ask(gateway: TheGateway, credential: TheCredential, brain: str, body: RecallIn) -> dict[str, object]:
    """The answer to a question, for REST and MCP alike."""
    view = lens.View(mode=body.mode, fact_time=body.fact_time, knowledge_time=body.knowledge_time, scope=body.scope.scope())
    with gateway.reading(credential, brain, view) as reading:
        return recall(reading, Question(text=body.question, limit=body.limit, budget_bytes=body.budget_bytes))
