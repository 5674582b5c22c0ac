"""Which vLLM an interpreter has, the command line and environment it gets, and the pool lines that fit it."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import ServeError
from conductor.vllm.serving import Installed, Serving, extra_flags, installed_vllm, open_to_others
from conductor.workers.pool.pool import parse_pool
from conductor.workers.pool.schema import ConductorTable
from conductor.workers.wording.wording import OURS
from tests.support.endpoints.fake_vllm import OLDER_SERVER, SERVER, fake_vllm
from tests.support.stores.research_copy import write_copy

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
        *("--generation-config", "vllm"),
        *("--max-model-len", "8192"),
    ]


@pytest.mark.parametrize(
    ("card", "flags"),
    [
        (24, "--max-model-len 16384 --max-num-seqs 32 --gpu-memory-utilization 0.90"),
        (80, "--max-model-len 32768 --max-num-seqs 256 --gpu-memory-utilization 0.92"),
    ],
)
def test_a_card_has_its_length_and_its_memory(card: int, flags: str) -> None:
    assert " ".join(serving(card=card).command(GPU)).endswith(flags)
    assert "--max-model-len 4096 --max-num-seqs" in " ".join(
        serving(card=card, max_model_len=4096).command(GPU)
    )


def test_without_a_card_length_and_memory_are_vllms_own() -> None:
    command = serving().command(GPU)
    assert not {"--max-model-len", "--max-num-seqs", "--gpu-memory-utilization"} & set(command)


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({"reasoning_parser": "qwen3"}, ["--reasoning-parser", "qwen3"]),
        ({"tool_call_parser": "hermes"}, ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]),
    ],
)
def test_a_model_that_thinks_or_calls_tools_is_read_as_it_writes(
    changes: dict[str, str], flags: list[str]
) -> None:
    assert serving(**changes).command(GPU)[-len(flags) :] == flags
    assert not set(flags) & set(serving().command(GPU))


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


def test_the_server_reports_to_no_one() -> None:
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
    assert [worker.card.context for worker in pool.workers] == [8192]


def test_the_pool_lines_of_the_researchs_conductor_are_a_pool_with_its_prompt(tmp_path: Path) -> None:
    copy = str(write_copy(tmp_path))
    for more, begins in (({}, OURS.prefill), ({"prompt_from": copy}, "First I part it. ")):
        text = serving(prompt="research", **more).pool_lines(context=None)
        entry = parse_pool(text).conductor
        assert isinstance(entry, ConductorTable)
        assert (entry.prompt_style, entry.dialect, entry.max_tokens) == ("research", "binary", 1024)
        assert (entry.build().card.wording or OURS).prefill == begins


def test_without_a_key_and_a_known_context_the_pool_lines_name_neither() -> None:
    document = tomllib.loads(serving().pool_lines(context=None))
    assert list(document["conductor"]) == ["base_url", "model"]
    assert list(document["worker"][0]) == ["name", "base_url", "model", "strengths"]


# -- the installed vLLM, asked of an interpreter that is started for it ------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "cpu"),
    [
        ({"distribution": "vllm", "version": "0.32.0", "server": SERVER}, False),
        ({"distribution": "vllm", "version": "0.12.1", "server": OLDER_SERVER}, False),
        ({"distribution": "vllm", "version": "0.33.0+cpu", "server": SERVER}, True),
        ({"distribution": "vllm-cpu", "version": "0.32.0", "server": SERVER}, True),
    ],
)
def test_version_server_and_device_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: dict[str, str], cpu: bool
) -> None:
    monkeypatch.setenv("PYTHONPATH", fake_vllm(tmp_path, **package))
    vllm = installed_vllm(sys.executable)
    assert (vllm.server, vllm.version) == (package["server"], package["version"])
    assert vllm.cpu is (cpu or sys.platform == "darwin")


@pytest.mark.slow
def test_the_newer_server_is_taken_and_a_cpu_named_in_the_environment_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = fake_vllm(tmp_path)
    older = tmp_path.joinpath(*OLDER_SERVER.split(".")).with_suffix(".py")
    older.parent.mkdir(parents=True)
    older.write_text("", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", site)
    monkeypatch.setenv("VLLM_TARGET_DEVICE", "cpu")
    vllm = installed_vllm(sys.executable)
    assert (vllm.server, vllm.cpu) == (SERVER, True)


@pytest.mark.slow
def test_missing_vllm_is_one_sentence_with_the_command_that_installs_it() -> None:
    with pytest.raises(ServeError) as error:
        installed_vllm(sys.executable)
    assert str(error.value) == (
        f"vLLM is not installed for {sys.executable}; install it with: "
        f"{sys.executable} -m pip install vllm - or name another environment's Python by --python."
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "server", "message"),
    [
        ("0.9.2", OLDER_SERVER, "vLLM 0.9.2 of .* is too old .* 0.12 or newer: .* -m pip install --upgrade"),
        ("9.0.0", None, "vLLM 9.0.0 of .* has no server module that we know"),
    ],
)
def test_a_vllm_that_cannot_be_used_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, server: str | None, message: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", fake_vllm(tmp_path, version=version, server=server))
    with pytest.raises(ServeError, match=message):
        installed_vllm(sys.executable)


@pytest.mark.slow
def test_a_folder_named_vllm_where_one_stands_is_no_vllm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vllm").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ServeError, match="not installed"):
        installed_vllm(sys.executable)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("/nowhere/python", "/nowhere/python cannot be run: No such file"),
        ("/bin/echo", "/bin/echo does not answer as Python does"),
        ("/bin/false", "exit code 1"),
    ],
)
def test_what_is_no_python_is_stated(python: str, message: str) -> None:
    with pytest.raises(ServeError, match=re.escape(message)):
        installed_vllm(python)
