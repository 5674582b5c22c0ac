"""The evaluation page's wiring: the list, one evaluation, stop and resume."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.score import Score
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.team_tests import TeamTest
from conductor.values.output import SIMULATED_LABEL
from conductor.workers.pool.pool import Pool, built_in_pool
from conductor.workers.simulated import SimulatedWorker
from pages.components.evaluation.record_actions import _exported
from studio.evaluation.evaluations import Evaluations
from studio.workbench import Workbench
from tests.support.runs.waiting import until

pytestmark = pytest.mark.thorough

SPEC = EvaluationSpec(data="", digest="", planners=("conductor",), parallel=2)


@pytest.fixture
def evaluation(bench, url):
    """An evaluation of the app's own pool, that has not begun."""
    own = Workbench.over(bench.store, pool=built_in_pool(), conductor=bench.conductor)
    items = tuple(
        Item(id=str(n), input=f"What is {n} * 7?", target=(str(7 * n),), metadata={"category": "products"})
        for n in range(1, 4)
    )
    id = Evaluations(own).add(DataSet("products <b>", items), ["baseline:rules", "worker:smol"], SPEC).id
    own.background.close()
    return id


def opened(app, evaluation):
    page = app("evaluation")
    page.query_params["evaluation"] = evaluation
    return page.run()


def texts(page):
    return [element.value for kind in (page.markdown, page.caption) for element in kind]


def wait_until_done(page, bench, evaluation):
    until(lambda: bench.store.evaluations.find(evaluation).ended_at is not None)
    return page.run()


def test_a_store_without_evaluations_shows_what_one_is(app):
    page = app("evaluation")
    assert not page.exception
    assert page.title[0].value == "Evaluation"
    assert page.caption[0].value.startswith("No evaluation yet.")


@pytest.mark.thorough
def test_one_that_did_not_end_is_listed_resumed_to_its_end_and_shown(app, bench, evaluation):
    page = app("evaluation")
    assert "stopped: its process ended · 3 questions · 0 of 6 answers" in plainly(page.caption[0].value)
    page.button(key=f"open-{evaluation}").click().run()
    assert page.query_params["evaluation"] == evaluation
    assert page.title[0].value == "products \\<b\\>"
    assert any("0 of 6 answers" in text for text in texts(page))
    page.button(key="evaluation-resume").click().run()
    wait_until_done(page, bench, evaluation)
    assert not page.exception
    assert not any("Resume" in button.label for button in page.button)
    assert "3 questions · 2 planners" in page.caption[0].value
    assert "By category" in [heading.value for heading in page.subheader]
    page.button(key="all-evaluations").click().run()
    assert page.title[0].value == "Evaluation"
    assert page.caption[0].value.startswith("done")


def test_an_unknown_evaluation_is_named(app):
    page = opened(app, "feed")
    assert "There is no evaluation 'feed'" in page.error[0].value
    page.button(key="all-evaluations").click().run()
    assert not page.error


# -- a new one -------------------------------------------------------------------------------------

LINES = b'{"input": "What is 6 * 7?", "target": "42"}\n{"input": "What is 2 + 3?", "target": 5}\n'


def page_with_file(app, content=LINES, name="sums.jsonl"):
    page = app("evaluation")
    page.button(key="evaluation-new").click().run()
    assert page.query_params["new"] == "yes"
    page.file_uploader(key="data-file").upload(name, content).run()
    assert not page.exception
    return page


def test_questions_of_a_file_are_shown_and_forecast_before_they_are_asked(app):
    page = page_with_file(app)
    assert any("sums: 2 questions, compared by exact" in plainly(text) for text in texts(page))
    assert page.dataframe[0].value["Question"].tolist() == ["What is 6 * 7?", "What is 2 + 3?"]
    figures = {metric.label: metric.value for metric in page.metric}
    assert figures["Answers"] == "6", "the Conductor and two workers"
    assert figures["Calls"] == "~2", "a calculator is no model"
    page.checkbox(key="plan-workers").uncheck().run()
    page.number_input(key="how-repeats").set_value(3).run()
    assert page.metric[0].value == "6"


