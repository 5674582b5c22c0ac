"""Who counts a request's tokens depends on who read it, and what is not counted is marked as an estimate."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizer_cases import whole_count, write_tokenizer

from conductor.errors import PoolError
from conductor.values.messages import Completion, Message, Part, Request
from conductor.workers.endpoint.tokens import request_shares
from conductor.workers.protocol import WorkerCard
from conductor.workers.simulated import SimulatedWorker

REQUEST = Request(
    messages=(
        Message(
            role="user",
            parts=(
                Part("frame", "Answer the question.\n<q>\n"),
                Part("query", "what is the  number of the step?"),
                Part("frame", "\n</q>\n"),
                Part("response", "the answer is the number ", 0, "beta"),
                Part("frame", "\nYour task: "),
                Part("instruction", "check the answer"),
            ),
        ),
    )
)
TEXT = REQUEST.messages[0].content


def card(tokenizer: Path | None = None) -> WorkerCard:
    return WorkerCard(
        name="m",
        kind="model",
        strengths="",
        model="m",
        tokenizer=None if tokenizer is None else str(tokenizer),
    )


async def test_a_simulated_worker_is_counted_as_it_counts_itself() -> None:
    items = [item async for item in SimulatedWorker(name="s").stream(REQUEST)]
    assert isinstance(items[-1], Completion)
    shares = request_shares(REQUEST, kind="simulated")
    assert (shares.unit, shares.exact) == ("tokens", True)
    assert shares.total == items[-1].usage.prompt_tokens


def test_a_model_whose_tokenizer_is_known_is_counted_by_it(tmp_path: Path) -> None:
    file = write_tokenizer(tmp_path / "tokenizer.json")
    shares = request_shares(REQUEST, kind="model", card=card(file), reported=99)
    assert (shares.unit, shares.exact, shares.reported) == ("tokens", True, 99)
    assert shares.total == whole_count(file, TEXT)


@pytest.mark.parametrize("reported", [None, 0, 1, 57, 1_000_003])
def test_any_other_model_is_estimated_to_sum_to_what_its_endpoint_counted(reported: int | None) -> None:
    shares = request_shares(REQUEST, kind="model", card=card(), reported=reported)
    assert (shares.unit, shares.exact) == ("tokens", False)
    assert shares.total == (-(-len(TEXT) // 4) if reported is None else reported)


def test_a_built_in_expert_reads_characters() -> None:
    shares = request_shares(REQUEST, kind="offline")
    assert (shares.unit, shares.exact, shares.total) == ("characters", True, len(TEXT))


def test_a_worker_that_is_in_the_pool_no_more_is_still_told() -> None:
    assert not request_shares(REQUEST, kind="model", card=None).exact


def test_a_tokenizer_that_went_away_is_an_error_and_no_silent_estimate(tmp_path: Path) -> None:
    file = write_tokenizer(tmp_path / "tokenizer.json")
    request_shares(REQUEST, kind="model", card=card(file))
    file.unlink()
    with pytest.raises(PoolError, match="cannot be read"):
        request_shares(REQUEST, kind="model", card=card(file))
