"""`[[tools]]` tables name servers, a worker names which of their tools it may call, and faults have lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.errors import PoolError
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import parse_pool
from conductor.workers.tools.tool_server import ToolServer
from conductor.workers.tools.tool_worker import ROUNDS, ToolWorker, without_tools

ALPHA = '[[worker]]\nname = "alpha"\nbase_url = "http://localhost:1/v1"\nmodel = "m"\n'
TOOLS = 'tools = ["files:read_*", "sums"]\n'
FILES = '[[tools]]\nname = "files"\ncommand = ["files", "."]\nenv = ["LANG"]\n'
SUMS = '[[tools]]\nname = "sums"\nbuilt_in = "calculator"\n'


def test_a_worker_has_the_tools_that_it_names(tmp_path: Path) -> None:
    worker = parse_pool(ALPHA + TOOLS + FILES + SUMS, folder=tmp_path, pool="/pool.toml")["alpha"]
    assert isinstance(worker, ToolWorker)
    assert worker.servers == (
        ToolServer(name="files", command=("files", "."), cwd=str(tmp_path), env=("LANG",), pool="/pool.toml"),
        ToolServer(name="sums", built_in="calculator", pool="/pool.toml"),
    )
    assert (worker.card.tools, worker.rounds, worker.permissions.never) == (
        ("files:read_*", "sums"),
        ROUNDS,
        frozenset(),
    )
    assert without_tools(worker).card.tools == ()


def test_what_a_server_states_counts_as_its_table_has_it() -> None:
    own = 'ask = "first"\ntrust = false\npinned = false\n'
    worker = parse_pool(ALPHA + 'tools = ["files"]\n' + FILES + own)["alpha"]
    assert isinstance(worker, ToolWorker)
    [server] = worker.servers
    assert (server.trust, server.pinned, worker.permissions.first) == (False, False, frozenset({"files"}))


def test_a_server_whose_tools_need_no_yes_may_act() -> None:
    worker = parse_pool(ALPHA + 'tools = ["files"]\ntool_rounds = 3\n' + FILES + 'ask = "never"\n')["alpha"]
    assert isinstance(worker, ToolWorker)
    assert (worker.permissions.never, worker.rounds) == (frozenset({"files"}), 3)


def test_a_worker_with_tools_has_its_fallback() -> None:
    beta = ALPHA.replace("alpha", "beta")
    pool = parse_pool(ALPHA + 'tools = ["sums"]\nfallback = "beta"\n' + beta + SUMS)
    alpha = pool["alpha"]
    assert isinstance(alpha, FallbackWorker)
    assert isinstance(alpha.first, ToolWorker)
    assert alpha.second is pool["beta"]
    assert not isinstance(without_tools(alpha), ToolWorker)
    assert pool.only({"alpha"})["alpha"].card.tools == ("sums",)


FAULTS = [
    (SUMS + 'command = ["x"]\n', "line 1: [[tools]] 1, kind: "),
    ('[[tools]]\nname = "none"\n', "set one of built_in, command and url"),
    ('[[tools]]\nname = "a b"\nbuilt_in = "calculator"\n', "line 2: [[tools]] 1, name: "),
    ('[[tools]]\nname = "code"\nbuilt_in = "python"\n', "allow_code = true allows it"),
    ('[[tools]]\nname = "x"\nbuilt_in = "browser"\n', "line 3: [[tools]] 1, built_in: "),
    (SUMS + SUMS, "line 5: [[tools]] 2, name: two servers are named 'sums'"),
    ('[[tools]]\nname = "x"\nurl = "ftp://x"\n', "line 3: [[tools]] 1, url: "),
    (SUMS + 'headers = { Authorization = "WEB_API_KEY" }\n', "headers need a url"),
    ('[[tools]]\nname = "x"\nurl = "http://x/mcp"\nheaders = { A = "sk-marked value" }\n', "headers: "),
    (SUMS + "seconds = 0\n", "line 4: [[tools]] 1, seconds: "),
    (SUMS + 'ask = "sometimes"\n', "line 4: [[tools]] 1, ask: "),
    (FILES + 'color = "red"\n', "line 5: [[tools]] 1, color: unknown key"),
    ('tools = "calculator"\n', "write [[tools]] with two brackets"),
]


@pytest.mark.parametrize(("text", "reason"), FAULTS)
def test_a_wrong_table_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(PoolError) as caught:
        parse_pool(text + ALPHA)
    assert reason in str(caught.value)
    assert "sk-marked" not in str(caught.value)


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        ('["sum"]', "line 5: worker 1, tools: no [[tools]] table is named 'sum'; there are sums."),
        ('["sums:"]', "line 5: worker 1, tools: "),
        ('"sums"', "line 5: worker 1, tools: "),
    ],
)
def test_a_worker_that_names_no_tools_of_the_file_is_refused(tools: str, reason: str) -> None:
    with pytest.raises(PoolError) as caught:
        parse_pool(ALPHA + f"tools = {tools}\n" + SUMS)
    assert reason in str(caught.value)