@pytest.mark.thorough
def test_start_opens_the_evaluation_which_runs_to_its_end(app, bench):
    page = page_with_file(app)
    page.checkbox(key="plan-workers").uncheck().run()
    page.text_input(key="plan-more").set_value("worker:calculator, baseline:random").run()
    page.selectbox(key="plan-first").select("worker:calculator").run()
    page.button(key="evaluation-start").click().run()
    (record,) = bench.store.evaluations.listed()
    assert record.spec.planners == ("worker:calculator", "conductor", "baseline:random")
    assert page.query_params["evaluation"] == record.id
    wait_until_done(page, bench, record.id)
    assert page.title[0].value == "sums"
    assert not page.exception


@pytest.mark.thorough
def test_an_evaluation_is_begun_with_tags_and_a_stop_and_found_by_its_tags(app, bench, evaluation):
    page = page_with_file(app)
    page.text_input(key="how-tags").set_value("nightly, sums ").run()
    page.checkbox(key="how-sequential").check().run()
    page.button(key="evaluation-start").click().run()
    record = bench.store.evaluations.listed()[0]
    assert (record.spec.tags, record.spec.sequential) == (("nightly", "sums"), True)
    wait_until_done(page, bench, record.id)
    page.button(key="all-evaluations").click().run()
    assert {button.key for button in page.button} >= {f"open-{record.id}", f"open-{evaluation}"}
    page.pills(key="evaluations-tags").set_value(["sums"]).run()
    assert not page.exception
    listed = {button.key for button in page.button if str(button.key).startswith("open-")}
    assert listed == {f"open-{record.id}"}


@pytest.mark.thorough
def test_a_set_of_the_team_is_chosen_and_begun(app, bench):
    page = app("evaluation")
    page.button(key="evaluation-new").click().run()
    assert not any("team" in each for each in page.segmented_control(key="data-source").options)
    test = {"id": "t", "data_set": "Rivers", "question": "What is 6 * 7?", "accepted": "42"}
    bench.store.tests.add(TeamTest.model_validate(test | {"scorer": "number", "created_at": 0}))
    page.run()
    page.segmented_control(key="data-source").set_value("team").run()
    assert not page.exception
    assert page.selectbox(key="data-team").options == ["Rivers, 1 test"]
    page.button(key="evaluation-start").click().run()
    (record,) = bench.store.evaluations.listed()
    assert record.spec.data == "Rivers"
    assert [item.id for item in bench.store.evaluations.items(record.id)] == ["t"]
    wait_until_done(page, bench, record.id)


def test_a_file_in_another_encoding_is_read_by_its_name(app):
    content = "input;target\nWhich river is in Köln?;Rhein\n".encode("cp1252")
    page = page_with_file(app, content, "rivers.csv")
    assert "is not UTF-8 (its byte 0xf6)" in plainly(page.error[0].value)
    page.text_input(key="data-encoding").set_value("cp1252").run()
    assert not page.error
    assert page.dataframe[0].value["Question"].tolist() == ["Which river is in Köln?"]
    page.text_input(key="data-encoding").set_value("no-such").run()
    assert "is no encoding" in page.error[0].value


def test_answers_that_a_judge_compares_need_a_model_that_judges(app, tmp_path, monkeypatch):
    pool = tmp_path / "pool.toml"
    pool.write_text('[[worker]]\nname = "sums"\nkind = "calculator"\n', encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(pool))
    page = page_with_file(app)
    page.selectbox(key="data-scorer").select("judge").run()
    assert page.button(key="evaluation-start").disabled
    assert any(text.startswith("This pool has no model that can judge") for text in texts(page))


def test_a_judge_is_chosen_and_what_it_could_not_judge_is_shown(app, bench, tmp_path, monkeypatch):
    pool = tmp_path / "pool.toml"
    lines = (f'[[worker]]\nname = "{name}"\nkind = "simulated"\ntokens = 5\n' for name in ("one", "other"))
    pool.write_text("".join(lines), encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(pool))
    page = page_with_file(app)
    page.selectbox(key="data-scorer").select("judge").run()
    page.checkbox(key="plan-workers").uncheck().run()
    judges = page.selectbox(key="evaluation-judge")
    assert judges.options == ["one", "other"]
    assert judges.value is None
    assert page.button(key="evaluation-start").disabled
    judges.select("other").run()
    assert any(
        "~2 of the calls go to the judge. The judge's tokens and cost" in plainly(text)
        for text in texts(page)
    )
    page.button(key="evaluation-start").click().run()
    (record,) = bench.store.evaluations.listed()
    assert record.spec.judge is not None
    assert record.spec.judge.worker == "other"
    wait_until_done(page, bench, record.id)
    assert not page.exception
    assert any("2 not judged" in str(element.proto) for element in page.get("html"))
    assert any("Judged by other; tokens a verdict: conductor" in plainly(text) for text in texts(page))


