"""`doctor` tries every worker, whatever one of them lacks, and its exit code is 0 when all can be used."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.workers.keys.hosts import HOSTS
from conductor.workers.pool.pool import read_pool
from conductor.workers.tools.accepted_commands import is_accepted
from storage import SessionStore
from tests.studio.cli.command_line import Line
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.endpoints.fake_openai.answers import answer

pytestmark = pytest.mark.slow

KEY = "sk-marked-0123456789"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """An endpoint that takes the marked key only, for which that key's variable is confirmed."""
    with serving(FakeOpenAI(key=KEY)) as served:
        monkeypatch.setenv(HOSTS, f"ALPHA_API_KEY={served.base_url}")
        yield served


def pool(folder: Path, served: Served, *tables: str) -> str:
    file = folder / "mine.toml"
    file.write_text("\n".join(tables).replace("URL", served.base_url), encoding="utf-8")
    return str(file)


CONDUCTOR = '[conductor]\nbase_url = "URL"\nmodel = "simulated"\napi_key_env = "ALPHA_API_KEY"\n'
ALPHA = '[[worker]]\nname = "alpha"\nbase_url = "URL"\nmodel = "simulated"\napi_key_env = "ALPHA_API_KEY"\n'
KEYLESS = '[[worker]]\nname = "keyless-{0}"\nbase_url = "URL"\nmodel = "m"\napi_key_env = "NO_{0}_API_KEY"\n'
CLOSED = '[[worker]]\nname = "alpha"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\nretries = 0\n'
SIMULATED = '[[worker]]\nkind = "simulated"\nname = "quick"\n'
SUMS = '[[worker]]\nkind = "calculator"\nname = "sums"\n'


