"""Trinity: a thinker, a worker and a verifier take turns, each reading all turns before, until one accepts.

Source: Sakana AI, "TRINITY: An Evolved LLM Coordinator" (ICLR 2026): the three roles, the transcript that
each turn sees, the verifier's ACCEPT or REVISE, and that the last worker's response is the answer. There a
small model's coordinator chooses the role and the worker of each turn, evolved by whole runs; here the roles
take turns in that order and the workers in the pool's. A round ends where the
verifier decides whether there is another: its turns are fixed up to there. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from conductor.baselines.options import Texts
from conductor.planner.conductor import PlanRequest
from conductor.values.messages import Sampling
from conductor.workers.computed.select import SELECT
from conductor.workflow.model import Step, Workflow

RETURN = "Return the last worker's response."

_VERDICT = re.compile(r"\b(ACCEPT|REVISE)\b")


def first_round(workers: Sequence[str], sampling: Sampling, texts: Texts) -> Workflow:
    """Thinker, worker, verifier; the worker's response is the answer. Calls: 3."""
    return _round((), [texts[role] for role in ("think", "work", "verify")], workers, sampling)


def next_round(
    request: PlanRequest, workers: Sequence[str], sampling: Sampling, texts: Texts
) -> Workflow | None:
    """All turns so far, which have their outputs, then worker and verifier again; None if the last round's
    verifier accepts, or the workflow has none. Calls: 2.
    """
    previous = () if request.previous is None else request.previous.steps
    turns = tuple(step for step in previous if step.worker != SELECT)
    verifying = [at for at, step in enumerate(previous) if step.instruction == texts["verify"]]
    last = verifying[-1] if verifying else None
    if last is None:
        return None
    verdict = next((seen.response for seen in request.responses if seen.step == last), "")
    if _VERDICT.findall(verdict)[-1:] == ["ACCEPT"]:
        return None
    return _round(turns, (texts["work"], texts["verify"]), workers, sampling)


def _round(
    turns: tuple[Step, ...], roles: Sequence[str], workers: Sequence[str], sampling: Sampling
) -> Workflow:
    for role in roles:
        at = len(turns)
        own = Step(
            instruction=role, worker=workers[at % len(workers)], access=tuple(range(at)), sampling=sampling
        )
        turns = (*turns, own)
    # The verifier is the last, the worker the one before.
    solved = len(turns) - 2
    return Workflow.of([*turns, Step(instruction=RETURN, worker=SELECT, access=(solved,))])