def test_columns_of_other_names_are_found_or_chosen(app):
    page = page_with_file(app, b"Frage,gold,topic\nWhat is 6 * 7?,42,product\n", "a.csv")
    assert plainly(page.error[0].value) == "Choose a column for: Question."
    page.selectbox(key="data-column-input").select("Frage").run()
    assert page.dataframe[0].value.to_dict("records")[0]["Category"] == "product"
    assert page.metric[0].value == "3"


@pytest.mark.parametrize(
    ("content", "name", "error"),
    [
        (b"", "a.jsonl", "No line of the file has columns"),
        (b"\x00\xff{", "a.jsonl", "No line of the file has columns"),
        (b"not parquet", "a.parquet", "is not a Parquet file"),
        (b'{"input": "", "target": "1"}', "a.jsonl", "has no item"),
    ],
)
def test_a_file_that_holds_no_question_is_refused(app, content, name, error):
    page = page_with_file(app, content, name)
    assert error in plainly(page.error[0].value)
    assert not page.metric


def plainly(text):
    return text.replace("\\", "")


def test_a_broken_line_is_named_and_left_out_where_that_is_asked_for(app):
    page = page_with_file(app, LINES + b'{"input": "No answer?"}\n{oops\n')
    assert plainly(page.warning[0].value).startswith(
        "Line 3 is not a question: it has no 'target', but 'input'"
    )
    assert "1 more line cannot be read either." in plainly(page.warning[0].value)
    assert not page.metric
    page.checkbox(key="data-leave-out").check().run()
    assert page.metric


def test_a_planner_that_does_not_exist_is_refused_before_the_start(app):
    page = page_with_file(app)
    page.text_input(key="plan-more").set_value("baseline:nothing").run()
    assert "There is no planner" in page.error[0].value
    assert not any(button.key == "evaluation-start" for button in page.button)


# -- what came of it -------------------------------------------------------------------------------


@pytest.fixture
def done(bench):
    """One that has ended: `alpha` and `beta` of another pool, each right on one of two questions."""
    items = tuple(Item(id=str(n), input=f"Which number? {n}", target=(str(n),)) for n in (1, 2))
    workers = (SimulatedWorker("alpha", answer="1"), SimulatedWorker("beta", answer="2"))
    own = Workbench.over(bench.store, pool=Pool(workers=workers), conductor=bench.conductor)
    spec = SPEC.model_copy(update={"repeats": 2})
    id = Evaluations(own).add(DataSet("numbers", items), ["worker:*"], spec).id
    Evaluations(own).run(id)
    own.background.close()
    return id


def links(page):
    return [(link.proto.label, dict((link.proto.query_string and parse_qs(link.proto.query_string)) or {}))
            for link in page.get("page_link")]  # fmt: skip


def test_disagreements_open_both_sessions_on_compare(app, bench, done):
    page = opened(app, done)
    assert not page.exception
    assert "alpha alone is right on 2 answers, beta alone on 2." in [
        plainly(caption.value) for caption in page.caption
    ]
    cells = bench.store.evaluations.cells(done)
    first = {cell.planner: cell.answered_in for cell in cells if (cell.item, cell.repeat) == (0, 0)}
    anchors = links(page)[:3]
    assert [plainly(label) for label, _ in anchors] == [
        f"**alpha**: 1 · {SIMULATED_LABEL}", f"**beta**: 2 · {SIMULATED_LABEL}", "Compare",
    ]  # fmt: skip
    assert anchors[0][1]["session"] == [first["worker:alpha"]]
    runs = [f"run:{bench.store.runs.latest(first[f'worker:{name}']).id}" for name in ("alpha", "beta")]
    assert [anchors[2][1]["left"], anchors[2][1]["right"]] == [[runs[0]], [runs[1]]]
    page.segmented_control(key="questions-which").set_value("All questions").run()
    assert [label for label, _ in links(page)] == ["alpha", "beta"] * 4


