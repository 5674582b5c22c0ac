"""The table of the usage page: names as texts, links to sessions, bounds in words, one total."""

from __future__ import annotations

import re

from conductor.values.messages import Usage
from conductor.values.total import NOTHING, Total
from pages.components.view_models.usage_texts import MOST_ROWS, sums_html, table_html
from studio.sessions.usage_table import UsageRow, UsageTable

EXACT = Total.of([Usage(prompt_tokens=1200, completion_tokens=0, cost=0.25)])
UNKNOWN = Total.of([Usage()])


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr.*?>(.*?)</tr>", html)
    return [
        [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)] for row in rows
    ]


def test_rows_stand_above_the_total_and_what_is_apart_below():
    rows = (UsageRow("a", "a", "", EXACT), UsageRow("b", "b", "", UNKNOWN))
    apart = (UsageRow("m", "m", "simulated", UNKNOWN),)
    assert cells(table_html(UsageTable(rows, apart, EXACT + UNKNOWN), heading="Worker")) == [
        ["Worker", "Requests", "Tokens", "US dollars"],
        ["a", "1", "1,200", "$0.2500"],
        ["b", "1", "-", "-"],
        ["Total", "2", "at least 1,200", "at least $0.2500"],
        ["m (simulated)", "1", "-", "-"],
    ]


def test_a_name_is_a_text_and_a_session_a_link():
    rows = (
        UsageRow("1f0c", "<b>Why</b>?", "", EXACT, is_session=True),
        UsageRow("gone", "gone", "removed", EXACT),
    )
    html = table_html(UsageTable(rows, (), EXACT + EXACT), heading="Session")
    assert "<b>" not in html
    assert re.findall('href="(.*?)"', html) == ["./?session=1f0c"]
    assert "&lt;b&gt;Why&lt;/b&gt;?" in html


def test_a_long_table_is_cut_and_its_total_is_not():
    rows = tuple(UsageRow(str(at), str(at), "", EXACT) for at in range(MOST_ROWS + 5))
    table = UsageTable(rows, (), sum((row.total for row in rows), NOTHING))
    texts = cells(table_html(table, heading="Session"))
    assert len(texts) == MOST_ROWS + 2
    assert texts[-1][:2] == ["Total", "105"]


def test_the_sums_name_their_bounds():
    assert re.sub("<[^>]*>", " ", sums_html(EXACT + UNKNOWN)).split() == (
        "tokens at least 1,200 US dollars at least $0.2500 requests 2".split()
    )
    assert re.sub("<[^>]*>", " ", sums_html(NOTHING)).split() == "tokens - US dollars - requests 0".split()


def test_tokens_of_models_on_this_machine_stand_beside_the_sums():
    assert re.sub("<[^>]*>", " ", sums_html(NOTHING, EXACT)).split() == (
        "tokens - US dollars - requests 0 tokens on this machine 1,200".split()
    )
