"""`learn` where nothing can be trained: what it names as missing, and results of finished runs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from conductor.learning.demonstration.contenders import CONDUCTOR, MIXTURE, ROUTER, START
from conductor.learning.demonstration.run_folder import RESULTS
from tests.studio.cli.command_line import Line

RESULT = {
    "rows": [
        {"planner": name, "accuracy": 0.95 - ahead, "interval": [0, 1], "steps": 1, "tokens": tokens}
        | ({} if name == CONDUCTOR else {"ahead": ahead, "between": [ahead - 0.1, ahead + 0.1]})
        for name, ahead, tokens in (
            (CONDUCTOR, 0.0, 170),
            (ROUTER, 0.25, 40),
            (MIXTURE, 0.3, 2_500),
            ("generalist alone", 0.45, 90),
            (START, 0.4, 90),
        )
    ],
    **{"sampled_before": 0.4, "sampled": 0.8, "greedy_before": 0.55, "one_step": 0.0},
    **{"before": {"wordings": 0.5}, "cooled": [[0.5, 0.52]]},
    **{"combinations": 0.95, "wordings": 0.8, "shuffled": 0.96, "subsets": 0.8, "reachable": 0.85},
    **{"calls": 10, "saved": 90, "seconds": 200.0},
}


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="this environment can train")
def test_an_environment_that_cannot_train_is_shown_what_it_lacks(line: Line, tmp_path: Path) -> None:
    result = line("learn", "demo", "--out", str(tmp_path / "run"))
    assert result.code == 1
    assert "Training needs torch" in result.err
    assert "learn" in result.err
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_shown_again_and_held_against_what_is_required(line: Line, tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    for folder, wordings in ((good, 0.8), (bad, 0.6)):
        folder.mkdir()
        (folder / RESULTS).write_text(json.dumps(RESULT | {"wordings": wordings}), encoding="utf-8")
    result = line("learn", "demo", "--out", str(good))
    assert result.code == 0
    assert "finished run" in result.err
    assert "+0.450 (+0.350 to +0.550)" in result.out
    rows = [text.split() for text in result.out.splitlines()]
    assert ["held-out", "wordings", "0.500", "0.800"] in rows
    assert ["absent", "workers", "-", "0.800"] in rows
    assert "0.520 at 0.5" in result.out
    accepted = line("learn", "accept", str(good), "--json")
    assert (accepted.code, {check["passed"] for check in json.loads(accepted.out)["checks"]}) == (0, {True})
    refused = line("learn", "accept", str(good), str(bad))
    assert refused.code == 1
    (failure,) = [text for text in refused.out.splitlines() if text.endswith("FAILED")]
    assert "held-out wordings" in failure
    assert str(bad) in failure


@pytest.mark.parametrize("wrong", [("--shy", "1.5"), ("--price", "-1"), ("--group", "1"), ("--grpo-lr", "0")])
def test_a_setting_out_of_its_range_is_refused(line: Line, tmp_path: Path, wrong: tuple[str, str]) -> None:
    result = line("learn", "demo", "--out", str(tmp_path / "run"), *wrong)
    assert result.code == 2
    assert wrong[0] in result.err
    assert not (tmp_path / "run").exists()


def test_a_folder_without_results_is_refused(line: Line, tmp_path: Path) -> None:
    result = line("learn", "accept", str(tmp_path))
    assert result.code == 1
    assert "has no results of a finished run" in result.err


def test_a_run_with_other_settings_is_not_overwritten(line: Line, tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text(json.dumps(RESULT), encoding="utf-8")
    assert line("learn", "demo", "--out", str(tmp_path)).code == 0
    result = line("learn", "demo", "--out", str(tmp_path), "--seed", "7")
    assert result.code == 1
    assert "other settings" in result.err


@pytest.mark.parametrize("by", ["file", "stdin"])
def test_corrections_that_teach_nothing_are_named_with_the_reason(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"prompt": [], "chosen": []}\n' * 2, encoding="utf-8")
    with file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        result = line("learn", "corrections", "orchard", str(file) if by == "file" else "-")
    assert result.code == 1
    assert "2 left out: its row has no metadata" in result.err
    assert "facts, letters" in result.err
    missing = line("learn", "corrections", str(tmp_path), str(file))
    assert missing.code == 1
    assert "conductor-card.json" in missing.err
