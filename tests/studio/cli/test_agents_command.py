"""`agents`: the configuration of other people's clients, and the token with it."""

from __future__ import annotations

import json
import shlex
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from storage import SessionStore
from storage.api_token import read_token
from studio.cli.agents import URL, VARIABLE, configurations
from tests.studio.cli.command_line import Line

DOCS = Path(__file__).parents[3] / "docs" / "agents.md"
HOSTILE = "a\"b\\c $d `e` {f} 'g' #h"


def token_names() -> list[str]:
    with SessionStore.open("sqlite:///data/conductor.db") as store:
        return [token.name for token in store.tokens.listed()]


def values(client: str, block: str) -> Mapping[str, object]:
    """The address and the model that a client reads from its block."""
    match client:
        case "codex":
            read = tomllib.loads(block)
            return {"url": read["model_providers"]["conductor"]["base_url"], "model": read["model"]}
        case "opencode":
            read = json.loads(block)
            url = read["provider"]["conductor"]["options"]["baseURL"]
            return {"url": url, "model": read["model"].removeprefix("conductor/")}
        case "qwen":
            read = json.loads(block)
            return {"url": read["modelProviders"]["openai"][0]["baseUrl"], "model": read["model"]["name"]}
        case "aider" | "llm":
            # Each value is a string of JSON, as YAML has them, too.
            lines = dict(line.removeprefix("- ").strip().split(": ", 1) for line in block.splitlines())
            url, model = ("openai-api-base", "model") if client == "aider" else ("api_base", "model_name")
            return {"url": json.loads(lines[url]), "model": json.loads(lines[model]).removeprefix("openai/")}
    raise AssertionError(f"there is no reader of the block of {client}")


def test_without_a_client_all_are_listed_and_no_token_is_made(line: Line) -> None:
    listed = json.loads(line("agents", "--json").out)["clients"]
    assert [entry["name"] for entry in listed] == list(configurations())
    assert all(entry["title"] in line("agents").out for entry in listed)
    assert token_names() == []


def test_the_token_may_store_what_codex_asks_not_to(line: Line, simulated: str) -> None:
    for name, more in (("plain", ()), ("stored", ("--keeps-unstored",))):
        assert line("agents", "codex", "--pool", simulated, "--name", name, *more).code == 0
    tokens = json.loads(line("tokens", "list", "--json").out)["tokens"]
    assert {token["name"]: token["limits"]["keeps_unstored"] for token in tokens} == {
        "plain": False,
        "stored": True,
    }


@pytest.mark.parametrize("client", configurations())
def test_a_block_is_alone_on_stdout_and_the_token_beside_it(line: Line, simulated: str, client: str) -> None:
    result = line("agents", client, "--pool", simulated)
    assert result.code == 0
    configuration = configurations()[client].filled_in(url=URL, model="conductor", small_model="worker:alpha")
    assert result.out == f"{configuration.block}\n"
    remark, export, *start = result.err.splitlines()
    assert configuration.path in remark
    assert start == configuration.start.splitlines()
    key = shlex.split(export)[1].removeprefix(f"{VARIABLE}=")
    read = read_token(key)
    assert read is not None
    assert read[1] not in result.out
    assert token_names() == [client]


@pytest.mark.parametrize("client", ["codex", "opencode", "qwen", "aider", "llm"])
@pytest.mark.parametrize(
    ("url", "model"), [("https://studio.example:8600/v1", "worker:a"), (HOSTILE, HOSTILE)]
)
def test_a_client_reads_the_address_and_the_model_as_they_were_given(
    line: Line, client: str, url: str, model: str
) -> None:
    result = line("agents", client, "--url", url, "--model", model, "--small-model", HOSTILE, "--json")
    assert values(client, json.loads(result.out)["block"]) == {"url": url, "model": model}


@pytest.mark.parametrize("client", ["openai-agents", "langchain"])
def test_a_block_of_python_is_valid_whatever_the_model_is_called(line: Line, client: str) -> None:
    block = json.loads(line("agents", client, "--model", HOSTILE, "--small-model", "x", "--json").out)[
        "block"
    ]
    assert repr(HOSTILE)[1:-1].replace("\\'", "'") in block.replace('\\"', '"')
    compile(block, client, "exec")


def test_a_token_file_is_this_users_alone_and_is_where_the_shell_reads_it(line: Line, folder: Path) -> None:
    file = folder / "it's a key"
    result = line("agents", "codex", "--name", "laptop", "--token-file", str(file))
    text = file.read_text(encoding="ascii")
    assert read_token(text) is not None
    assert (file.stat().st_mode & 0o777, token_names()) == (0o600, ["laptop"])
    assert text not in result.out + result.err
    export = result.err.splitlines()[1]
    done = subprocess.run(
        ["sh", "-c", f'{export}; printf %s "${VARIABLE}"'], capture_output=True, encoding="ascii", check=True
    )
    assert done.stdout == text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nobody",), 2, "choose codex, opencode, qwen, aider, llm"),
        (("codex", "--token-file", "no/folder/key"), 1, "cannot be written"),
        (("codex", "--pool", "no.toml"), 1, "no.toml"),
    ],
)
def test_what_cannot_be_printed_makes_no_token(
    line: Line, arguments: tuple[str, ...], code: int, words: str
) -> None:
    result = line("agents", *arguments)
    assert (result.code, result.out) == (code, "")
    assert words in " ".join(result.err.split())
    assert token_names() == []


def test_a_second_token_needs_a_name_of_its_own(line: Line) -> None:
    assert line("agents", "codex").code == 0
    result = line("agents", "codex")
    assert (result.code, result.out) == (1, "")
    assert "There is a token 'codex' already" in result.err


@pytest.mark.parametrize("client", configurations())
def test_the_document_has_each_block_as_it_is_printed(client: str) -> None:
    configuration = configurations()[client].filled_in(url=URL, model="conductor", small_model="worker:NAME")
    text = DOCS.read_text(encoding="utf-8")
    section = text[text.index(f"\n## {configuration.title}\n") :]
    for part in (configuration.start, configuration.block):
        indented = "".join(f"    {row}\n" if row else "\n" for row in part.splitlines())
        assert indented in section, f"docs/agents.md is to have:\n\n{indented}"
    assert configuration.path in section
