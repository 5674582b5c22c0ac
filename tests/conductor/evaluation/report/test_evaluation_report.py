"""A table as HTML: what is unknown is "-", what was written by others is escaped, and nothing is loaded."""

from __future__ import annotations

import re

import pytest

from conductor.drawing.marks import MARKS
from conductor.evaluation.evaluation_table import Cell, EvaluationTable, table_of
from conductor.evaluation.items import Item
from conductor.evaluation.report import categories_html, planner_name, report_page, table_html
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.values.messages import Usage

HOSTILE = '<img src=x onerror="alert(1)">'
PLANNERS = (f"worker:{HOSTILE}", "worker:b", "baseline:moa:layers=2")

SPEC = EvaluationSpec(data="", digest="", planners=PLANNERS)


@pytest.fixture
def table() -> EvaluationTable:
    items = [
        Item(id=str(n), input="?", target=("1",), metadata={"category": HOSTILE if n % 2 else "even"})
        for n in range(20)
    ]
    cells = [
        Cell(
            item=item,
            planner=planner,
            repeat=0,
            session="",
            result=CellResult(
                score=Score(verdict="right" if at == 1 or item < 5 else "failed"),
                work=Usage(prompt_tokens=1000, completion_tokens=500),
                calls=1,
            ),
        )
        for at, planner in enumerate(PLANNERS)
        for item in range(20)
    ]
    return table_of(items, PLANNERS, cells)


def test_a_row_has_its_figures_and_a_bold_difference_where_it_is_significant(table):
    rows = re.findall(r"<tr.*?</tr>", table_html(table, SPEC), re.DOTALL)[1:]
    texts = [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", row)).strip() for row in rows]
    assert texts[0].endswith("25.0% 20 reference 0 + 1,500 - 1.0 - - 15 failed")
    assert texts[1] == "b 100.0% 20 +75.0 <0.001 0 + 1,500 - 1.0 - - 0".replace("<", "&lt;")
    assert texts[2].startswith("Mixture-of-Agents, layers=2 25.0% 20 0.0 1.000")
    assert texts[3].startswith("Perfect router computed 100.0% 20 +75.0")
    assert "<strong>+75.0</strong>" in rows[1]


def test_the_share_of_k_answers_is_headed_by_its_k(table):
    assert "pass@" not in table_html(table, SPEC)
    cells = [
        Cell(
            item=0,
            planner=planner,
            repeat=repeat,
            session="",
            result=CellResult(score=Score(verdict="right" if verdict == "1" else "wrong")),
        )
        for planner, verdicts in (("worker:b", "101"), ("worker:c", "10"))
        for repeat, verdict in enumerate(verdicts)
    ]
    repeated = table_of([Item(id="a", input="?", target=("1",))], ["worker:b", "worker:c"], cells)
    html = table_html(repeated, SPEC)
    assert 'of 3 answers to a question is right, by the unbiased estimator">pass@3</th>' in html
    assert re.findall(r'<td title="mean[^"]*">([^<]*)<', html) == ["100.0%", "-", "-"]


def test_what_others_wrote_is_text(table):
    spec = EvaluationSpec(data=HOSTILE, digest="d", planners=PLANNERS, pool=((HOSTILE, "1"),))
    page = report_page(table, spec, begun_at=0, questions=20)
    for html in (table_html(table, SPEC), categories_html(table, SPEC), page):
        assert "&lt;img src=x" in html
        assert "<img" not in html
    for directive in ("default-src 'none'", "base-uri 'none'", "form-action 'none'"):
        assert directive in page
    assert not re.search(r"(?:src|href)=", page.replace("src=x", ""))
    assert "01 Jan 1970" in page


def test_a_table_without_categories_has_no_bars(table):
    assert categories_html(EvaluationTable(table.rows, {}), SPEC) == ""


@pytest.mark.parametrize(
    ("planner", "name"),
    [
        ("conductor", "Conductor"), ("worker:gpt", "gpt"), ("baseline:reflect:gpt", "Self-reflection, gpt"),
        ("baseline:rules", "Rules"), ("perfect router", "Perfect router"), ("planner:mine", "mine"),
        ("planner:/data/learn/mine/planner.json", "mine"), ("planner:other.json", "other"),
    ],
)  # fmt: skip
def test_planners_have_names(planner, name):
    assert planner_name(planner) == name


@pytest.mark.parametrize("html_of", [table_html, categories_html])
def test_a_planner_with_a_mark_has_it_before_its_name_alone(table, html_of):
    mark = MARKS["teal"].html
    html = html_of(table, SPEC, marks={"worker:b": MARKS["teal"]})
    assert html.count(mark) == 1
    assert f"{mark}b<" in re.sub(r"\s+<", "<", html)
