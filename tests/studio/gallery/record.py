"""Records the gallery's sessions: `PYTHONPATH=. python tests/studio/gallery/record.py [NAME]`, from the root.

In it, simulated workers answer with texts that were written by hand, at the pace of models; it is labelled so
wherever it is shown.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

from conductor.planner.rule_planner import OfflineConductor
from conductor.values.messages import Completion, Delta, Request, Retried, Sampling
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.gallery import RECORDED
from studio.gallery.recorded import _FILES
from studio.session_file import write_sessions
from studio.workbench import Workbench

TITLES = {recorded.name: recorded.title for recorded in RECORDED}

PAUSE = 0.7
"""Seconds before a broken answer is asked for again."""

QUESTION = "Should a town of 20,000 people make its buses free?"

FACTS = """\
- **Certain:** fares pay only a part of what a small town's buses cost; the budget pays the rest.
- **Certain:** free buses need no ticket machines, no sales and no inspectors, and stops become shorter.
- **Uncertain:** how many more people would ride; reports agree on *more*, not on *how many more*."""

POSITIONS = """\
| Position | Strongest argument |
| --- | --- |
| Free for all | What everyone pays for, everyone uses |
| Cheap, not free | What costs something is cared for |
| Better first | People stay away because no bus comes |"""

DOUBTS = """\
1. With one bus an hour the fare is not what stops people.
2. The lost fares must come from somewhere, **each year**.
3. Full buses at eight need another bus and another driver."""

COMPARISON = """\
- *Free for all* has the facts on its side: no machines, no inspectors, shorter stops.
- *Better first* has them, too: no report says that price alone fills a bus.
- *Cheap, not free* rests on no fact that was found."""

RECOMMENDATION = """\
# Free buses for a town of 20,000?

**Try it on two lines for a year, and count.** Free buses bring more riders; nobody can say how many. In a \
small town the timetable decides more than the fare.

| Way | Cost | Riders |
| --- | --- | --- |
| Free for all | most | more, soon |
| Better buses first | most at first | more, slowly |
| On two lines | little | known in a year |

The fares are lost **each year**, so count before the council decides: riders by line and hour, and what the \
fares bring after the cost of collecting them."""

STEPS = (
    Step(
        instruction="Collect the facts: what is certain, what is uncertain. At most three points.",
        worker="facts-8b",
    ),
    Step(
        instruction="List the positions that people take, with the strongest argument for each.",
        worker="views-8b",
    ),
    Step(
        instruction="Name three doubts about free buses.",
        worker="critic-32b",
    ),
    Step(
        instruction="Compare the positions with the facts. Which of them do the facts support?",
        worker="critic-32b",
        access=(0, 1),
    ),
    Step(
        instruction="Which way should the town choose? Recommend one and say why, in a few sentences.",
        worker="editor-70b",
        access=(2, 3),
        sampling=Sampling(max_tokens=160),
    ),
)


def doubt_or_compare(request: Request) -> str:
    """The critic's answer: to the comparison's instruction, else to that of the doubts."""
    return COMPARISON if "Compare" in request.instruction else DOUBTS


class Breaking(SimulatedWorker):
    """Breaks off its first answer after some words, and gives it again, as a real connection may."""

    broke = False

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion | Retried]:  # type: ignore[override]
        if not self.broke:
            self.broke = True
            text = ""
            async with aclosing(super().stream(request)) as items:
                async for item in items:
                    if isinstance(item, Completion) or len(text) > 60:
                        break
                    text += item.text
                    yield item
            message = f"{self.name}: the connection broke after {len(text)} characters."
            yield Retried(attempt=1, message=message, seconds=PAUSE, withdrawn=len(text))
            await asyncio.sleep(PAUSE)
        async for item in super().stream(request):
            yield item


def main() -> None:
    """Write all files, or those that the command line names."""
    recorders: dict[str, Callable[[Path], None]] = {
        "report": report,
    }
    for name in sys.argv[1:] or recorders:
        with tempfile.TemporaryDirectory() as folder:
            recorders[name](Path(folder))


def report(folder: Path) -> None:
    """Five steps about a question of a town, answered by simulated workers."""
    bench = opened(
        folder,
        Pool(
            workers=(
                SimulatedWorker("facts-8b", latency=0.5, tokens_per_second=32, answer=FACTS),
                Breaking("views-8b", latency=0.4, tokens_per_second=42, answer=POSITIONS),
                SimulatedWorker("critic-32b", latency=0.7, tokens_per_second=25, answer=doubt_or_compare),
                SimulatedWorker("editor-70b", latency=0.8, tokens_per_second=40, answer=RECOMMENDATION),
            )
        ),
    )
    session = bench.store.revisions.import_workflow(
        QUESTION, Workflow.of(STEPS), pool_label=bench.pool.label, note="Written by hand for a recording"
    ).id
    finish(bench, session, "report")


def opened(folder: Path, pool: Pool) -> Workbench:
    """A workbench with a store of its own."""
    store = SessionStore.open(f"sqlite:///{folder / 'conductor.db'}")
    return Workbench.over(store, pool=pool, conductor=OfflineConductor())


def finish(bench: Workbench, session: str, name: str) -> None:
    """Run it and write its file."""
    run = bench.running.start(session).run
    bench.activities.wait(session)
    state = bench.state(bench.store.runs.find(run))
    assert state.status == "finished", state.status
    assert state.answered, state.answer
    bench.store.sessions.rename(session, TITLES[name])
    with (_FILES / f"{name}.jsonl").open("wb") as file:
        file.writelines(write_sessions(bench.store, [session]))
    bench.close()


if __name__ == "__main__":
    main()
