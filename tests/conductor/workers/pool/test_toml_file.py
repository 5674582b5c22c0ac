"""A pool file may name served models and a Conductor; every fault has its line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import PoolError
from conductor.values.messages import Sampling
from conductor.workers.embedded.embedded_worker import EmbeddedEndpoint
from conductor.workers.embedded.model_file import SHIPPED_MODEL
from conductor.workers.endpoint.config import Endpoint, Patience
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.health.probe import targets
from conductor.workers.keys.hosts import HOSTS
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool, parse_pool, read_pool
from conductor.workers.pool.schema import ConductorTable, LocalConductorTable, ModelTable
from conductor.workers.pool.toml_file import named_files
from conductor.workers.protocol import Price
from tests.support.runs.local_conductor import write_untrained

pytestmark = pytest.mark.usefixtures("no_collection")

CONDUCTOR = """\
[conductor]
base_url = "http://localhost:8000/v1"
model = "conductor"
"""

ALPHA = """\
[[worker]]
name = "alpha"
base_url = "http://localhost:1/v1"
model = "a"
"""

FULL = """\
[[worker]]
kind = "model"
name = "alpha"
base_url = "http://localhost:1/v1"
model = "a"
api_key_env = "ALPHA_API_KEY"
strengths = "hard code"
temperature = 1
max_tokens = 100
reasoning_effort = "low"
price_prompt = 1
price_completion = 2.5
price_cached = 0.1
context = 8192
concurrency = 2
requests_per_minute = 30
connect_seconds = 1
first_token_seconds = 2.5
between_tokens_seconds = 3
total_seconds = 4
retries = 0
max_characters = 1000
fallback = "beta"
prompt_style = "research"

[worker.extra]
top_k = 3
nested = { list = [1, "two", true] }

[[worker]]
kind = "simulated"
name = "beta"
"""


def test_every_key_of_a_model_reaches_its_worker() -> None:
    pool = parse_pool(FULL)
    alpha = pool["alpha"]
    assert isinstance(alpha, FallbackWorker)
    assert alpha.second is pool["beta"]
    assert isinstance(alpha.first, OpenAIWorker)
    assert alpha.first.client.endpoint == Endpoint(
        base_url="http://localhost:1/v1",
        model="a",
        api_key_env="ALPHA_API_KEY",
        patience=Patience(connect=1, first_token=2.5, between_tokens=3, total=4),
        retries=0,
        concurrency=2,
        requests_per_minute=30,
        max_characters=1000,
        reasoning_effort="low",
        extra={"top_k": 3, "nested": {"list": [1, "two", True]}},
    )
    card = pool.cards["alpha"]
    assert (card.strengths, card.prompt_style, card.fallback) == ("hard code", "research", "beta")
    assert card.sampling == Sampling(temperature=1, max_tokens=100)
    assert (card.price, card.context) == (Price(prompt=1, completion=2.5, cached=0.1), 8192)


def test_a_model_needs_a_name_an_address_and_what_it_serves_and_no_more() -> None:
    pool = parse_pool(ALPHA)
    worker = pool["alpha"]
    assert isinstance(worker, OpenAIWorker)
    assert worker.client.endpoint == Endpoint(base_url="http://localhost:1/v1", model="a")
    assert pool.label is None
    assert pool.conductor is None


def test_a_pool_may_hold_all_kinds() -> None:
    pool = parse_pool(ALPHA + "[[worker]]\nkind = 'simulated'\nname = 'beta'\n")
    assert [worker.card.kind for worker in pool.workers] == ["model", "simulated"]
    assert pool.label is None


def test_the_conductor_is_what_its_table_states() -> None:
    least = parse_pool(CONDUCTOR + ALPHA).conductor
    assert least is not None
    assert least.endpoint == Endpoint(base_url="http://localhost:8000/v1", model="conductor")
    assert (least.name, least.strengths, least.sampling, least.price) == ("conductor", None, Sampling(), None)
    assert (least.dialect, least.prompt_style, least.constrain) == ("any", "ours", "auto")
    assert not least.as_worker
    more = """\
