"""Pictures of every view in every size and theme, to be looked at: `make screenshots`.

`make screenshots DOCS=1` takes those that README.md and docs/ show, into docs/. Asserts nothing; needs
Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# A script sees its own folder only.
sys.path.insert(1, str(Path(__file__).resolve().parents[2]))

from playwright.sync_api import Browser, Error, Locator, Page, expect, sync_playwright

from conductor.engine.experiments import Swap
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec
from conductor.orchestration.runtime import runtime_of
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import configured_pool
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.gallery import RECORDED, open_recorded
from studio.workbench import Workbench
from tests.browser.app_server import ROOT, AppServer
from tests.browser.browser_settings import BROWSERS, QUIET
from tests.browser.moving_picture import MovingPicture
from tests.browser.workbench_page import WorkbenchPage
from tests.support.stores.recorded_page import FILE, recorded_page

SIZES = {"laptop": (1440, 900), "screen": (1920, 1080), "tablet": (1024, 768), "phone": (420, 900)}
THEMES = ("light", "dark")
DRAWER = ("Timeline", "Check", "Trials", "Plans", "History")
LONG = (Path(__file__).with_name("long_answer.md")).read_text(encoding="utf-8")

WORKERS = {
    "scout": "Porto in May: 20 °C, **8 days of rain**. Museums are open on Mondays; two nights cost $210.",
    "researcher": "Lisbon in May: 22 °C, **5 days of rain**. Museums close on Mondays; two nights cost $280.",
    "analyst": """| | Lisbon | Porto |
|---|---|---|
| Warmest hour | 22 °C | 20 °C |
| Days of rain | 5 | 8 |
| Two nights | $280 | **$210** |

Lisbon is warmer and drier; Porto is a quarter cheaper and easier on foot.""",
    "critic": """Two things are missing:

1. Nobody compared the flights.
2. Mondays count against Lisbon only if you stay that long.""",
    "editor": """## Go to Lisbon

It is warmer and drier in May. **Arrive on a Thursday**, because its museums close on Mondays.

| | Lisbon | Porto |
|---|---|---|
| Days of rain | 5 | 8 |
| Two nights | $280 | $210 |

If the budget is tight, Porto costs a quarter less: $280 - 210 = 70$ dollars.
Then bring a raincoat.

