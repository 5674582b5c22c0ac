"""The learning page's wiring: trainings begun, followed and used, without one that really trains."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from conductor.learning.demonstration.run_folder import RESULTS
from conductor.planner.local.card import CARD
from conductor.workers.local_model import SHIPPED
from pages.components.learning import lessons, training_setup
from pages.components.tab import services
from studio.learning import trainings
from studio.learning.training_run import TRAINED
from tests.support.runs.waiting import until
from tests.support.stores.training_folders import begun_training, done_training


@pytest.fixture
def learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the app's trainings."""
    monkeypatch.setattr(services, "data_folder", lambda _: tmp_path)
    return tmp_path / "learn"


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's pool file."""
    file = tmp_path / "pool.toml"
    file.write_text('# ours\n[[worker]]\nname = "one"\nkind = "simulated"\n', encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    return file


def opened(app, run):
    page = app("learning")
    page.query_params["run"] = run
    return page.run()


def texts(page):
    values = [element.value for kind in (page.markdown, page.caption) for element in kind]
    return " | ".join(text.replace("\\", "") for text in values)


def test_an_app_without_trainings_offers_one_and_names_what_is_missing(app, learn, monkeypatch):
    monkeypatch.setattr(training_setup, "trainer", lambda: None)
    monkeypatch.setattr(lessons, "trainer", lambda: None)
    page = app("learning")
    assert not page.exception
    assert page.title[0].value == "Learning"
    assert "make learn" in page.info[0].value
    assert page.button(key="train").disabled
    assert page.button(key="lessons-learn").disabled
    assert not learn.exists()


def test_the_training_of_the_conductor_that_ships_is_shown_first(app, learn):
    page = app("learning")
    assert not page.exception
    charts = page.get("arrow_vega_lite_chart") or page.get("vega_lite_chart")
    titles = [json.loads(chart.proto.spec)["title"] for chart in charts]
    assert [title if isinstance(title, str) else title["text"] for title in titles] == [
        "Right answers",
        "Plans: a collapse shows here first",
        "Steps and routing",
        "Learning signal",
        "Right answers to held-out questions, with 95% intervals",
    ]
    assert "its training repeated with the same seed and settings" in texts(page)


def test_train_begins_with_what_was_set_and_opens_the_run(app, learn, monkeypatch):
    monkeypatch.setattr(training_setup, "trainer", lambda: Path("/bin/false"))
    monkeypatch.setattr(trainings, "trainer", lambda: Path("/bin/echo"))
    page = app("learning")
    page.number_input(key="train-seed").set_value(5).run()
    page.number_input(key="train-warm").set_value(300).run()
    page.number_input(key="train-threads").set_value(1).run()
    page.button(key="train").click().run()
    assert not page.exception
    assert page.query_params["run"] == "demo"
    settings = json.loads((learn / "demo" / "settings.json").read_text(encoding="utf-8"))
    assert (settings["seed"], settings["warm_steps"]) == (5, 300)
    shared = services.services().trainings
    until(lambda: not shared.runs_here(shared.folder.resolve() / "demo"))
    assert "--threads 1 " in (learn / "demo" / trainings.LOG).read_text(encoding="utf-8")


def test_a_training_that_begins_below_a_relative_folder_can_be_stopped(app, tmp_path, monkeypatch):
    child = tmp_path / "child"
    child.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    child.chmod(0o755)
    for module in (training_setup, trainings):
        monkeypatch.setattr(module, "trainer", lambda: child)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(services, "data_folder", lambda _: Path("data"))
    page = app("learning")
    page.button(key="train").click().run()
    assert "Training · starting" in texts(page).replace("*", "")
    page.button(key="training-stop").click().run()
    assert not page.exception
    assert "Stopped · step 0 of 300 of the warm start" in texts(page).replace("*", "")
    assert "It ended" not in texts(page)


def test_a_run_that_failed_names_why_and_can_be_resumed(app, learn, monkeypatch):
    for module in (training_setup, trainings):
        monkeypatch.setattr(module, "trainer", lambda: Path("/bin/false"))
    page = app("learning")
    page.button(key="train").click().run()
    until(lambda: "It ended with code 1." in texts(page) or texts(page.run()) is None)
    with monkeypatch.context() as ends_while_it_is_drawn:
        ends_while_it_is_drawn.setattr(trainings.Trainings, "runs_here", lambda *_: True)
        text = texts(page.run())
        assert "Training · starting" in text.replace("*", "")
        assert "It ended" not in text
    page.run()
    page.button(key="training-resume").click().run()
    assert not page.exception


def test_runs_are_listed_with_their_state_and_those_that_cannot_be_read_are_named(app, learn):
    done_training(learn / "good")
    begun_training(learn / "half")
    (learn / "bad").mkdir()
    (learn / "bad" / "settings.json").write_text("{", encoding="utf-8")
    page = app("learning")
    assert not page.exception
    assert (
        "done · seed 0 · 100 steps of the warm start, 20 of GRPO · 90% of sampled plans are right"
        in texts(page)
    )
    assert "stopped · seed 0" in texts(page)
    assert "bad has no training that can be read." in texts(page)
    page.button(key="open-half").click().run()
    assert page.title[0].value == "half"


def test_a_run_under_way_elsewhere_is_followed_and_not_stopped_here(app, learn):
    folder = begun_training(learn / "demo")
    with folder.held():
        page = opened(app, "demo")
        assert not page.exception
        assert "Training · step 1 of 20 of GRPO · process " in texts(page).replace("*", "")
        keys = {button.key for button in page.button}
        assert not keys & {"training-stop", "training-resume", "use-trained"}
    assert "Stopped · step 1 of 20 of GRPO" in texts(page.run()).replace("*", "")


def test_a_collapse_is_shown_with_its_cure(app, learn):
    folder = begun_training(learn / "demo", stop_on_collapse=True)
    folder.add({"kind": "alarm", "step": 2, "what": "a router", "cure": "start again"})
    page = opened(app, "demo")
    assert "Collapsed" in texts(page)
    assert "Step 2: a router. Remedy: start again." in page.warning[0].value.replace("\\", "")


def test_a_finished_run_shows_its_table_and_a_question_before_and_after(app, learn):
    done_training(learn / "demo")
    page = opened(app, "demo")
    assert not page.exception
    assert page.dataframe[0].value["Right"].tolist() == ["90.0%"]
    text = texts(page)
    assert "the likeliest plan 95% → 90%; sampled plans 50% → 90%; held-out wordings 98%" in text
    assert "No valid plan." in text
    assert "After" in text
    assert page.selectbox(key="plans-question-demo").options == ["The capital of Peru? (changed)"]


def test_use_writes_the_pool_file_the_app_reads_it_and_undo_takes_it_back(app, learn, pool):
    before = pool.read_text(encoding="utf-8")
    done_training(learn / "demo")
    page = opened(app, "demo")
    page.button(key="use-trained").click().run()
    assert not page.exception
    written = tomllib.loads(pool.read_text(encoding="utf-8"))
    assert written["workers"] == "orchard"
    assert written["conductor"] == {"kind": "local", "model": "learn/demo/conductor", "name": "demo"}
    assert written["worker"] == [{"name": "one", "kind": "simulated"}]
    assert pool.read_text(encoding="utf-8").startswith("# ours\n")
    assert "demo is the Conductor now, on the orchard's workers." in texts(page)
    assert services.services().configured().conductor.card.name == "demo"
    page.button(key="pool-undo").click().run()
    assert pool.read_text(encoding="utf-8") == before


def test_a_pool_that_was_chosen_by_its_name_is_not_written(app, learn, monkeypatch):
    monkeypatch.setenv("CONDUCTOR_POOL", "orchard")
    done_training(learn / "demo")
    page = opened(app, "demo")
    page.button(key="use-trained").click().run()
    assert "chosen by its name when the app was started" in page.error[0].value


@pytest.mark.parametrize("run", ["nothing", "../..", "%00", "\0", "bad"])
def test_an_address_of_no_run_is_named(app, learn, run):
    page = opened(app, run)
    assert not page.exception
    assert "cannot be read" in page.error[0].value
    page.button(key="all-trainings").click().run()
    assert page.title[0].value == "Learning"


def test_results_are_what_ends_a_run(app, learn):
    folder = done_training(learn / "demo")
    (folder.path / RESULTS).unlink()
    page = opened(app, "demo")
    assert "use-trained" not in {button.key for button in page.button}


def test_a_corrected_conductor_can_be_used_after_a_reload(app, learn, pool):
    folder = learn / "corrected" / TRAINED
    shutil.copytree(SHIPPED["orchard"], folder)
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    learnt = {"lessons": 20, "seconds": 4.0, "same": [0.1, 0.9], "valid": [1.0, 1.0]}
    (folder / CARD).write_text(json.dumps(card | {"results": {"corrections": learnt}}), encoding="utf-8")
    page = app("learning")
    assert not page.exception
    assert "Learnt 20 corrections in 4 s. Plans as corrected: 10% before, 90% after" in texts(page)
    page.button(key="use-corrected").click().run()
    assert (
        tomllib.loads(pool.read_text(encoding="utf-8"))["conductor"]["model"] == "learn/corrected/conductor"
    )


def test_use_names_what_it_replaces_and_how_to_go_back_without_a_file_before(
    app, learn, pool, monkeypatch, tmp_path
):
    done_training(learn / "demo")
    pool.write_text(
        'workers = "built-in"\n[conductor]\nkind = "local"\nmodel = "orchard"\nname = "old"\n',
        encoding="utf-8",
    )
    page = opened(app, "demo")
    page.button(key="use-trained").click().run()
    assert "demo is the Conductor now, replacing old, on the orchard's workers." in texts(page)
    monkeypatch.setenv("CONDUCTOR_POOL", str(tmp_path / "none.toml"))
    page.button(key="use-trained").click().run()
    assert "none.toml is new; remove it to go back." in texts(page)
