"""The app's pages as a person meets them: what can be clicked, typed and read, by its name on the screen.

Knows the browser; knows neither the server nor the store behind the page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import FilePayload, Locator, Page, expect

from conductor.workflow.model import Step
from tests.support.runs.waiting import until

THREE = (
    Step(instruction="Find what is asked.", worker="writer-8b"),
    Step(instruction="Look from another side.", worker="critic-7b"),
    Step(instruction="Give the result.", worker="planner-7b", access=(0,)),
)
"""A workflow for the workers of `paced_app`: the last step reads the first one."""

WRITTEN = """root => {
  const pen = CanvasRenderingContext2D.prototype, { fillText } = pen, { cards } = root.__fg;
  const written = cards.map(() => []);
  pen.fillText = function (text, x, y) {
    const size = parseFloat(this.font.match(/([\\d.]+)px/)[1]) * this.getTransform().a / devicePixelRatio;
    const on = cards.find(({ left, top, width, height }) =>
      x >= left && x <= left + width && y >= top && y <= top + height);
    if (text) written[on.step].push([text, size]);
    fillText.call(this, text, x, y);
  };
  root.__fg.view.network.redraw();
  pen.fillText = fillText;
  return written;
}"""
"""What is written on each card's canvas, and how high its letters are on the screen."""

FRAMES = """async () => {
  for (let frame = 0; frame < 4; frame++) await new Promise((drawn) => requestAnimationFrame(drawn));
}"""


class Graph:
    """One graph on a page, reached through its test hook."""

    def __init__(self, page: Page, index: int = 0) -> None:
        self.page, self.root = page, page.locator(".graph").nth(index)
        self.root.wait_for()
        self.wait("graph.view.box.right > 1").settle()

    def wait(self, condition: str, value: object = None) -> Graph:
        """Wait until a condition of `graph` and `value` holds, on the element that stands there by then.

        A page may replace a graph by that of another run, after which the one before never changes.
        """
        script = f"(root, value) => {{ const graph = root.__fg; return !!graph && ({condition}); }}"
        until(lambda: self.root.evaluate(script, value), what=condition)
        return self

    def settle(self) -> Graph:
        """Wait until it is drawn at its size of now: that is seen in one frame and measured in the next."""
        self.page.evaluate(FRAMES)
        return self

    def ask(self, expression: str) -> Any:
        return self.root.evaluate(f"root => root.__fg.{expression}")

    def center(self, step: int) -> tuple[float, float]:
        card = self.ask("positions()")[step]
        return card["x"], card["y"]

    def click(self, step: int) -> None:
        self.page.mouse.click(*self.center(step))

    def opener(self, step: int) -> tuple[float, float]:
        """Where to click a card's button that opens the workflow inside, once it is drawn."""
        return until(lambda: self.ask("openers()")[step], what=f"step {step + 1} can be opened")

    def click_edge(self, edge: str) -> None:
        points = self.ask("edgePositions()")[edge]
        self.page.mouse.click(*points[3])

    def start_drag(self, step: int) -> None:
        """Press on a card's port; on a page that is drawn again meanwhile, at where it is then."""
        until(lambda: self._press_port(step), seconds=20, what=f"the port of step {step + 1} is pressed")

    def _press_port(self, step: int) -> bool:
        self.page.mouse.move(*self.center(step))
        self.page.mouse.move(*self.ask("ports()")[step])
        if self.ask("hoverCard") != step:
            return False
        self.page.mouse.down()
        if self.ask("link?.from") == step:
            return True
        self.page.mouse.up()
        return False

    def drag(self, read: int, reader: int) -> None:
        self.start_drag(read)
        self.page.mouse.move(*self.center(reader), steps=4)
        self.page.mouse.up()

    def written(self) -> list[str]:
        """What each card shows on the canvas, its lines joined."""
        return [" ".join(text for text, _ in card) for card in self.root.evaluate(WRITTEN)]

    def smallest_letters(self) -> float:
        """Their font size in pixels on the screen."""
        return min(size for card in self.root.evaluate(WRITTEN) for _, size in card)

    def edges(self) -> list[str]:
        return self.ask("edges.map(edge => edge.id).sort()")

    @property
    def hint(self) -> Locator:
        return self.root.locator(".hint")

    @property
    def stage(self) -> Locator:
        return self.root.get_by_role("listbox")

    @property
    def cards(self) -> Locator:
        """The text of each card, as it is read aloud."""
        return self.stage.get_by_role("option")