```python
saved = 280 - 210
print(f"{saved / 280:.0%} less")
```
""",
    "writer": LONG,
    "summarizer": "Go to **Lisbon** in May: it is warmer and drier than Porto, for $70 more.",
}
"""The workers of the pool, and what each answers."""

QUERIES = {
    1: "Which city in May?",
    12: "Where shall the team meet in May?",
    30: "Where shall the new office be?",
    5: "Lisbon or Porto for a weekend in May?",
}

RECORDERS = ("facts-8b", "views-8b", "critic-32b", "editor-70b")
"""The workers of the recorded session."""

PLANS = (
    Step(instruction="Lisbon: gather weather, opening hours and prices for a weekend.", worker="researcher"),
    Step(instruction="Porto: gather weather, opening hours and prices for a weekend.", worker="scout"),
    Step(
        instruction="Weigh the two cities against each other, point by point.",
        worker="analyst",
        access=(0, 1),
    ),
    Step(instruction="Look for what the comparison got wrong or left out.", worker="critic", access=(1, 2)),
    Step(instruction="Give one clear recommendation with its reasons.", worker="editor", access=(0, 2, 3)),
)


@dataclass(frozen=True)
class Sessions:
    """Of each number of steps one that has run, of each theme one to edit; the others by their use."""

    ran: dict[int, str]
    long: str
    waiting: str
    unedited: dict[str, str]
    recorded: str
    runs: tuple[str, str]
    evaluation: str


def pool_file(pace: int | None = None) -> str:
    """The pool: the workers answer at once, or with as many tokens a second."""
    pace = f"tokens_per_second = {pace}\nlatency = 0.3\n" if pace else ""
    return "\n".join(
        f"[[worker]]\nname = '{name}'\nkind = 'simulated'\n{pace}"
        f"answer = {json.dumps(answer, ensure_ascii=False)}\n"
        for name, answer in [*WORKERS.items(), *((name, "Ready.") for name in RECORDERS)]
    )


def mixed(steps: int) -> Workflow:
    """Three chains side by side that an editor joins."""
    names = ("Gather what is known about", "Check the figures on", "Weigh what speaks against", "Sum up")
    topics = ("rents", "trains", "the weather")
    return Workflow.of(
        Step(
            instruction="Give one clear recommendation with its reasons."
            if at == steps - 1
            else f"{names[at // 3 % 4]} {topics[at % 3]}, and say what the next one needs to know.",
            worker="editor" if at == steps - 1 else ("researcher", "scout", "analyst", "critic")[at % 4],
            access=range(max(0, at - 3), at) if at == steps - 1 else [at - 3] if at >= 3 else [],
        )
        for at in range(steps)
    )


def planted(folder: Path, database: str) -> Sessions:
    """What there is to see."""
    pool = configured_pool(folder / "pool.toml")
    bench = Workbench.over(SessionStore.open(database), pool=pool, conductor=OfflineConductor())
    workflows = {
        1: Workflow.of([Step(instruction="Give one clear recommendation.", worker="editor")]),
        12: mixed(12),
        30: mixed(30),
        5: Workflow.of(PLANS),
    }

    def ran(query: str, workflow: Workflow) -> str:
        session = bench.ask(query).id
        bench.editing.edit(session, workflow, note="Written by hand")
        bench.running.start(session).done.wait(60)
        return session

    try:
        waiting = bench.ask("Where shall we go next?").id
        bench.editing.edit(waiting, workflows[5], note="Written by hand")
        long = ran("Which store for append-only events?", workflows[5].with_worker(4, "writer"))
        sessions = {steps: ran(QUERIES[steps], flow) for steps, flow in workflows.items()}
        session = sessions[5]
        edited = (
            workflows[5]
            .with_worker(3, "analyst")
            .with_instruction(4, "Give one clear recommendation for somebody who dislikes rain.")
            .with_access(4, (2, 3))
        )
        bench.editing.edit(session, edited, note="Asked for somebody who dislikes rain")
        bench.running.start(session).done.wait(60)
        swap = bench.experiments.begin(session, Swap(step=2, workers=("critic", "editor")))
        if swap.work is not None:
            swap.work.result(60)
        second, first = (run.id for run in bench.store.runs.of_session(session))
        recorded = open_recorded(bench.store, RECORDED[0]).id
        unedited = {theme: ran(QUERIES[5], workflows[5]) for theme in THEMES}
        return Sessions(sessions, long, waiting, unedited, recorded, (first, second), evaluated(bench))
    finally:
        bench.close()


def evaluated(bench: Workbench) -> str:
    """The first questions of the demo, answered by its planners."""
    demo = SHIPPED["demo"]
    evaluations = Evaluations(bench.on(lambda: runtime_of(configured_pool(Path("orchard")))))
    spec = EvaluationSpec(data="", digest="", planners=(CONDUCTOR,))
    evaluation = evaluations.add(demo.read(limit=120), demo.planners or (CONDUCTOR,), spec).id
    evaluations.run(evaluation)
    return evaluation


class Camera:
    """Takes pictures of one page in one size and theme."""

    def __init__(self, page: Page, url: str, folder: Path, mark: str) -> None:
        page.set_default_timeout(10_000)
        self.page, self.desk = page, WorkbenchPage(page)
        self._url, self._folder, self._mark = url, folder, mark

    def open(self, path: str) -> None:
        """Go there, and wait until it is drawn."""
        self.page.goto(f"{self._url}{path}")
        self.page.locator(".stMainBlockContainer").wait_for()
        self.page.wait_for_timeout(300)
        self.settle()

    def settle(self) -> None:
        """Wait until the page is drawn."""
        self.desk.settled()
        expect(self.page.get_by_test_id("stSkeleton")).to_have_count(0)
        self.page.wait_for_timeout(700)

    def take(self, name: str, part: str | None = None) -> None:
        """Keep what is seen just now, of the whole page or a part, as `name`."""
        path = self._folder / f"{name}-{self._mark}.png"
        if part is None:
            self.page.screenshot(path=path)
        else:
            self.page.locator(part).first.screenshot(path=path)

    def step(self, key: str) -> None:
        """Select the first step ("Home") or the last one ("End")."""
        self.page.locator(".graph").get_by_role("listbox").first.press(key)
        self.settle()


def workbench_views(camera: Camera, sessions: Sessions) -> Iterator[tuple[str, Callable[[], None]]]:
    """What is done for each picture, in turn."""
    desk, page = camera.desk, camera.page

    def drawer(panel: str) -> None:
        # On a phone the step lies over the drawer.
        desk.read("Answer")
        desk.drawer(panel)
        camera.settle()

    for steps, session in sessions.ran.items():
        yield f"{steps:02}-answer", lambda session=session: camera.open(f"/?session={session}")
        yield f"{steps:02}-step", lambda: camera.step("End")
        if steps != 5:
            yield f"{steps:02}-timeline", lambda: drawer("Timeline")
            continue
        yield "05-saw", lambda: (desk.part("Saw"), camera.settle())
        yield "05-instruction", lambda: (desk.part("Instruction"), camera.settle())
        for panel in DRAWER:
            yield f"05-{panel.lower()}", lambda panel=panel: drawer(panel)
        yield "05-share", lambda: (desk.share(), camera.settle())
    yield "long-answer", lambda: camera.open(f"/?session={sessions.long}")
    yield "waiting", lambda: camera.open(f"/?session={sessions.waiting}")

    def live() -> None:
        camera.open(f"/?session={sessions.waiting}")
        desk.run()
        expect(page.locator(".st-key-stop")).to_be_visible()
        page.wait_for_timeout(4000)

    yield "live", live
    yield "stopped", lambda: (desk.keyed("stop").get_by_role("button").click(), page.wait_for_timeout(2000))


def page_views(camera: Camera, sessions: Sessions) -> Iterator[tuple[str, Callable[[], None]]]:
    """The welcome page and the other pages."""
    page = camera.page
    first, second = sessions.runs
    yield "welcome", lambda: camera.open("/")
    yield "welcome-end", page.locator(".st-key-own-models").scroll_into_view_if_needed
    yield "gallery", lambda: (page.get_by_role("button", name="Research report").click(), camera.settle())
    yield "shortcuts", lambda: (camera.open("/"), page.keyboard.press("?"))
    yield "compare", lambda: camera.open(f"/compare?left={first}&right={second}")
    yield "compare-steps", lambda: page.mouse.wheel(0, 700)
    yield "sessions", lambda: camera.open("/sessions")
    yield "usage", lambda: camera.open("/usage")
    yield "evaluations", lambda: camera.open("/evaluation")
    yield "evaluation", lambda: camera.open(f"/evaluation?evaluation={sessions.evaluation}")
    for part in ("accuracy-chart", "questions"):
        yield f"evaluation-{part}", page.locator(f".st-key-{part}").scroll_into_view_if_needed
    yield (
        "evaluation-new",
        lambda: (
            camera.open("/evaluation?new=yes"),
            page.get_by_role("radio", name="Demo", exact=True).click(),
            camera.settle(),
        ),
    )
    yield "learning", lambda: camera.open("/learning")
    yield "pool", lambda: camera.open("/pool")


def documented(camera: Camera, sessions: Sessions) -> None:
    """The pictures of the documentation, each of the part of the page that it is about."""
    desk, page = camera.desk, camera.page
    first, second = sessions.runs
    camera.open(f"/?session={sessions.recorded}")
    camera.take("workbench")
    desk.drawer("Timeline")
    page.evaluate("document.documentElement.style.setProperty('--drawer-room', '23rem')")
    camera.settle()
    camera.take("tour-timeline", ".st-key-drawer")
    camera.open(f"/?session={sessions.ran[5]}")
    page.set_viewport_size({"width": 1440, "height": 1000})
    camera.step("End")
    desk.part("Saw")
    camera.settle()
    camera.take("tour-saw", ".st-key-read-pane")
    page.set_viewport_size({"width": 1440, "height": 1400})
    desk.drawer("Trials")
    page.evaluate("document.documentElement.style.setProperty('--drawer-room', '75vh')")
    camera.settle()
    camera.take(
        "tour-trials", '[class*="st-key-experiment-"]:not(.st-key-experiment-kind, .st-key-experiment-begin)'
    )
    # So narrow that the sidebar is closed.
    page.set_viewport_size({"width": 1100, "height": 1250})
    camera.open(f"/compare?left=run:{first}&right=run:{second}")
    camera.take("tour-compare")
    page.set_viewport_size({"width": 1440, "height": 1470})
    camera.open(f"/evaluation?evaluation={sessions.evaluation}")
    camera.take("evaluation")


def edit_and_rerun(page: Page, url: str, session: str, path: Path) -> None:
    """Film how two steps of a workflow that has run are edited, and how a rerun calls these two alone."""
    desk, film = WorkbenchPage(page), MovingPicture(page)

    def press(button: Locator) -> None:
        box = button.bounding_box()
        assert box is not None
        film.point(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        button.click()

    page.goto(f"{url}/?session={session}")
    desk.finished()
    page.wait_for_timeout(1500)
    film.watch(5)
    film.point(*desk.graph.center(3))
    desk.select(3)
    press(desk.inspector.get_by_role("tab", name="Instruction", exact=True))
    field = desk.field("Instruction")
    field.fill("")
    for words in ("Name the two", " things that", " are missing."):
        field.press_sequentially(words)
        film.watch()
    field.press("Control+Enter")
    desk.settled()
    film.watch(3)
    film.point(*desk.graph.center(4))
    desk.select(4)
    desk.part("Instruction")
    desk.choose("Worker", "summarizer")
    desk.settled()
    film.watch(6)
    press(desk.keyed("run").get_by_role("button"))
    expect(desk.keyed("stop")).to_be_visible()
    while desk.keyed("stop").count():
        film.watch()
    desk.settled()
    film.watch(4)
    film.save(path)


@contextmanager
def app(pace: int | None, live: int) -> Iterator[tuple[AppServer, Sessions]]:
    """The app with these sessions, whose runs went at this pace; new ones write `live` tokens a second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pool = folder / "pool.toml"
        pool.write_text(pool_file(pace), encoding="utf-8")
        sessions = planted(folder, f"sqlite:///{folder / 'conductor.db'}")
        pool.write_text(pool_file(live), encoding="utf-8")
        with AppServer(folder, settings={"CONDUCTOR_POOL": str(pool)}) as server:
            yield server, sessions