def test_when_all_can_be_used_a_table_shows_it_and_the_exit_code_is_0(
    line: Line, folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    result = line("doctor", "--pool", pool(folder, served, CONDUCTOR, ALPHA, SUMS))
    assert result.code == 0
    rows = {row.split("  ")[0]: row.split() for row in result.out.splitlines() if row}
    assert rows["conductor (Conductor)"][2:6] == ["set", "yes", "listed", "answers"]
    assert rows["alpha"][1:5] == ["set", "yes", "listed", "answers"]
    assert rows["sums"][1:5] == ["-", "-", "-", "answers"]
    assert result.err == "conductor: asking 3, a short answer each\n"
    assert KEY not in result.out


NEW = "sqlite:///new/conductor.db"


def test_what_the_answers_took_counts_as_used_today(
    line: Line, folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    file = pool(folder, served, CONDUCTOR, ALPHA, SUMS)
    for times in (1, 2):
        line("doctor", "--pool", file, "--database", NEW)
        with SessionStore.open(NEW) as store:
            used = store.sessions.used_since(0)
        assert (used.calls, used.tokens_at_least) == (2 * times, False)
        bodies = [entry.body for entry in served.log.entries if entry.body is not None]
        assert used.tokens == sum((answer(body).usage or {})["total_tokens"] for body in bodies)


def test_a_store_that_cannot_be_opened_is_named_beside_the_findings(line: Line, folder: Path) -> None:
    (folder / "pool.toml").write_text(SIMULATED, encoding="utf-8")
    (folder / "broken.db").write_text("this is no store" * 100, encoding="utf-8")
    result = line("doctor", "--database", "sqlite:///broken.db")
    assert (result.code, "answers" in result.out) == (0, True)
    assert "conductor: what the answers took is not counted: " in result.err


def test_every_missing_key_is_listed_with_what_to_do(
    line: Line, folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    file = pool(folder, served, KEYLESS.format(1), ALPHA, KEYLESS.format(2))
    result = line("doctor", "--pool", file)
    assert result.code == 1
    rows = {row.split("  ")[0]: row.split() for row in result.out.splitlines() if row}
    assert [rows[name][1] for name in ("keyless-1", "alpha", "keyless-2")] == ["missing", "set", "missing"]
    for number in (1, 2):
        assert (
            f"keyless-{number}: NO_{number}_API_KEY is not set; export it before the program starts, or "
            f'write NO_{number}_API_KEY = "..." into .streamlit/secrets.toml.\n'
        ) in result.out
    assert "Not offered to the Conductor: keyless-1, keyless-2.\n" in result.out
    assert "No [conductor] is named: the built-in planner writes the workflows, by rule.\n" in result.out


def test_json_holds_every_finding(
    line: Line, folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_API_KEY", "sk-another")
    file = pool(folder, served, CONDUCTOR, ALPHA, SUMS)
    result = line("doctor", "--json", "--pool", file)
    assert (result.code, result.err) == (1, "")
    shape = json.loads(result.out)
    assert (shape["ok"], shape["pool"]) == (False, file)
    assert shape["conductor"]["name"] == "conductor"
    alpha, sums = shape["workers"]
    assert (alpha["ok"], sums["ok"]) == (False, True)
    assert [finding["word"] for finding in alpha["findings"]] == ["set", "yes", "-", "fails"]
    assert alpha["findings"][-1]["advice"] == "check the key in ALPHA_API_KEY"
    assert "sk-another" not in result.out


def test_faulty_variables_are_named_and_end_no_call_on_this_machine(
    line: Line, folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    monkeypatch.setenv("ALL_PROXY", "socks4://user:hidden@127.0.0.1:9")
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "gone.pem"))
    monkeypatch.setenv("TZ", "Nowhere/City")
    monkeypatch.setenv("LC_ALL", "xx_YY.UTF-8")
    far = '[[worker]]\nname = "far"\nbase_url = "https://far.example/v1"\nmodel = "m"\n'
    near, both = pool(folder, served, ALPHA), line("doctor", "--pool", pool(folder, served, ALPHA, far))
    assert both.code == 1
    proxy = "ALL_PROXY names no proxy that can be used (socks4://***@127.0.0.1:9)"
    assert f"\nProxy (faulty): {proxy}" in both.out
    assert "\nCertificates (faulty): SSL_CERT_FILE (" in both.out
    assert "\nTime zone (faulty): TZ (Nowhere/City) names no time zone" in both.out
    assert "\nLocale (faulty): LC_ALL (xx_YY.UTF-8) names no locale" in both.out
    assert f"\nfar: far.example cannot be reached: {proxy}" in both.out
    assert "hidden" not in both.out
    Path(near).write_text(ALPHA.replace("URL", served.base_url), encoding="utf-8")
    shape = json.loads(line("doctor", "--json", "--pool", near).out)
    assert shape["ok"]
    assert [check["ok"] for check in shape["environment"].values()] == [False] * 4


def test_without_a_pool_file_the_built_in_workers_are_tried(line: Line) -> None:
    result = line("doctor", "--json")
    shape = json.loads(result.out)
    assert (result.code, shape["pool"], shape["conductor"]) == (0, None, None)
    assert [worker["name"] for worker in shape["workers"]] == ["smol", "calculator"]


def test_a_pool_without_a_model_is_labelled(line: Line, folder: Path) -> None:
    (folder / "pool.toml").write_text(SUMS, encoding="utf-8")
    assert line("doctor").out.startswith("pool.toml: offline, no model is called\n")


def test_a_wrong_pool_file_is_one_sentence(line: Line, folder: Path) -> None:
    (folder / "pool.toml").write_text('[[worker]]\nname = "a"\n', encoding="utf-8")
    result = line("doctor")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("conductor: pool.toml, line 1: worker 1, kind: needs kind")


def test_names_and_servers_words_cannot_steer_the_terminal(line: Line, folder: Path) -> None:
    table = '[[worker]]\nkind = "simulated"\nname = "red\\u001b[31m\\nname"\nfail_on = "one"\n'
    (folder / "pool.toml").write_text(table, encoding="utf-8")
    result = line("doctor")
    assert result.code == 1
    assert "\x1b" not in result.out
    assert "red\ufffd[31m name" in result.out


def test_a_key_is_confirmed_for_its_host_by_the_command_that_the_error_names(
    line: Line, folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(HOSTS)
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    file, origin = pool(folder, served, ALPHA), served.base_url.removesuffix("/v1")
    result = line("doctor", "--pool", file)
    assert result.code == 1
    assert (
        f"alpha: ALPHA_API_KEY is not confirmed for {origin}, so it is not sent there; confirm" in result.out
    )
    assert "doctor --confirm-keys" in result.out
    assert not served.log.entries[-1].authorization_sent
    confirmed = line("doctor", "--confirm-keys", "--pool", file)
    assert confirmed.code == 0
    assert f"conductor: ALPHA_API_KEY may be sent to {origin} from now on.\n" in confirmed.err
    assert line("doctor", "--pool", file).code == 0


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("Yes\n", 0), ("\n", 1), ("", 1)])
def test_a_person_at_a_terminal_is_asked(
    line: Line, folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch, *, typed: str, code: int
) -> None:
    monkeypatch.delenv(HOSTS)
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    terminal = io.StringIO(typed)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    result = line("doctor", "--pool", pool(folder, served, ALPHA, ALPHA.replace("alpha", "beta")))
    assert result.code == code
    assert result.err.count(f"Send ALPHA_API_KEY to {served.base_url.removesuffix('/v1')}? [y/N] ") == 1


@pytest.mark.parametrize("typed", [None, "y\n", "n\n"])
def test_a_command_of_tools_is_accepted_by_an_option_or_at_a_terminal(
    line: Line, folder: Path, monkeypatch: pytest.MonkeyPatch, *, typed: str | None
) -> None:
    file = folder / "mine.toml"
    file.write_text(f'{CLOSED}tools = ["files"]\n[[tools]]\nname = "files"\ncommand = ["serve", "a b"]\n')
    [server] = read_pool(file).tool_servers
    assert not is_accepted(server)
    options = ["--pool", str(file)]
    if typed is None:
        assert (
            "conductor: files may start serve 'a b' from now on."
            in line("doctor", "--accept-tools", *options).err
        )
    else:
        terminal = io.StringIO(typed)
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        assert "Start serve 'a b' for the tools of files? [y/N] " in line("doctor", *options).err
    assert is_accepted(server) is (typed != "n\n")


TOOLS = """
[[tools]]
name = "sums"
built_in = "calculator"

[[tools]]
name = "files"
command = ["serve", "a b"]

[[worker]]
name = "reader"
base_url = "http://127.0.0.1:9/v1"
model = "m"
retries = 0
tools = ["sums", "files:read"]
"""


def test_each_server_of_tools_is_started_if_it_was_accepted_and_its_tools_are_listed(
    line: Line, folder: Path
) -> None:
    (folder / "pool.toml").write_text(SUMS + TOOLS, encoding="utf-8")
    result = line("doctor")
    assert result.code == 1
    rows = [row.split() for row in result.out.splitlines()]
    [sums] = [row for row in rows if row[:3] == ["sums", "-", "starts"]]
    assert sums[5:] == ["conductor-calculator", "1", "named", "built", "in:", "calculator"]
    assert ["sums:calculate", "reads,", "idempotent", "reader"] in rows
    assert ["files", "not", "accepted", "-", "-", "-", "-", "serve", "'a", "b'"] in rows
    assert "\nfiles: serve 'a b' was not accepted on this machine, so it is not started; look" in result.out
    assert result.err == "conductor: asking 2, a short answer each; starting 2 servers of tools\n"
    shape = json.loads(line("doctor", "--json").out)
    first, second = shape["tool_servers"]
    assert (shape["ok"], first["ok"], second["ok"]) == (False, True, False)
    [tool] = first["tools"]
    assert (tool["name"], tool["reads_only"], tool["destructive"]) == ("calculate", True, False)
    assert tool["workers"] == ["reader"]
    assert [finding["word"] for finding in second["findings"]] == ["not accepted", "-"]


def test_a_dry_run_names_the_servers_of_tools(line: Line, folder: Path) -> None:
    (folder / "pool.toml").write_text(SUMS + TOOLS, encoding="utf-8")
    rows = [row.split() for row in line("doctor", "--dry-run").out.splitlines()]
    assert ["sums", "yes", "built", "in:", "calculator"] in rows
    assert ["files", "no:", "its", "command", "was", "not", "accepted", "serve", "'a", "b'"] in rows
    assert json.loads(line("doctor", "--dry-run", "--json").out)["started"] == ["sums", "files"]
