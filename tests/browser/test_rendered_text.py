"""Texts of models in a real browser: rendered as they should be, and harmless whatever they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pages.components.streamlit_patches.modules import joined
from pages.components.widgets import text_block
from pages.components.widgets.text_block import HTML, Stretch
from tests.browser.app_server import AppServer
from tests.browser.browser_settings import Visit
from tests.browser.contrast import assert_readable
from tests.support.cases.hostile_markdown import LASTS, RUNS
from tests.support.cases.large_texts import LARGE
from tests.support.runs.waiting import until

pytestmark = pytest.mark.browser

TAGS = """p h3 h4 h5 h6 ul ol li blockquote pre code hr table thead tbody tr th td em strong s a br span div
    button""".split()

FIND_UNSAFE = """tags => {
  const wrong = ({ name }) => name.startsWith("on") || ["style", "src", "srcdoc"].includes(name);
  const safe = ["http:", "https:", "mailto:"];
  const outside = ({ localName, protocol }) => localName === "a" && !safe.includes(protocol);
  return [...document.querySelectorAll("*")]
    .flatMap((node) => [...node.shadowRoot?.querySelectorAll(".markdown *:not(.katex *, .katex)") ?? []])
    .filter((node) => !tags.includes(node.localName) || [...node.attributes].some(wrong) || outside(node))
    .map((node) => node.outerHTML.slice(0, 200));
}"""
"""What the browser has made of the texts that should not be there."""


@pytest.fixture(scope="module")
def rendered_demo(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    quiet = {  # as in .streamlit/config.toml
        "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
        "STREAMLIT_SERVER_FILE_WATCHER_TYPE": "none",
        "STREAMLIT_GLOBAL_MAX_CACHED_MESSAGE_AGE": "20",
    }
    folder = tmp_path_factory.mktemp("rendered")
    with AppServer(folder, script="tests/browser/rendered_app.py", settings=quiet) as server:
        yield server


def test_an_answer_is_rendered_and_its_source_is_one_click_away(
    browser: Browser, visit: Visit, rendered_demo: AppServer
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit(rendered_demo, "/?text=long", inside=context)
    body = page.get_by_role("region", name="Answer", exact=True)
    expect(body.locator(".katex-display")).to_have_count(2)
    expect(body.locator("table tbody tr")).to_have_count(4)
    expect(body.get_by_role("heading", name="What was measured")).to_be_visible()
    expect(body.get_by_role("img", name="done")).to_have_count(2)
    expect(body.locator("math").first).to_be_attached()
    assert body.locator(".formula.unread").all_inner_texts() == ["\\frac{1}{"]
    link = body.get_by_role("link", name="the documentation")
    expect(link).to_contain_text("www.sqlite.org")
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noopener noreferrer")
    assert body.locator("ul[dir=rtl]").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280

    copied = "navigator.clipboard.readText()"
    body.get_by_role("button", name="Copy this code").last.click()
    expect(body.get_by_role("button", name="Copy this code").last).to_have_text("Copied")
    assert page.evaluate(copied) == 'conductor run "What is 17 * 23?"   # two spaces\n'
    source = Path(__file__).with_name("long_answer.md").read_text(encoding="utf-8")
    page.get_by_role("button", name="Copy answer").click()
    expect(page.get_by_role("button", name="Copy answer")).to_have_text("Copied")
    assert page.evaluate(copied) == source

    source_view = page.get_by_role("button", name="Source of answer")
    source_view.press("Enter")
    expect(source_view).to_have_attribute("aria-pressed", "true")
    expect(body).to_contain_text("# Choosing a store for append-only events")
    assert body.text_content() == source
    page.reload()
    expect(body).to_contain_text("| SQLite, WAL | 48,200 |")
    source_view.click()
    expect(body.get_by_role("heading", name="The code")).to_be_visible()
    context.close()


@pytest.mark.parametrize("name", ["words", "unbroken", "letters", "code", "sums"])
def test_of_a_long_text_the_beginning_is_on_the_page_and_the_rest_one_click_away(
    browser: Browser, visit: Visit, rendered_demo: AppServer, name: str
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page = visit(rendered_demo, "/?text=large", inside=context)
    for label, text in ((name, LARGE[name]), (f"{name} as sent", f"The query{LARGE[name]}")):
        body = page.get_by_role("region", name=label, exact=True)
        line = page.locator(".text-rest", has=page.get_by_label(f"Show all: {label}", exact=True))
        length, _, every, _ = line.locator(".text-rest-count").inner_text().split()
        beginning = body.text_content() or ""
        assert every == f"{len(text):,}"
        if not body.locator(".formula").count():  # drawn, one has more letters
            assert int(length.replace(",", "")) == len(beginning)
            assert 19_000 < len(beginning.encode("utf-16-le")) / 2 <= 20_000
        assert name != "letters" or beginning.endswith("\N{ROCKET}")
        assert name != "code" or body.get_by_role("button", name="Copy this code").count() == 0
        with page.expect_download() as saved:
            line.get_by_role("button", name="Download").click()
        assert Path(saved.value.path()).read_text(encoding="utf-8") == text
        line.get_by_role("button", name="Show all").click()
        expect(line).to_be_hidden()
        expect(body).to_contain_text(text.rstrip()[-8:])
        assert (body.text_content() or "").rstrip().endswith(text.rstrip()[-8:])
    context.close()


def test_a_hostile_text_runs_nothing_loads_nothing_and_stays_text(
    visit: Visit, rendered_demo: AppServer, complaints: list[str]
) -> None:
    page = visit(rendered_demo, "/?text=hostile")
    expect(page.locator(".rendered")).to_have_count(len(RUNS))
    expect(page.locator(".formula.unread").first).to_be_visible()
    expect(page.locator(".formula:not([data-drawn])")).to_have_count(0)
    assert page.evaluate(FIND_UNSAFE, TAGS) == []
    assert page.locator(".katex a, .katex img, .katex [onclick]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    for name in ("script", "frame", "svg", "form"):
        expect(page.get_by_role("region", name=name, exact=True)).to_contain_text(
            "alert(1)" if name != "form" else "<form"
        )
    expect(page.get_by_role("region", name="deceiving links").get_by_role("link").first).to_contain_text(
        "evil.example"
    )
    # `visit` looks at what was asked of other hosts, written to the console, and put up as a dialog.
    urls = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    # Chromium with a window loads the page's own icon, the headless shell does not.
    icons = page.evaluate("[...document.querySelectorAll('link[rel~=icon]')].map(({ href }) => href)")
    assert [url for url in urls if url not in icons and not re.search("/static/|/_stcore/", url)] == []
    assert complaints == []


@pytest.mark.parametrize("name", LASTS)
def test_a_page_with_a_text_that_would_last_still_answers(
    visit: Visit, rendered_demo: AppServer, name: str
) -> None:
    page = visit(rendered_demo, f"/?text={name.replace(' ', '+')}")
    expect(page.get_by_role("region", name=name, exact=True)).to_be_visible()
    page.get_by_role("button", name="Still here").click()
    expect(page.get_by_text("It answers.")).to_be_visible()


def test_a_text_that_is_being_written_is_rendered_as_it_grows(visit: Visit, rendered_demo: AppServer) -> None:
    page = visit(rendered_demo, "/?text=grows")
    body = page.get_by_role("region", name="Answer", exact=True)
    heading = body.get_by_role("heading", name="Choosing a store for append-only events")
    expect(heading).to_be_attached()
    first = heading.element_handle()
    expect(body).to_contain_text("two spaces")
    expect(body.locator(".katex-display")).to_have_count(2)
    assert first is not None
    assert first.evaluate("node => node.isConnected"), "what was there first is still the same element"
    left = "node => node.scrollHeight - node.scrollTop - node.clientHeight"
    until(lambda: body.evaluate(left) < 24, what="it follows")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rendered_text_can_be_read_in_both_themes(
    browser: Browser, rendered_demo: AppServer, scheme: str
) -> None:
    page: Page = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page.goto(f"{rendered_demo.url}/?text=long")
    expect(page.locator(".katex-display")).to_have_count(2)
    assert_readable(page)
    page.close()


def test_the_view_that_is_chosen_in_one_component_is_that_of_all(context: BrowserContext) -> None:
    """The step's preview is another component than its output: each has the script as a module of its own."""
    page = context.new_page()
    page.route("http://localhost/", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto("http://localhost/")  # a page without an address has no storage
    page.set_content(f"<div>{HTML}</div>" * 2)
    module = joined(Path(text_block.__file__).with_name("text_block_mount.js"))
    data = {"label": "Answer", "parts": [Stretch("**Four**")], "notes": [], "legend": []}
    rendering = {"blocks": ["<p>Four</p>"], "marked": True}
    page.evaluate(
        """async ([script, data]) => {
          for (const [at, parentElement] of [...document.body.children].entries()) {
            const url = URL.createObjectURL(new Blob([script + `// ${at}`], { type: "text/javascript" }));
            (await import(url)).default({ data, parentElement });
          }
        }""",
        [module, data | {"rendering": rendering}],
    )
    for sources in (2, 0):
        page.get_by_role("button", name="Source").first.click()
        expect(page.get_by_text("**Four**")).to_have_count(sources)
