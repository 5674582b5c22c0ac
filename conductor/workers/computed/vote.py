"""The worker `vote`: the response whose answer most of the visible responses give, unchanged.

Source: self-consistency (Wang et al., 2022): a plurality over final answers. Answers are compared as scorers
compare them (`conductor.text.equality`). Knows no workflow.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from conductor.errors import WorkerError
from conductor.text.equality.choice import choices_in, chosen_answer
from conductor.text.equality.same_answer import ballots
from conductor.text.excerpt import excerpt
from conductor.text.final_answer import final_answer
from conductor.text.formatting import quantity
from conductor.values.messages import NOTHING_USED, Completion, Request, SeenResponse
from conductor.workers.protocol import WorkerCard


class VoteWorker:
    """See `Worker` for the protocol. Of answers with equally many votes the one given first wins."""

    card = WorkerCard(
        name="vote",
        kind="offline",
        strengths="returns the response whose answer most visible responses give; calls no model",
        model="computed/vote",
    )

    async def stream(self, request: Request) -> AsyncIterator[Completion]:
        """The winning response, its votes as reasoning. Raises `WorkerError` where no answer is visible."""
        cast = _ballots(request)
        if not cast:
            raise WorkerError("vote sees no answer; let its step read steps that answer the question.")
        winner = max(cast, key=len)
        reasoning = _votes(cast, len(request.seen))
        yield Completion(text=winner[0].response, reasoning=reasoning, usage=NOTHING_USED)


def _ballots(request: Request) -> list[list[SeenResponse]]:
    """The responses by their answer, in the order in which the answers were given first; a response that
    declines to answer has no vote.
    """
    choices = choices_in(request.query)
    answers = [(chosen_answer(each.response, choices), each) for each in request.seen]
    voters = [(answer, each) for answer, each in answers if answer]
    return [[voters[at][1] for at in ballot] for ballot in ballots([answer for answer, _ in voters])]


def _votes(cast: Sequence[Sequence[SeenResponse]], voters: int) -> str:
    """A line for each answer with its voters, and how many gave none."""
    lines = [
        f"{quantity(len(voted), 'vote')} for “{excerpt(final_answer(voted[0].response), 60)}”: "
        f"{', '.join(f'step {each.step + 1} ({each.worker})' for each in voted)}"
        for voted in sorted(cast, key=len, reverse=True)
    ]
    silent = voters - sum(map(len, cast))
    return "\n".join([*lines, *([f"No answer from {quantity(silent, 'step')}."] if silent else [])])
