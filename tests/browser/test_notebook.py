"""What a notebook draws, in a real browser: each text stands in its box, on light and dark pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from conductor import Step, Workflow, plan_diff
from tests.support.processes.notebook import Cell, cells_of

pytestmark = pytest.mark.browser

NOTEBOOK = Path(__file__).parents[2] / "examples" / "edit_and_rerun.ipynb"
OUTSIDE = """() => [...document.querySelectorAll("svg svg")].flatMap((box) => {
  const texts = [...box.querySelectorAll("text")];
  const lines = texts.map((text) => text.getBBox());
  const over = (one, other) => one.x < other.x + other.width && other.x < one.x + one.width
    && one.y + 3 < other.y + other.height && other.y + 3 < one.y + one.height;
  return texts.filter((text, i) => lines[i].x < 4 || lines[i].x + lines[i].width > box.width.baseVal.value - 4
    || lines[i].y + lines[i].height > box.height.baseVal.value
    || lines.some((line, j) => j > i && over(lines[i], line))).map((text) => text.textContent);
})"""
"""The texts that run out of their box or over another one."""


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    return cells_of(NOTEBOOK, tmp_path_factory.mktemp("notebook"))


def long_texts(count: int) -> Workflow:
    """Steps of long words and names, each reads the two before it."""
    return Workflow.of(
        Step(
            instruction=("Measure ALL of it in MWh. " if at % 2 else "Überprüfungsverfahren") * 9,
            worker="organisation/model-with-a-long-name:latest" if at % 3 else "m",
            access=tuple(range(max(0, at - 2), at)),
        )
        for at in range(count)
    )


@pytest.mark.parametrize(("ground", "letters"), [("#fff", "#000"), ("#111", "#ddd")])
def test_every_text_of_the_notebook_s_pictures_stands_in_its_box(
    browser: Browser, cells: list[Cell], ground: str, letters: str
) -> None:
    edited = long_texts(6).with_worker(5, "n").remove_step(2)
    pictures = [
        *(cell.html for cell in cells),
        *(display for cell in cells for display in cell.displays),
        *(value._repr_html_() for value in (long_texts(4), long_texts(30), plan_diff(long_texts(6), edited))),
    ]
    page = browser.new_page(viewport={"width": 900, "height": 900})
    style = f"background: {ground}; color: {letters}; font: 14px sans-serif"
    page.set_content(f'<body style="{style}">{"".join(pictures)}')
    assert page.locator("body > svg, div > svg").count() > 20
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 900
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_in_a_file_of_its_own_is_as_light_or_dark_as_the_screen(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    file = tmp_path / "workflow.svg"
    file.write_text(long_texts(3).svg(), encoding="utf-8")
    page = browser.new_page(color_scheme=scheme)
    page.goto(file.as_uri())
    look = page.evaluate("""() => {
      const style = getComputedStyle(document.documentElement);
      return [style.backgroundColor, getComputedStyle(document.querySelector("text")).fill];
    }""")
    brightness = [sum(int(part) for part in colour[4:-1].split(",")) for colour in look]
    assert (brightness[0] > brightness[1]) == (scheme == "light")
    page.close()
