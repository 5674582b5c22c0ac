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
from conductor.values.messages import Completion, Delta, Request, Retried
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.gallery import RECORDED, entry_of
from studio.gallery.recorded import _FILES
from studio.session_file import write_sessions
from studio.workbench import Workbench

TITLES = {recorded.name: recorded.title for recorded in RECORDED}

PAUSE = 1.0
"""Seconds before a broken answer is asked for again."""

QUESTION = "Should a town of 20,000 people make its buses free? Write a report of one page."

FACTS = """\
- **Certain:** fares pay only a part of what a small town's buses cost; the rest comes from the budget. How \
large the part is stands in the town's accounts.
- **Certain:** free buses need no ticket machines, no sales and no inspectors, and stops become shorter.
- **Uncertain:** how many more people would ride: reports agree on *more*, not on *how many more*.
- **Uncertain:** how many of the new riders would have driven; many would have walked or cycled."""

POSITIONS = """\
| Position | Strongest argument | Who holds it |
| --- | --- | --- |
| Free for all | A service that is paid together is used together | Riders, climate groups |
| Cheap, not free | What costs something is cared for | Operators |
| Better first, free later | People stay away because no bus comes, not because of the fare | Planners |
| Free for some | Help those who need it, with the same money | Social services |"""

DOUBTS = """\
1. With one bus an hour the fare is not what keeps people away.
2. The fares that are lost must come from somewhere, **each year**; a grant for two years is no plan.
3. Full buses at eight in the morning cost another bus and another driver.
4. To be looked up: riders by line and hour, what the fares bring, what the machines and inspectors cost."""

REPORT = """\
# Free buses for a town of 20,000?

Free buses bring more riders; how many, nobody can say beforehand. In a small town the timetable decides \
more than the fare. The town should try it on two lines for a year, and count.

## What speaks for it

- No tickets, machines or inspectors; shorter stops.
- It helps most those who have the least.

## What speaks against it

- The fares are lost **each year**: `lost fares - saved costs = what the budget must add`.
- With one bus an hour, few will come for the price alone.

## Three ways

| Way | Costs the town | Riders |
| --- | --- | --- |
| Free for all | most | more, soon |
| Free for some | less | a few more |
| More buses first | most at first | more, slowly |

## What is uncertain

How many new riders would have driven. Before the council decides, it needs the riders by line and hour, and \
what the fares bring after the costs of collecting them."""


class Breaking(SimulatedWorker):
    """Breaks off its first answer after some words, and gives it again, as a real connection may."""

    broke = False

    async def stream(self, request: Request) -> AsyncIterator[Delta | Completion | Retried]:  # type: ignore[override]
        if not self.broke:
            self.broke = True
            text = ""
            async with aclosing(super().stream(request)) as items:
                async for item in items:
                    if isinstance(item, Completion) or len(text) > 120:
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
    """The gallery's report, answered by simulated workers."""
    bench = opened(
        folder,
        Pool(
            workers=(
                SimulatedWorker("facts-8b", latency=0.9, tokens_per_second=22, answer=FACTS),
                Breaking("views-8b", latency=0.6, tokens_per_second=26, answer=POSITIONS),
                SimulatedWorker("doubts-8b", latency=1.2, tokens_per_second=18, answer=DOUBTS),
                SimulatedWorker("editor-70b", latency=1.5, tokens_per_second=24, answer=REPORT),
            )
        ),
    )
    session = bench.editing.open_gallery(entry_of("research-report"), QUESTION).id
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