def test_a_planner_beside_itself_has_no_disagreement(app, done):
    page = opened(app, done)
    page.selectbox(key="questions-1").select("worker:alpha").run()
    assert not page.exception
    assert "alpha and alpha have the same answers right." in [plainly(text) for text in texts(page)]


def test_one_with_unanswered_questions_names_the_outage_and_is_not_done(app, bench, done):
    store = bench.store.evaluations
    cell = store.cells(done)[0]
    lost = cell.result.model_copy(update={"score": Score(verdict="unanswered", outage="503")})
    store.end_cell(cell.answered_in, lost, ())
    reason = "Done, but 1 of 8 not answered (503); resume asks for these again."
    store.set_end(done, ended_at=1.0, reason=reason)
    page = opened(app, done)
    assert not page.exception
    words = [plainly(text) for text in texts(page)]
    assert reason in words
    assert any("Done, some questions unanswered" in text and "7 of 8 answers" in text for text in words)
    assert any("1 of 4 not answered: 503." in text for text in words)
    assert any(button.key == "evaluation-resume" for button in page.button)
    assert app("evaluation").caption[0].value.startswith("done, some questions unanswered")


def test_deleting_names_what_goes_and_leads_back_to_the_list(app, bench, done):
    page = opened(app, done)
    page.button(key="evaluation-delete").click().run()
    assert any("Its 8 sessions move to the deleted sessions" in text for text in texts(page))
    page.button(key="evaluation-delete-now").click().run()
    assert bench.store.evaluations.listed() == ()
    assert page.caption[0].value.startswith("No evaluation yet.")


@pytest.mark.parametrize(
    ("form", "begins", "ending"),
    [
        ("csv", "planner,", "csv"), ("json", "{", "json"), ("latex", "% The answers to one question", "tex"),
        ("html", "<!doctype", "html"),
    ],
)  # fmt: skip
def test_a_table_is_exported_in_each_form(bench, done, form, begins, ending):
    file = _exported(bench.store, bench.store.evaluations.find(done), form)
    assert file.text.startswith(begins)
    assert file.name == f"numbers-{done[:6]}.{ending}"


# -- shipped questions -----------------------------------------------------------------------------


@pytest.mark.thorough
def test_an_empty_store_runs_the_demo_in_one_click_on_its_own_pool(app, bench):
    page = app("evaluation")
    page.button(key="evaluation-demo").click().run()
    assert not page.exception
    (record,) = bench.store.evaluations.listed()
    assert page.query_params["evaluation"] == record.id
    assert page.title[0].value == "demo"
    assert "generalist" in dict(record.spec.pool)
    page.button(key="evaluation-stop").click().run()
    wait_until_done(page, bench, record.id)
    assert bench.store.evaluations.find(record.id).reason == "It was stopped."
    assert any(button.key == "evaluation-resume" for button in page.button)


def test_a_shipped_set_comes_with_its_planners(app):
    page = app("evaluation")
    page.button(key="evaluation-new").click().run()
    page.segmented_control(key="data-source").set_value("demo").run()
    assert not page.exception
    assert "baseline:vote" in page.text_input(key="plan-more-demo").value
    assert any("On the built-in pool “orchard”" in plainly(caption.value) for caption in page.caption)
    assert page.metric[1].label == "Calls"
    page.segmented_control(key="data-source").set_value("countries").run()
    assert page.text_input(key="plan-more").value == ""
    assert "calculator" in page.checkbox(key="plan-workers").label


def test_two_evaluations_stand_side_by_side_or_are_refused_with_the_reasons(app, bench, done, evaluation):
    spec = bench.store.evaluations.find(done).spec
    items = bench.store.evaluations.items(done)
    again = bench.store.evaluations.add(spec, items)
    page = opened(app, done)
    page.query_params["beside"] = again.id
    page.run()
    assert not page.exception
    assert not page.warning
    page.selectbox(key="evaluation-beside-1").select(evaluation).run()
    assert page.query_params["beside"] == evaluation
    assert "cannot be compared: they differ in the questions" in plainly(page.warning[0].value)
