"""`baseline:chain`: each worker improves the answer of the one before."""

from conductor import Step, Workflow
from conductor.baselines.methods import Entry
from conductor.baselines.options import Options, chosen_proposers
from conductor.planner.conductor import PlanRequest


def _chain(request: PlanRequest, options: Options) -> Workflow:
    names = chosen_proposers(request, options)[: request.max_steps]
    return Workflow.of(
        Step(
            instruction="Improve the answer." if at else "Answer the question.",
            worker=name,
            access=(at - 1,) if at else (),
        )
        for at, name in enumerate(names)
    )


CHAIN = Entry("Chain", "Each worker improves the answer of the one before.", _chain, takes=("workers",))
