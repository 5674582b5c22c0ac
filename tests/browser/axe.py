"""What axe-core finds on a page; it comes with Node's packages, and is left out where they are missing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.support.runs.waiting import until

SCRIPT = Path(__file__).parents[1] / "node" / "node_modules" / "axe-core" / "axe.min.js"
MISSING = "axe-core is not installed: npm ci --prefix tests/node"

AUDIT = """async (rules) => {
  const only = rules.length ? { runOnly: { type: "rule", values: rules } } : {};
  const { violations } = await axe.run({ resultTypes: ["violations"], ...only });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => [id, nodes.map((node) => [node.html.slice(0, 200), node.failureSummary])]);
}"""

STATE = """() => ["data-test-script-state", "data-test-connection-state"].map(
  (name) => `${name}: ${document.querySelector(".stApp")?.getAttribute(name)}`)"""
"""What Streamlit writes on its page about the run of the script."""


def assert_accessible(page: Page, rules: Sequence[str] = ()) -> None:
    """Fails if axe-core still finds something serious or critical once the page has settled; by these `rules`
    alone, if there are any.

    Streamlit dims what it is about to replace: what is faint only until then is no fault.
    """
    violations: list[object] = []

    def is_clean() -> bool:
        violations[:] = page.evaluate(AUDIT, list(rules))
        return not violations

    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(SCRIPT.read_text(encoding="utf-8"))
    with suppress(AssertionError):
        until(is_clean, every=0.2)
    assert not violations, (violations, page.url, page.evaluate(STATE))


def assert_accessible_if_installed(page: Page, subtests: pytest.Subtests) -> None:
    """The same as a part of a test that is about more: without axe-core this part alone is skipped."""
    with subtests.test("axe-core"):
        if not SCRIPT.is_file():
            pytest.skip(MISSING)
        assert_accessible(page)
