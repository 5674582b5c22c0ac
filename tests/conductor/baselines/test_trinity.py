"""Trinity's turns: who does what, what each sees, and that the verifier ends them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import conductor
from conductor.baselines.options import OURS
from conductor.runs.state import RunState
from conductor.values.messages import Request
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker

NAMES = ("alpha", "beta", "gamma", "delta")
NAME_OF = {text: role for role, text in OURS["trinity"].items()}


class Turns:
    """Workers that write down their turns; verifiers give these verdicts one after another."""

    def __init__(self, *verdicts: str) -> None:
        self._verdicts = list(verdicts)
        self.log: list[tuple[str, str, list[int]]] = []
        self.pool = Pool(workers=tuple(SimulatedWorker(name, answer=self._answer_of(name)) for name in NAMES))

    def _answer_of(self, name: str) -> Callable[[Request], str]:
        def answer(request: Request) -> str:
            role = NAME_OF[request.instruction]
            self.log.append((name, role, [seen.step for seen in request.seen]))
            return self._verdicts.pop(0) if role == "verify" else f"{role} {len(self.log)}"

        return answer

    def run(self, *, rounds: int) -> RunState:
        settings = Settings(planner="baseline:trinity", rounds=rounds)
        return conductor.ask("What is 6 times 7?", pool=self.pool, settings=settings)


def test_a_thinker_a_worker_and_a_verifier_take_turns_until_one_accepts() -> None:
    turns = Turns("The sum is wrong.\nREVISE", "All of it holds: do not REVISE.\nACCEPT")
    run = turns.run(rounds=3)
    assert turns.log == [
        ("alpha", "think", []),
        ("beta", "work", [0]),
        ("gamma", "verify", [0, 1]),
        ("delta", "work", [0, 1, 2]),
        ("alpha", "verify", [0, 1, 2, 3]),
    ]
    assert (run.answer, run.round) == ("work 4", 2)


@pytest.mark.parametrize("verdict", ["ACCEPT", "It is right. **ACCEPT**"])
def test_the_first_answer_stands_where_it_is_accepted(verdict: str) -> None:
    turns = Turns(verdict)
    run = turns.run(rounds=3)
    assert (len(turns.log), run.answer) == (3, "work 2")


@pytest.mark.parametrize("verdict", ["REVISE", "I accept it.", "ACCEPT? No: REVISE"])
def test_without_an_accept_it_goes_on_to_the_last_round(verdict: str) -> None:
    turns = Turns(*[verdict] * 3)
    run = turns.run(rounds=3)
    assert [role for _, role, _ in turns.log] == [
        "think",
        "work",
        "verify",
        "work",
        "verify",
        "work",
        "verify",
    ]
    assert (run.answer, run.round) == ("work 6", 3)


def test_with_one_round_the_first_answer_is_the_answer() -> None:
    turns = Turns("REVISE")
    assert turns.run(rounds=1).answer == "work 2"
