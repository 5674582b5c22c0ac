"""The worker `vote`: the response whose answer most of the visible responses give, unchanged.

Source: self-consistency (Wang et al., 2022): a plurality over final answers. Answers are compared as scorers
compare them (`conductor.text.final_answer`). Knows no workflow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence

from conductor.errors import WorkerError
from conductor.text.excerpt import excerpt
from conductor.text.final_answer import comparable, final_answer
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
        ballots = _ballots(request.seen)
        if not ballots:
            raise WorkerError("vote sees no answer; let its step read steps that answer the question.")
        winner = max(ballots.values(), key=len)
        yield Completion(
            text=winner[0].response, reasoning=_votes(ballots, len(request.seen)), usage=NOTHING_USED
        )


def _ballots(seen: Sequence[SeenResponse]) -> dict[str, list[SeenResponse]]:
    """The responses by their answer, in the order in which the answers were given first; a response that
    declines to answer has no vote.
    """
    ballots: defaultdict[str, list[SeenResponse]] = defaultdict(list)
    for response in seen:
        if answer := comparable(final_answer(response.response)):
            ballots[answer].append(response)
    return ballots


def _votes(ballots: Mapping[str, Sequence[SeenResponse]], voters: int) -> str:
    """A line for each answer with its voters, and how many gave none."""
    lines = [
        f"{quantity(len(voted), 'vote')} for “{excerpt(final_answer(voted[0].response), 60)}”: "
        f"{', '.join(f'step {each.step + 1} ({each.worker})' for each in voted)}"
        for voted in sorted(ballots.values(), key=len, reverse=True)
    ]
    silent = voters - sum(map(len, ballots.values()))
    return "\n".join([*lines, *([f"No answer from {quantity(silent, 'step')}."] if silent else [])])
