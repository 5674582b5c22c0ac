"""The servers of tools on the Pool page: a button starts one and shows its tools, or why it does not."""

from __future__ import annotations

import pytest

from pages.components.tab import services
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.page, pytest.mark.slow]

POOL = """
[[tools]]
name = "sums"
built_in = "calculator"

[[tools]]
name = "files"
command = ["serve", "*papers*"]

[[worker]]
kind = "embedded"
name = "reader"
tools = ["sums", "files"]
"""


def texts(page):
    return "\n".join(each.value for each in (*page.markdown, *page.caption)).replace("\\", "")


def test_a_try_shows_the_tools_of_a_server_or_what_to_do(app, tmp_path, monkeypatch):
    file = tmp_path / "pool.toml"
    file.write_text(POOL, encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    page = app("pool")
    assert "**files** · serve '*papers*'" in texts(page)
    for name in ("sums", "files"):
        page.button(key=f"tools-try-{name}").click().run()
    until(lambda: not services.services().tool_probe.busy)
    page.run()
    assert not page.exception
    assert "conductor-calculator 1 · " in texts(page)
    assert "was not accepted on this machine, so it is not started; look at it" in texts(page)
    [table] = [each.value for each in page.dataframe]
    assert table.to_dict("records") == [
        {"Tool": "calculate", "Marks": "reads, idempotent", "Workers": "reader"}
    ]
