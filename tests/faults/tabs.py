"""Several tabs on one session, and a server that is started again in between: every revision is a person's.

    python -m tests.faults.tabs --rounds 100 --seed 1

A round opens two or three tabs on a new session; each edits at random, some edits meet others and stay
undecided, and the server is killed and started again with all tabs open. Then every change of every revision
in the store has to be one that a tab was made to make, each at most as often as it was made.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from playwright.sync_api import BrowserContext, Error, expect, sync_playwright

from conductor.workflow.model import Step, Workflow
from tests.faults.app import AppServer, WorkbenchPage, chromium

Change = tuple[str, int, object]
"""What was changed, the number of the step (from 0), and to what."""

_WORKERS = ("alpha", "beta", "gamma")
_POOL = "".join(f'[[worker]]\nname = "{name}"\nkind = "simulated"\n\n' for name in _WORKERS)
_STEPS = (
    Step(instruction="Find it.", worker="alpha"),
    Step(instruction="Look again.", worker="beta", access=(0,)),
    Step(instruction="Answer.", worker="gamma", access=(0, 1)),
)

_OPENING, _PATIENCE = 60_000, 8_000
"""Milliseconds for a tab to open, and for an edit in it; an edit that takes longer is given up."""


@dataclass
class Tabs:
    """One server, one browser, and what was found."""

    folder: Path
    rng: Random
    rounds: int = 0
    edits: int = 0
    lost: int = 0
    restarts: int = 0
    phantoms: list[str] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        pool = self.folder / "pool.toml"
        pool.write_text(_POOL, encoding="utf-8")
        self.server = AppServer(self.folder, settings={"CONDUCTOR_POOL": str(pool)})
        self.server.start()
        self._open.callback(self.server.kill)
        playwright = self._open.enter_context(sync_playwright())
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        self._open.callback(browser.close)
        self._context: BrowserContext = browser.new_context(viewport={"width": 1280, "height": 900})
        self._context.set_default_timeout(_PATIENCE)
        expect.set_options(timeout=_PATIENCE)

    def close(self) -> None:
        """End the browser and the server."""
        self._open.close()

    def round(self, *, edits: int = 6) -> None:
        """One session, two or three tabs, and so many edits, with a restart among them."""
        self.rounds += 1
        session = self.server.plant(*_STEPS, query=f"Round {self.rounds}?")
        desks = [WorkbenchPage(self._context.new_page()) for _ in range(self.rng.choice((2, 3)))]
        for desk in desks:
            desk.page.bring_to_front()
            desk.page.goto(f"{self.server.url}/?session={session}")
            desk.page.locator(".graph").first.wait_for(timeout=_OPENING)
            expect(desk.graph.cards).to_have_count(len(_STEPS))
            desk.graph.click(self.rng.randrange(len(_STEPS)))
        changes: Counter[Change] = Counter()
        restart_before = self.rng.randrange(1, edits)
        for number in range(edits):
            if number == restart_before:
                self._restart(desks)
            self._act(self.rng.choice(desks), changes)
            time.sleep(self.rng.choice((0.0, 0.1, 0.5, 1.5)))
        for desk in desks:
            desk.page.close()
        self.check(session, changes)

    def _restart(self, desks: list[WorkbenchPage]) -> None:
        self.restarts += 1
        self.server.kill()
        self.server.start()
        if self.rng.random() < 0.5:
            for desk in desks:
                desk.page.bring_to_front()
                self._tried(lambda desk=desk: expect(desk.button("New")).to_be_enabled())

    def _act(self, desk: WorkbenchPage, changes: Counter[Change]) -> None:
        act = self.rng.choice((self._worker, self._reword, self._reword, self._drag, self._see, self._decide))
        self.edits += 1
        # A browser draws no frames of a page that is not in front.
        desk.page.bring_to_front()
        self._tried(lambda: act(desk, changes))

    def _tried(self, act: Callable[[], object]) -> None:
        try:
            act()
        except (Error, AssertionError):
            self.lost += 1

    # -- what a person does ----------------------------------------------------------------------------

    def _worker(self, desk: WorkbenchPage, changes: Counter[Change]) -> None:
        step, worker = self.rng.randrange(len(_STEPS)), self.rng.choice(_WORKERS)
        desk.select(step)
        changes["worker", step, worker] += 1
        desk.choose("Worker", worker)

    def _reword(self, desk: WorkbenchPage, changes: Counter[Change]) -> None:
        step, text = self.rng.randrange(len(_STEPS)), f"Do {self.rng.getrandbits(32):08x}."
        desk.select(step)
        changes["instruction", step, text] += 1
        desk.field("Instruction").fill(text)
        desk.field("Instruction").press("Control+Enter")

    def _drag(self, desk: WorkbenchPage, changes: Counter[Change]) -> None:
        read, reader = self.rng.choice(((0, 1), (0, 2), (1, 2)))
        changes["gains", reader, read] += 1
        desk.graph.drag(read, reader)

    def _see(self, desk: WorkbenchPage, changes: Counter[Change]) -> None:
        """Take the last step that is seen out of the list."""
        step = self.rng.choice((1, 2))
        desk.select(step)
        seen = [int(edge.split("-")[0]) for edge in desk.graph.edges() if edge.endswith(f"-{step}")]
        if seen:
            changes["loses", step, max(seen)] += 1
            desk.field("Can see").press("Backspace")

    def _decide(self, desk: WorkbenchPage, _: Counter[Change]) -> None:
        """Decide about a conflict, where there is one; most stay as they are."""
        buttons = [desk.button(name) for name in ("Apply on top", "Discard mine")]
        choices = [button for button in buttons if button.count() and button.is_enabled()]
        if choices:
            self.rng.choice(choices).click()

    # -- what the store holds --------------------------------------------------------------------------

    def check(self, session: str, changes: Mapping[Change, int]) -> None:
        """Count the changes of a session that were not made."""
        with self.server.store() as store:
            revisions = {revision.id: revision for revision in store.revisions.of_session(session)}
        left = Counter(changes)
        for revision in revisions.values():
            if revision.parent is None:
                continue
            for change in _changes(revisions[revision.parent].workflow, revision.workflow):
                left[change] -= 1
                if left[change] < 0:
                    self.phantoms.append(f"round {self.rounds}, {session}: {revision.note!r} made {change}")


def _changes(old: Workflow, new: Workflow) -> Iterator[Change]:
    for at, (before, after) in enumerate(zip(old.steps, new.steps, strict=True)):
        if before.worker != after.worker:
            yield "worker", at, after.worker
        if before.instruction != after.instruction:
            yield "instruction", at, after.instruction
        yield from (("gains", at, read) for read in {*after.access} - {*before.access})
        yield from (("loses", at, read) for read in {*before.access} - {*after.access})


def main() -> int:
    """Carry the rounds out and print the losses; 1 if the store has a revision that no tab made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tabs = Tabs(Path(folder), Random(options.seed))
        try:
            for _ in range(options.rounds):
                tabs.round()
                print(
                    f"{tabs.rounds} rounds, {tabs.restarts} restarts, {tabs.edits} edits tried, "
                    f"{tabs.lost} given up, {len(tabs.phantoms)} phantoms",
                    flush=True,
                )
        finally:
            tabs.close()
    print("\n".join(tabs.phantoms))
    return 1 if tabs.phantoms else 0


if __name__ == "__main__":
    sys.exit(main())
