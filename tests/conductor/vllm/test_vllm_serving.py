"""The command line and the environment that vLLM gets, and the pool lines that fit the server."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from conductor.errors import ServeError
from conductor.vllm.installed import Installed
from conductor.vllm.serving import Serving, extra_flags, open_to_others
from conductor.workers.pool.pool import parse_pool

GPU = Installed(python="/env/bin/python", server="vllm.server", version="0.32.0", cpu=False)
CPU = GPU.model_copy(update={"cpu": True})
QWEN = "Qwen/Qwen2.5-7B-Instruct"


def serving(**changes: Any) -> Serving:
    return Serving(model=QWEN, **changes)


def test_the_command_line_has_what_this_job_needs() -> None:
    assert serving(port=8123, max_model_len=8192).command(GPU) == [
        *("/env/bin/python", "-m", "vllm.server"),
        *("--model", QWEN),
        *("--served-model-name", "conductor"),
        *("--host", "127.0.0.1"),
        *("--port", "8123"),
        "--enable-prefix-caching",
        *("--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}'),
        *("--max-model-len", "8192"),
    ]


def test_a_cpu_gets_numbers_it_can_compute_and_no_compiler() -> None:
    command = serving().command(CPU)
    assert command[-3:] == ["--dtype", "float32", "--enforce-eager"]


@pytest.mark.parametrize("vllm", [GPU, CPU])
def test_flags_after_the_dashes_come_last_and_so_win_over_ours(vllm: Installed) -> None:
    extra = ("--dtype", "bfloat16", "--no-enforce-eager", "--structured_outputs_config={}")
    assert tuple(serving(extra=extra).command(vllm)[-len(extra) :]) == extra


@pytest.mark.parametrize("flag", ["--api-key", "--api-key=sk-1", "--api_key", "--api-k"])
def test_a_key_on_the_command_line_is_refused_and_not_repeated(flag: str) -> None:
    with pytest.raises(ServeError, match="CONDUCTOR_KEY by default") as error:
        extra_flags(["--seed", "1", flag, "sk-1"])
    assert "sk-1" not in str(error.value)


@pytest.mark.parametrize(
    ("flag", "ours"), [("--port", "--port"), ("--served_model_name=x", "--served-name"), ("--host", "--host")]
)
def test_a_flag_that_is_an_option_here_is_refused(flag: str, ours: str) -> None:
    with pytest.raises(ServeError, match=f"give {ours} before the --"):
        extra_flags([flag])


def test_the_key_reaches_the_server_by_its_environment_only() -> None:
    server = serving(key_env="CONDUCTOR_KEY")
    environment = server.environment(GPU, inherited={"PATH": "/bin", "VLLM_API_KEY": "old"}, key="sk-1")
    assert environment["VLLM_API_KEY"] == "sk-1"
    assert environment["PATH"] == "/bin"
    assert "sk-1" not in " ".join(server.command(GPU)) + server.pool_lines(context=None) + repr(server)
    assert "VLLM_API_KEY" not in server.environment(GPU, inherited={"VLLM_API_KEY": "old"}, key=None)


def test_the_server_reports_to_nobody() -> None:
    environment = serving().environment(GPU, inherited={}, key=None)
    assert (environment["VLLM_NO_USAGE_STATS"], environment["DO_NOT_TRACK"]) == ("1", "1")


@pytest.mark.parametrize(
    ("vllm", "inherited", "gibibytes"),
    [
        (GPU, {}, None),
        (CPU, {}, "4"),
        (CPU, {"VLLM_CPU_KVCACHE_SPACE": "30"}, "30"),
    ],
)
def test_the_cache_of_a_cpu_is_bounded_unless_its_size_is_set(
    vllm: Installed, inherited: dict[str, str], gibibytes: str | None
) -> None:
    environment = serving().environment(vllm, inherited=inherited, key=None)
    assert environment.get("VLLM_CPU_KVCACHE_SPACE") == gibibytes


@pytest.mark.parametrize(
    ("host", "url", "others"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000", False),
        ("localhost", "http://localhost:8000", False),
        ("::1", "http://[::1]:8000", False),
        ("0.0.0.0", "http://127.0.0.1:8000", True),
        ("::", "http://[::1]:8000", True),
        ("10.0.0.5", "http://10.0.0.5:8000", True),
    ],
)
def test_the_address_is_the_one_to_reach_it_from_here(host: str, url: str, others: bool) -> None:
    assert serving(host=host).url == url
    assert open_to_others(host) is others


def test_the_pool_lines_are_toml_with_address_model_and_the_variable_of_the_key() -> None:
    text = serving(port=8123, key_env="MY_API_KEY", served_name='the "big" one').pool_lines(context=8192)
    reach = {"base_url": "http://127.0.0.1:8123/v1", "model": 'the "big" one', "api_key_env": "MY_API_KEY"}
    assert tomllib.loads(text) == {
        "conductor": reach,
        "worker": [
            {"name": "Qwen2.5-7B-Instruct", **reach, "strengths": "general questions", "context": 8192}
        ],
    }


def test_the_pool_lines_are_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDUCTOR_KEY", "sk-1")
    pool = parse_pool(serving(key_env="CONDUCTOR_KEY").pool_lines(context=8192))
    assert pool.conductor is not None
    assert pool.conductor.endpoint.model == "conductor"
    assert pool.names == ("Qwen2.5-7B-Instruct",)
    assert [card.context for card in pool.cards.values()] == [8192]


def test_without_a_key_and_a_known_context_the_pool_lines_name_neither() -> None:
    document = tomllib.loads(serving().pool_lines(context=None))
    assert list(document["conductor"]) == ["base_url", "model"]
    assert list(document["worker"][0]) == ["name", "base_url", "model", "strengths"]


def test_the_structured_outputs_flag_is_json() -> None:
    command = serving().command(GPU)
    value = command[command.index("--structured-outputs-config") + 1]
    assert json.loads(value) == {"backend": "xgrammar", "disable_any_whitespace": True}