name = "chief"
strengths = "plans"
dialect = "binary"
prompt_style = "research"
constrain = "regex"
temperature = 0.5
max_tokens = 1024
reasoning_effort = "low"
extra = { top_k = 1 }
leave_out = ["temperature", "stream"]
total_seconds = 9
retries = 1
as_worker = true
"""
    entry = parse_pool(CONDUCTOR + more + ALPHA).conductor
    assert entry is not None
    assert (entry.name, entry.strengths, entry.dialect) == ("chief", "plans", "binary")
    assert (entry.prompt_style, entry.constrain, entry.as_worker) == ("research", "regex", True)
    assert entry.sampling == Sampling(temperature=0.5, max_tokens=1024)
    assert (entry.endpoint.patience.total, entry.endpoint.retries) == (9, 1)
    assert (entry.endpoint.reasoning_effort, entry.endpoint.extra) == ("low", {"top_k": 1})
    assert entry.endpoint.leave_out == ("temperature", "stream")
    assert '"leave_out": ["stream", "temperature"]' in entry.endpoint.parameters


def _alpha(**keys: Any) -> str:
    """A worker with these keys after its own, each as TOML."""
    return ALPHA + "".join(f"{key} = {value}\n" for key, value in keys.items())


BETA = ALPHA.replace("alpha", "beta")


KEY_FAULTS = [
    ("modle", '"a"', "unknown key. Did you mean model? A parameter of the endpoint's own goes"),
    ("price_in", "1", "unknown key. Did you mean price_prompt?"),
    ("temprature", "1", "unknown key. Did you mean temperature?"),
    ("zzz", "1", "unknown key. A parameter of the endpoint's own goes"),
    ("api_key", '"sk-marked"', "unknown key. Keys do not belong into"),
    ("token", '"sk-marked"', "unknown key. Keys do not belong into"),
    ("api_key_env", '"sk-marked"', "write the name of an environment"),
    ("extra", '{ api_key = "sk-marked" }', "api_key looks like a key"),
    ("extra", "{ model = 3 }", "model cannot be set in extra"),
    ("extra", "{ day = 2020-01-01 }", "every extra parameter must be a text"),
    ("extra", "3", "write a table, with its keys and"),
    ("leave_out", '["temprature"]', "Input should be 'system', 'stream'"),
    ("leave_out", '"stream"', "Input should be a valid tuple"),
    ("kind", '"openai"', 'needs kind = "embedded", kind = "calculator", kind = "python" or'),
    ("temperature", "3", "Input should be less than or equal to 2"),
    ("temperature", "true", "Input should be a valid number"),
    ("max_tokens", "0", "Input should be greater than or equal to 1"),
    ("max_tokens", "1.5", "Input should be a valid integer"),
    ("retries", "-1", "Input should be greater than or equal to 0"),
    ("total_seconds", "0", "Input should be greater than 0"),
    ("total_seconds", "inf", "Input should be a finite number"),
    ("price_prompt", "-1", "Input should be greater than or equal"),
    ("price_prompt", "1", "it needs price_completion too."),
    ("price_completion", "1", "it needs price_prompt too."),
    ("price_cached", "1", "it needs price_prompt too."),
    ("prompt_style", '"mine"', "Input should be 'ours' or 'research'"),
    ("fallback", '"gamma"', "there is no worker named 'gamma'"),
    ("fallback", '"alpha"', "alpha → alpha is a circle; end it at"),
]

OTHERS = """
[[worker]]
kind = "simulated"
name = "quick"
latency = 0.5

