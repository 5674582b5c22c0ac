"""What a command called is in what was used today, whether or not it has a session.

The upstream's log is the oracle, as in `test_accounts`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from storage import SessionStore
from studio.cli.line import main
from tests.accounting.accounting_cases import DEFAULTS
from tests.accounting.doors import Figure, faults_of, of_total
from tests.accounting.first_run import pool_file
from tests.accounting.reporting_upstream import ReportingUpstream, UpstreamScript, marked
from tests.support.endpoints.fake_openai import serving
from tests.support.runs.conductor_cases import plan_text

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

QUESTIONS = '{"input": "Why?", "target": "so"}\n{"input": "Where?", "target": "there"}\n'
EVALUATION = ("evaluate", "run", "questions.jsonl", "-p", "worker:a")

COMMANDS: dict[str, Sequence[str]] = {
    "a plan": ("plan", "Why?"),
    "three plans": ("plan", "Why?", "--alternatives", "3"),
    "a run": ("run", "Why?"),
    "an evaluation": EVALUATION,
    "a judge": (*EVALUATION, "--scorer", "judge", "--judge", "b"),
    "a doctor": ("doctor",),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_called_was_used_today(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("questions.jsonl").write_text(QUESTIONS, encoding="utf-8")
    upstream, url = ReportingUpstream(), f"sqlite:///{tmp_path}/conductor.db"
    plan = plan_text((0, marked("1.0"), "[]"))
    # Each of these models reports what it used, and has a price.
    with serving(upstream) as served:  # type: ignore[arg-type]
        upstream.begin(UpstreamScript({}, (plan,), DEFAULTS, seed=7))
        Path("pool.toml").write_text(pool_file(served.base_url, ("a", "b")), encoding="utf-8")
        monkeypatch.setenv("CONDUCTOR_POOL", "pool.toml")
        monkeypatch.setenv("CONDUCTOR_DATABASE_URL", url)
        moment = time.time()
        main(COMMANDS[command])
    assert upstream.sent, capsys.readouterr().err
    with SessionStore.open(url) as store:
        total = store.sessions.used_since(moment)
    figure = Figure("used since", upstream.sent, *of_total(total))
    assert not list(faults_of(figure)), "\n".join(map(str, [total, *upstream.sent]))
