"""A session's runs as turns of its conversation: what came with each of them, and what it answered. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conductor.runs.state import RunState
from conductor.values.conversation import Conversation, Turn
from conductor.values.messages import Request
from storage import Session


@dataclass(frozen=True)
class AgentTurn:
    """One run of a session whose conversation went on with each run.

    `following` is how many messages its final step was sent behind the question. `messages` are those that
    came with this turn, by their position among them; the question is at -1. `answer` is None without one.
    """

    following: int
    messages: Mapping[int, Turn]
    answer: Turn | None

    @classmethod
    def of(cls, session: Session, state: RunState, before: RunState | None) -> AgentTurn | None:
        """The turn of a run; `before` is the run before. Returns None if its final step was sent nothing."""
        number = _following(state)
        if number is None:
            return None
        past = session.earlier_conversation
        earlier = None if before is None else _following(before)
        messages: dict[int, Turn] = {}
        if earlier is None or earlier >= number:
            # The first turn, and a further run of one: all of it is shown.
            messages[-1] = Turn(
                role="user", text=session.query, name=past.speaker, images=past.images, files=past.files
            )
            earlier = 0
        messages |= {at: past.following[at] for at in range(earlier, min(number, len(past.following)))}
        # What follows the messages before is the answer of the turn before.
        while -1 not in messages and messages and next(iter(messages.values())).role == "assistant":
            del messages[next(iter(messages))]
        output = None if state.answer_step is None else state.steps[state.answer_step].output
        answer = None
        if output is not None:
            answer = Turn(role="assistant", text=output.text, tool_calls=output.tool_calls)
        return cls(number, messages, answer)

    def with_texts(self, session: Session, texts: Mapping[int, str]) -> tuple[str, Conversation]:
        """The question and the conversation as this turn saw them, with these texts in the place of those of
        messages, by position.
        """
        past = session.earlier_conversation
        following = tuple(
            turn.model_copy(update={"text": texts.get(at, turn.text)})
            for at, turn in enumerate(past.following[: self.following])
        )
        return texts.get(-1, session.query), past.model_copy(update={"following": following})


def _following(state: RunState) -> int | None:
    """How many messages the final step was sent behind the question."""
    request = None if state.workflow is None else state.steps[state.workflow.final].request
    return None if request is None else _behind(request)


def _behind(request: Request) -> int:
    own = [at for at, each in enumerate(request.messages) if any(part.kind == "query" for part in each.parts)]
    behind = request.messages[own[0] + 1 :] if own else ()
    # A worker of the research layout has its answer begun for it.
    return sum(any(part.kind != "frame" for part in each.parts) or each.tool_calls != () for each in behind)