[[worker]]
kind = "calculator"
name = "sums"
"""

FILE_FAULTS = [
    ("", "has no worker"),
    ("worker = 3", "two brackets"),
    ("[worker]\nname = 'a'", "two brackets"),
    ("worker = [1]", "line 1: worker 1"),
    ("[[worker]]\nname = ", "not valid TOML"),
    ("tokens = " + "1" * 5_000, "whole number of more than 640 digits"),
    ("worker = " + "[" * 100_000, "nested too deeply"),
    ("[[worker]]\nname = 'a'", "line 1: worker 1, kind: needs kind"),
    ("[[worker]]\nname = 'a'\nbase_ur = 'http://a/v1'\nmodel = 'a'", "base_ur: unknown key; write base_url"),
    (
        "[[worker]]\nname = 'a'\napi_base = 'http://a/v1'\nmodel = 'a'",
        "api_base: unknown key; write base_url",
    ),
    (OTHERS + "latenci = 1", "line 10: worker 2, latenci: unknown key"),
    (OTHERS.replace("latency = 0.5", "latenci = 0.5"), "line 5: worker 1, latenci: unknown key"),
    (OTHERS.replace("0.5", "-1"), "line 5: worker 1, latency: Input should be greater"),
    (OTHERS.replace('"quick"', '""'), "line 4: worker 1, name"),
    (OTHERS.replace('name = "sums"\n', ""), "line 7: worker 2, name: Field required"),
    (OTHERS.replace("sums", "quick"), "line 9: a second worker is named 'quick'"),
    (ALPHA.replace("model =", "modell ="), "line 4: worker 1, modell: unknown key; write model."),
    (
        ALPHA.replace("localhost", "user:sk-marked@localhost"),
        "line 3: worker 1, base_url: a user and password do not belong into this file",
    ),
    (
        ALPHA.replace("/v1", "/v1?key=sk-marked"),
        "line 3: worker 1, base_url: a key in the URL does not belong into this file",
    ),
    (f"{ALPHA}[worker.extra]\nstream = false\n", "line 5: worker 1, extra: stream cannot be set in extra"),
    (_alpha(extra="{}") + "\n\nextra.stream = false", "is not valid TOML"),
    (ALPHA.replace("http://localhost:1/v1", "localhost"), "line 3: worker 1, base_url: write a whole URL"),
    (ALPHA.replace('"a"', '""'), "line 4: worker 1, model: String should have at least 1 character"),
    (ALPHA.replace('model = "a"\n', ""), "line 1: worker 1, model: Field required"),
    (ALPHA.replace('name = "alpha"\n', "") + BETA, "line 1: worker 1, name: Field required"),
    (_alpha(kind='"calculator"'), "line 3: worker 1, base_url: unknown key"),
    ("[[worker]]\nkind = 'python'\nname = 'a'", "line 1: worker 1, allow_code: this worker runs code"),
    (
        BETA + 'fallback = "alpha"\n' + _alpha(fallback='"beta"'),
        "line 5: worker 1, fallback: beta → alpha → beta is a circle",
    ),
    (
        _alpha(fallback='"beta"') + BETA + 'fallback = "gamma"\n',
        "line 10: worker 2, fallback: there is no worker named 'gamma'; there are alpha, beta.",
    ),
    (CONDUCTOR, "has no worker"),
    (CONDUCTOR + 'expert = "facts"\n' + ALPHA, "line 4: [conductor], expert: unknown key."),
    (CONDUCTOR + 'dialect = "french"\n' + ALPHA, "line 4: [conductor], dialect: Input should be 'any',"),
    (CONDUCTOR + "as_worker = 1\n" + ALPHA, "line 4: [conductor], as_worker: Input should be a valid bool"),
    (CONDUCTOR + "price_prompt = 1\n" + ALPHA, "line 4: [conductor], price_prompt: it needs"),
    (ALPHA + CONDUCTOR.replace('model = "conductor"\n', ""), "line 5: [conductor], model: Field required"),
    (ALPHA + "[[conductor]]\nname = 'c'\n", "line 5: write one [conductor] table, with single brackets."),
    (
        CONDUCTOR + 'as_worker = true\nname = "alpha"\n' + ALPHA,
        "line 7: a second worker is named 'alpha'; give each its own name.",
    ),
    (ALPHA + "[pool]\nname = 'a'\n", "line 5: unknown key 'pool'; use [[worker]] tables and one [conductor]"),
    (
        ALPHA + 'strengths = """\n[[worker]]\nretries = 9\n"""\nretries = "no"\n',
        "line 9: worker 1, retries: Input should be a valid integer",
    ),
    ('worker = [{ name = "a", base_url = "http://h/v1" }]', "line 1: worker 1, model: Field required"),
]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *(
            (_alpha(**{key: value}), f"line 5: worker 1, {key}: {reason}")
            for key, value, reason in KEY_FAULTS
        ),
        *FILE_FAULTS,
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_line(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "my pool.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PoolError) as caught:
        read_pool(file)
    message = str(caught.value)
    assert reason in message
    assert "my pool.toml" in message
    assert "\n" not in message
    assert "sk-marked" not in message + repr(caught.value.__cause__)


def test_the_same_name_for_the_conductor_is_fine_where_it_is_no_worker() -> None:
    assert parse_pool(CONDUCTOR + 'name = "alpha"\n' + ALPHA).names == ("alpha",)


@pytest.mark.parametrize("where", ["environment", "file"])
def test_a_key_is_found_in_the_environment_and_in_the_secrets_file(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = _alpha(api_key_env='"ALPHA_API_KEY"')
    assert parse_pool(text).unusable == {
        "alpha": "ALPHA_API_KEY is not set; export it, or write it into .streamlit/secrets.toml."
    }
    monkeypatch.setenv(HOSTS, "ALPHA_API_KEY=http://localhost:1")
    if where == "environment":
        monkeypatch.setenv("ALPHA_API_KEY", "sk-marked")
    else:
        (tmp_path / ".streamlit").mkdir()
        secrets = tmp_path / ".streamlit/secrets.toml"
        secrets.write_text('ALPHA_API_KEY = "sk-marked"', encoding="utf-8")
        secrets.chmod(0o600)
    pool = parse_pool(text)
    assert not pool.unusable
    assert "sk-marked" not in repr(pool)


def test_a_chain_of_stand_ins_ends_at_the_pools_own_workers() -> None:
    gamma = ALPHA.replace("alpha", "gamma")
    pool = parse_pool(_alpha(fallback='"beta"') + BETA + 'fallback = "gamma"\n' + gamma)
    alpha, beta = pool["alpha"], pool["beta"]
    assert isinstance(alpha, FallbackWorker)
    assert isinstance(alpha.second, FallbackWorker)
    assert isinstance(beta, FallbackWorker)
    # One object each, so that a worker's limits hold for every caller.
    assert alpha.second.first is beta.first
    assert alpha.second.second is pool["gamma"]


def test_a_worker_without_its_key_is_marked_and_the_others_are_not() -> None:
    keyless = _alpha(api_key_env='"ALPHA_API_KEY"')
    pool = parse_pool(CONDUCTOR + 'api_key_env = "ONE_API_KEY"\n' + keyless + BETA)
    assert pool.names == ("alpha", "beta")
    assert list(pool.unusable) == ["alpha"]
    assert [target.card.unusable is None for target in targets(pool)] == [False, False, True]


def test_a_worker_without_its_key_can_be_used_where_another_stands_in() -> None:
    keyless = _alpha(api_key_env='"ALPHA_API_KEY"', fallback='"beta"')
    pool = parse_pool(keyless + BETA)
    assert not pool.unusable
    assert targets(pool)[0].card.unusable is not None
    assert targets(pool)[0].offered
    assert list(parse_pool(keyless + BETA + 'api_key_env = "ONE_API_KEY"\n').unusable) == ["alpha", "beta"]


ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "pool.example.toml"
SEVEN = {
    "gemini-2.5-pro",
    "claude-sonnet-4",
    "gpt-5",
    "deepseek-r1-distill-qwen-32b",
    "gemma-3-27b-it",
    "qwen3-32b-reasoning",
    "qwen3-32b-direct",
}


def _example(monkeypatch: pytest.MonkeyPatch) -> Pool:
    for variable in ("CONDUCTOR", "OPENAI_API", "ANTHROPIC_API", "GEMINI_API", "OPENROUTER_API"):
        monkeypatch.setenv(f"{variable}_KEY", "sk-marked")
    monkeypatch.setenv("TOGETHER_API_KEY", "sk-marked")
    monkeypatch.setenv("VLLM_API_KEY", "sk-marked")
    return read_pool(EXAMPLE)


@pytest.mark.slow
def test_the_example_shows_every_kind_of_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = _example(monkeypatch)
    assert pool.conductor is not None
    hosts = {card.endpoint.split("/")[2] for card in pool.cards.values() if card.endpoint}
    assert hosts >= {
        "api.openai.com",
        "api.anthropic.com",
        "generativelanguage.googleapis.com",
        "openrouter.ai",
        "api.together.ai",
        "localhost:8001",
        "localhost:11434",
        "localhost:1234",
        "localhost:8080",
    }


@pytest.mark.parametrize(
    ("file", "limits", "gemini", "claude", "effort"),
    [
        ("pool.paper.toml", {4096}, {"max_tokens": 128}, {"enabled": False}, "minimal"),
        (
            "pool.paper-evaluation.toml",
            {32_768, 64_000, 65_535, 128_000},
            {"max_tokens": 32_768},
            {"max_tokens": 32_768},
            "high",
        ),
    ],
)
def test_the_papers_pools_have_its_thinking_limits(
    file: str, limits: set[int], gemini: dict[str, Any], claude: dict[str, Any], effort: str
) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    tables = {entry["name"]: entry for entry in tomllib.loads(text)["worker"]}
    pool = parse_pool(text)
    assert set(pool.names) == SEVEN
    cards = [pool[name].card for name in pool.names]
    assert {card.sampling.max_tokens for card in cards} == limits
    assert all(card.price is not None for card in cards)
    assert tables["gemini-2.5-pro"]["extra"]["reasoning"] == gemini
    assert tables["claude-sonnet-4"]["extra"]["reasoning"] == claude
    assert tables["gpt-5"]["reasoning_effort"] == effort
    assert tables["qwen3-32b-direct"]["extra"]["top_k"] == 20


def test_the_example_shows_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = _example(monkeypatch)
    text = EXAMPLE.read_text(encoding="utf-8")
    last = pool[pool.names[-1]]
    assert isinstance(last, FallbackWorker)
    for key in {*ModelTable.model_fields, *ConductorTable.model_fields}:
        assert f"{key} =" in text, key


def test_the_example_without_its_keys_marks_those_that_need_one() -> None:
    pool = read_pool(EXAMPLE)
    assert {name for name in pool.names if name not in pool.unusable} == {
        *("gemma-ollama", "gpt-oss-lmstudio", "llama-cpp")
    }


LOCAL = '[conductor]\nkind = "local"\nmodel = "models/small"\n'


@pytest.mark.slow
def test_a_local_conductor_is_read_from_a_folder_beside_the_file(tmp_path: Path):
    folder = write_untrained(tmp_path / "models" / "small")
    pool = parse_pool(LOCAL + ALPHA, folder=tmp_path)
    assert pool.conductor == LocalConductorTable(kind="local", model=str(folder))
    conductor, _ = targets(pool)
    assert (conductor.card.kind, conductor.card.model, conductor.endpoint) == ("embedded", "small", None)
    files = named_files(LOCAL + ALPHA, tmp_path)
    assert {file.name for file in files} >= {"model.safetensors", "conductor-card.json"}
    assert all(file.is_file() for file in files)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LOCAL, r"line 3: \[conductor\], model: .*models/small is not a folder"),
        ('[conductor]\nkind = "local"\n', "model: Field required"),
        ('[conductor]\nkind = "remote"\nmodel = "x"\n', 'needs kind = "local" or kind = "embedded"'),
        (LOCAL + 'base_url = "http://localhost:1/v1"\n', "base_url: unknown key"),
        (LOCAL + "temperature = 3\n", "temperature: Input should be less than or equal to 2"),
    ],
)
def test_a_local_conductor_that_cannot_be_read_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
):
    with pytest.raises(PoolError, match=message):
        parse_pool(text + ALPHA, folder=tmp_path)


def test_a_pool_file_names_embeddings_and_what_baselines_learnt(tmp_path: Path) -> None:
    tables = (
        '[embeddings]\nbase_url = "http://localhost:1/v1"\nmodel = "small"\n'
        '[fitted]\nrouter = "learnt/router.json"\nother_one-2 = "/var/other.json"\n'
    )
    pool = parse_pool(ALPHA + tables, folder=tmp_path)
    assert pool.embeddings is not None
    assert pool.embeddings.endpoint == Endpoint(base_url="http://localhost:1/v1", model="small")
    assert pool.fitted == {
        "router": tmp_path / "learnt" / "router.json", "other_one-2": Path("/var/other.json")
    }  # fmt: skip
    assert (parse_pool(ALPHA).embeddings, parse_pool(ALPHA).fitted) == (None, {})


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (f'{ALPHA}[embeddings]\nkind = "embedded"\n', SHIPPED_MODEL),
        (f'{ALPHA}[embeddings]\nkind = "embedded"\nmodel = "own/tiny.gguf"\n', "{folder}/own/tiny.gguf"),
        ('workers = "built-in"\n', SHIPPED_MODEL),
        ('workers = "orchard"\n', None),
    ],
)
def test_an_embedded_model_makes_embeddings_where_it_is_named_and_for_the_built_in_set(
    tmp_path: Path, text: str, source: str | None
) -> None:
    table = parse_pool(text, folder=tmp_path).embeddings
    assert (None if table is None else table.model) == (source and source.format(folder=tmp_path))
    assert table is None or isinstance(table.endpoint, EmbeddedEndpoint)


def test_an_endpoint_takes_the_place_of_the_built_in_sets_embeddings() -> None:
    table = '[embeddings]\nbase_url = "http://localhost:1/v1"\nmodel = "small"\n'
    pool = parse_pool(f'workers = "built-in"\n{table}')
    assert pool.embeddings is not None
    assert pool.embeddings.endpoint.base_url == "http://localhost:1/v1"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('[embeddings]\nmodel = "a"\n', "line 6: [embeddings], base_url: Field required."),
        (
            '[embeddings]\nmodel = "a"\nbase_url = "localhost"\n',
            "line 8: [embeddings], base_url: write a",
        ),
        ('[[embeddings]]\nmodel = "a"\n', "line 6: write one [embeddings] table, with single brackets."),
        ("[fitted]\nrouter = 1\n", "line 7: [fitted], router: write NAME = "),
        ('[fitted]\n"a.json" = "b"\n', "line 7: [fitted], a.json: write NAME = "),
    ],
)
def test_a_fault_in_these_tables_has_its_line(table: str, message: str) -> None:
    with pytest.raises(PoolError) as caught:
        parse_pool(f"{ALPHA}\n{table}")
    assert message in str(caught.value)


def test_a_pool_file_names_planners_and_the_one_that_plans(tmp_path: Path) -> None:
    tables = '[planners]\nmine = "learn/mine/planner.json"\nold = "/var/old.json"\n'
    pool = parse_pool(f'planner = "mine"\n{ALPHA}{tables}', folder=tmp_path)
    assert pool.planner == "mine"
    assert pool.planners == {
        "mine": tmp_path / "learn" / "mine" / "planner.json", "old": Path("/var/old.json")
    }  # fmt: skip
    assert (parse_pool(ALPHA).planner, parse_pool(ALPHA + tables).planner) == (None, None)


@pytest.mark.parametrize(
    ("top", "tables", "message"),
    [
        ("planner = 3", "", "line 1: [planners] names no 3; write its file there."),
        ('planner = "mine"', '[planners]\nold = "a.json"\n', "line 1: [planners] names no 'mine'"),
        ("", "[planners]\nmine = 3\n", "[planners], mine: write NAME = "),
        ("", "[[planners]]\nmine = 'a'\n", "write one [planners] table, with single brackets."),
    ],
)
def test_a_planner_without_a_file_is_refused_with_its_line(top: str, tables: str, message: str) -> None:
    with pytest.raises(PoolError) as caught:
        parse_pool(f"{top}\n{ALPHA}{tables}")
    assert message in str(caught.value)


def test_the_files_of_planners_are_among_those_that_a_pool_file_names(tmp_path: Path) -> None:
    assert named_files('[planners]\nmine = "learn/mine/planner.json"\n', tmp_path) == (
        tmp_path / "learn/mine/planner.json",
    )