class WorkbenchPage:
    """The workbench in one tab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def settled(self) -> WorkbenchPage:
        """Wait until the script has run and all of it is drawn."""
        self.page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        return self

    @property
    def session(self) -> str:
        """The open session's id, from the URL."""
        self.page.wait_for_url(re.compile("session="))
        return re.findall(r"[?&]session=([\w-]+)", self.page.url)[0]

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def keyed(self, key: str) -> Locator:
        """A widget's box, by its key."""
        return self.page.locator(f".st-key-{key}")

    def region(self, name: str) -> Locator:
        """A text of a model or a person, by its label."""
        return self.page.get_by_role("region", name=name, exact=True)

    def leave_fields(self) -> None:
        """Take the focus off whatever has it, so that keys are the page's."""
        self.page.evaluate("document.activeElement.blur()")

    # -- asking and running --------------------------------------------------------------------------

    @property
    def query(self) -> Locator:
        # That of the page before may stand beside it for a moment.
        return self.page.locator('.st-key-query[data-stale="false"]').get_by_role("textbox")

    def ask(self, query: str, *, run: bool = False) -> None:
        """Ask by keyboard; the choice whether it is run is made before."""
        self.query.wait_for()
        if (self.settings.inner_text().find("Runs at once") >= 0) != run:
            self.settings.click()
            way = self.page.get_by_role("radio", name="Plan and run" if run else "Plan", exact=True)
            way.click()
            expect(way).to_have_attribute("aria-checked", "true")
            self.page.keyboard.press("Escape")
            expect(way).to_have_count(0)
        self.query.fill(query)
        self.query.press("Enter")

    @property
    def title(self) -> Locator:
        """The open session's title, which begins as its question does."""
        return self.keyed("session-head")

    @property
    def settings(self) -> Locator:
        """The menu of the settings below the question."""
        return self.keyed("settings").get_by_role("button").first

    def rewrite(self) -> None:
        """Take the session's question into the box."""
        self.settings.click()
        self.button("Edit the question").click()

    def plan(self, query: str) -> Graph:
        """Ask by keyboard and wait for the new session's plan; until then a page may draw another graph."""
        before = self.page.url
        self.ask(query)
        self.page.wait_for_url(lambda url: "session=" in url and url != before)
        expect(self.keyed("stage-graph")).to_have_count(0)
        return self.settled().graph

    def upload(self, *files: Path | FilePayload) -> None:
        """Import a file of a workflow or of sessions."""
        self.page.get_by_role("button", name="Import", exact=True).click()
        self.page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(files)

    @property
    def graph(self) -> Graph:
        return Graph(self.page)

    def run(self) -> None:
        """Run, and take the pointer away: the help of a button that comes under it would cover others."""
        self.keyed("run").get_by_role("button").click()
        self.page.mouse.move(1, 1)

    def finished(self) -> WorkbenchPage:
        """Wait for the answer, and for the page to be drawn as one that can be edited again."""
        expect(self.answer).to_be_visible()
        expect(self.keyed("stop")).to_have_count(0)
        return self.settled()

    @property
    def answer(self) -> Locator:
        return self.region("Answer")

    @property
    def streams(self) -> Locator:
        """Texts that are being written in the centre of the page."""
        return self.page.locator('.text-block-body[aria-live="polite"]')

    # -- the bar, the tabs of what is read, the drawer -----------------------------------------------

    def share(self) -> WorkbenchPage:
        """Open what the session is given out with; it stays open after a press within it."""
        button = self.keyed("share").get_by_role("button", name="Share")
        # That of the page before may stand beside it for a moment.
        expect(button).to_have_count(1)
        if button.get_attribute("aria-expanded") != "true":
            button.click()
        return self

    def read(self, name: str) -> None:
        """Show the answer, the step or what is written just now."""
        self.page.get_by_role("tab", name=name).click()

    def drawer(self, name: str) -> None:
        """Open a view below the panes."""
        self.keyed("panel").get_by_role("radio", name=name).click()
        expect(self.keyed("drawer-body")).to_be_visible()

    # -- the inspector -------------------------------------------------------------------------------

    @property
    def inspector(self) -> Locator:
        return self.keyed("inspector")

    def part(self, name: str) -> Locator:
        """Show one part of the selected step: output, instruction, what it saw, reasoning."""
        self.inspector.get_by_role("tab", name=name, exact=True).click()
        return self.inspector.get_by_role("tabpanel", name=name, exact=True)

    def field(self, label: str) -> Locator:
        """A field as it is drawn now; one from before may stand beside it for a moment."""
        return self.inspector.locator('[data-stale="false"]').get_by_label(label, exact=True)

    def select(self, step: int) -> Locator:
        """Click a card; the inspector that shows it."""
        self.graph.click(step)
        expect(self.inspector.get_by_role("heading", name=f"{step + 1}. ")).to_be_visible()
        return self.inspector

    def choose(self, label: str, option: str) -> None:
        """Choose in one of the selected step's lists; other lists have options, too."""
        step = self.graph.ask("selected")
        expect(self.inspector.get_by_role("heading", name=f"{step + 1}. ")).to_be_visible()
        field = self.field(label)
        expect(field).to_be_enabled()
        field.click()
        expect(field).to_have_attribute("aria-expanded", "true")
        opened = self.page.locator(f'[id="{field.get_attribute("aria-controls")}"]')
        opened.get_by_role("option", name=option).click()