def take_documented(
    browser: Browser, server: AppServer, sessions: Sessions, options: argparse.Namespace
) -> None:
    """The pictures of the documentation, in both themes, and the run in one file."""
    ((options.to or ROOT / "docs") / FILE.name).write_text(recorded_page(), encoding="utf-8")
    for theme in options.themes:
        context = browser.new_context(
            viewport={"width": 1440, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        folder = options.to or ROOT / "docs"
        documented(Camera(context.new_page(), server.url, folder, theme), sessions)
        context.close()
        context = browser.new_context(
            viewport={"width": 1100, "height": 700}, color_scheme=theme, reduced_motion="reduce"
        )
        film = folder / f"edit-and-rerun-{theme}.webp"
        edit_and_rerun(context.new_page(), server.url, sessions.unedited[theme], film)
        context.close()


def take(browser: Browser, server: AppServer, sessions: Sessions, options: argparse.Namespace) -> None:
    """All pictures, or those asked for."""
    folder = options.to or ROOT / "test-artifacts" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    for size in options.sizes:
        width, height = SIZES[size]
        for theme in options.themes:
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=theme,
                reduced_motion="reduce",
                has_touch=size == "phone",
            )
            camera = Camera(context.new_page(), server.url, folder, f"{size}-{theme}")
            for views in (page_views, workbench_views):
                for name, act in views(camera, sessions):
                    try:
                        act()
                        if any(name.startswith(only) for only in options.only):
                            camera.take(name)
                    except (Error, AssertionError) as error:
                        print(f"{name} in {size}, {theme}: {str(error).splitlines()[0]}", file=sys.stderr)
            context.close()


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="take the documentation's pictures")
    parser.add_argument("--to", type=Path, help="the folder, else docs/ or test-artifacts/screenshots/")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--themes", nargs="+", choices=THEMES, default=list(THEMES))
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of the pictures' names")
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        raise SystemExit("This needs Chromium; install it, and put it on PATH.")
    pace, live = (60, 6) if options.docs else (None, 14)
    with app(pace, live) as (server, sessions), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        expect.set_options(timeout=10_000)
        (take_documented if options.docs else take)(browser, server, sessions, options)
        browser.close()


if __name__ == "__main__":
    main()
