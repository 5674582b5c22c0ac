"""A language model as the Conductor without an endpoint: it answers the prompt that it would be sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from conductor.planner.conductor import OutgoingPrompt, PlanRequest
from conductor.planner.model_planner import ModelConductor
from conductor.planner.prompt.prompt import plan_messages
from conductor.values.messages import Completion, Delta, Usage
from conductor.workers.pool.schema import ConductorTable

UNUSED = "http://127.0.0.1:9/v1"


class PromptedConductor(ModelConductor):
    """Writes what `answer` gives for the system's message and the query."""

    def __init__(self, answer: Callable[[str, str], str]) -> None:
        super().__init__(ConductorTable(base_url=UNUSED, model="scripted"))
        self._answer = answer
        self.prompts: list[str] = []

    async def stream(self, request: PlanRequest) -> AsyncGenerator[Any, None]:
        """See `ModelConductor.stream`."""
        messages = plan_messages(request, dialect="any", style="ours", room_to_think=True)
        yield OutgoingPrompt(messages=messages)
        self.prompts.append(messages[0].content)
        text = self._answer(messages[0].content, request.query)
        yield Delta(text=text)
        yield Completion(text=text, usage=Usage(prompt_tokens=100, completion_tokens=10))
