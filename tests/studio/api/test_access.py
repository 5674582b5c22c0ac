"""Access over HTTP with OpenAI's own client: without tokens, with them, within limits and beyond them."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import openai
import pytest

from conductor.errors import WorkerError
from conductor.runs.request import Asker
from conductor.values.charge import Charge
from conductor.values.messages import Completion, Delta, Usage
from conductor.workers.pool.pool import Pool
from conductor.workflow.file import write_plan
from conductor.workflow.model import Step, Workflow
from conductor.workflow.on_failure import OnFailure
from storage.api_token import TokenLimits
from tests.support.processes.api_server import ServedApi, serving_api
from tests.support.runs.waiting import until
from tests.support.runs.worker_cases import Scripted

pytestmark = pytest.mark.slow

QUESTION = [{"role": "user", "content": "Which is it?"}]


@pytest.fixture
def served(empty_store: Path, tmp_path: Path, pool: Pool) -> Iterator[ServedApi]:
    shutil.copyfile(empty_store, tmp_path / "conductor.db")
    with serving_api(tmp_path / "conductor.db", pool) as served:
        yield served


def client(served: ServedApi, key: str | None = None, **more: object) -> openai.OpenAI:
    """OpenAI's client, with this machine's token where no key is given; it asks once."""
    key = served.key if key is None else key
    return openai.OpenAI(base_url=served.base_url, api_key=key, max_retries=0, **more)


def ask(
    served: ServedApi, key: str | None = None, model: str = "worker:alpha"
) -> openai.types.chat.ChatCompletion:
    with client(served, key) as asking:
        return asking.chat.completions.create(model=model, messages=QUESTION)


def test_a_token_is_always_needed(served: ServedApi) -> None:
    assert ask(served).choices[0].message.content
    token, text = served.bench.store.tokens.create("lab")
    assert ask(served, text).choices[0].message.content
    with pytest.raises(openai.AuthenticationError) as refused:
        ask(served, "none")
    assert refused.value.code == "invalid_api_key"
    assert refused.value.response.headers["www-authenticate"] == "Bearer"
    served.bench.store.tokens.revoke(token.id)
    with pytest.raises(openai.AuthenticationError, match="revoked"):
        ask(served, text)
    with pytest.raises(openai.AuthenticationError):
        ask(served, "none")


@pytest.mark.parametrize(
    ("scheme", "status"), [("Bearer", 200), ("bearer  ", 200), ("Basic", 401), ("", 401), ("Bearer\t", 401)]
)
def test_a_token_is_a_bearer_token(served: ServedApi, scheme: str, status: int) -> None:
    headers = {"authorization": f"{scheme} {served.key}".strip()}
    assert httpx.get(f"{served.base_url}/models", headers=headers).status_code == status


def test_a_reverse_proxy_that_adds_no_header_brings_no_one_in(served: ServedApi) -> None:
    # As nginx's plain proxy_pass asks: from this machine, by this machine's address.
    answer = httpx.get(f"{served.base_url}/models")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_what_a_request_used_is_counted_for_its_token(served: ServedApi) -> None:
    token, text = served.bench.store.tokens.create("lab")
    used = [ask(served, text).usage, ask(served, text).usage]
    assert all(used)
    served.paid(2)
    spent = served.bench.store.tokens.spent(token.id)
    assert spent.requests == 2
    assert spent.tokens == sum(usage.conductor["total_tokens"] for usage in used if usage)


def test_answers_show_what_is_left_and_a_refusal_when_to_come_back(served: ServedApi) -> None:
    _, text = served.bench.store.tokens.create("lab", TokenLimits(requests_per_minute=2))
    with client(served, text) as asking:
        first = asking.chat.completions.with_raw_response.create(model="worker:alpha", messages=QUESTION)
        assert first.headers["x-ratelimit-limit-requests"] == "2"
        assert first.headers["x-ratelimit-remaining-requests"] == "1"
        streamed = asking.chat.completions.with_raw_response.create(
            model="worker:alpha", messages=QUESTION, stream=True
        )
        assert streamed.headers["x-ratelimit-remaining-requests"] == "0"
        with pytest.raises(openai.RateLimitError) as refused:
            asking.models.list()
    assert refused.value.code == "rate_limit_exceeded"
    assert 1 <= int(refused.value.response.headers["retry-after"]) <= 30


@pytest.mark.parametrize("reached", ["worker", "fallback"])
@pytest.mark.parametrize("way", ["model", "workflow", "steering", "given workflow", "change"])
def test_no_way_of_asking_leads_to_a_worker_that_a_token_does_not_have(
    served: ServedApi, way: str, reached: str
) -> None:
    _, text = served.bench.store.tokens.create("lab", TokenLimits(workers=("beta",)))
    session = served.bench.ask("Which is it?").id
    step = Step(instruction="Say it.", worker="alpha")
    if reached == "fallback":
        step = Step(instruction="Say it.", worker="beta", on_failure=OnFailure(fallback="alpha"))
    served.bench.store.revisions.add(session, Workflow.of([step]), origin="import", note="Given")
    document = json.loads(served.bench.editing.export(session))
    model, extension = {
        "model": ("worker:alpha", {}),
        "workflow": (f"workflow:{session}", {}),
        "steering": ("conductor", {"workers": ["alpha"]}),
        "given workflow": ("conductor", {"workflow": document}),
        "change": ("conductor", {"workflow": document, "change": "Say it twice."}),
    }[way]
    with client(served, text) as asking, pytest.raises(openai.APIStatusError) as refused:
        asking.chat.completions.create(model=model, messages=QUESTION, extra_body={"conductor": extension})
    assert refused.value.status_code in (400, 403, 404)
    with client(served, text) as asking:
        assert f"workflow:{session}" not in [each.id for each in asking.models.list()]
        planned = asking.chat.completions.create(model="conductor", messages=QUESTION)
    assert {step["worker"] for step in planned.conductor["steps"]} == {"beta"}


@pytest.mark.parametrize("extension", [{"workers": ["nobody"]}, {"exclude": ["nobody"]}, {"workflow": None}])
def test_a_token_reads_no_name_of_a_worker_that_it_does_not_have(
    served: ServedApi, extension: dict[str, object]
) -> None:
    _, text = served.bench.store.tokens.create("lab", TokenLimits(workers=("beta",)))
    if "workflow" in extension:
        step = Step(instruction="Say it.", worker="nobody")
        extension["workflow"] = json.loads(
            write_plan(Workflow.of([step]), query=None, origin="human", workers=("nobody",), label=None)
        )
    with client(served, text) as asking:
        with pytest.raises(openai.APIStatusError, match="beta") as refused:
            asking.chat.completions.create(
                model="conductor", messages=QUESTION, extra_body={"conductor": extension}
            )
        answered = asking.chat.completions.with_raw_response.create(model="conductor", messages=QUESTION)
    assert "alpha" not in refused.value.response.text
    assert "alpha" not in answered.text
    assert json.loads(answered.text)["conductor"]["workflow"]["pool"]["workers"] == ["beta"]


@pytest.mark.parametrize("workers", [("beta",), ("gone",)])
@pytest.mark.parametrize(
    ("method", "path", "extension"),
    [
        ("GET", "responses/{response}", None),
        ("GET", "responses/{response}/input_items", None),
        ("DELETE", "responses/{response}", None),
        ("POST", "responses/{response}/resume", None),
        ("POST", "responses", {"previous_response_id": "{response}", "input": "Why?"}),
        ("POST", "responses", {"model": "workflow:{session}", "input": "Why?"}),
        (
            "POST",
            "responses",
            {"model": "workflow:{session}", "input": "Why?", "conductor": {"change": "No."}},
        ),
        ("GET", "models/workflow:{session}", None),
        ("POST", "responses", {"model": "conductor", "input": "Why?", "conductor": {"workers": ["nobody"]}}),
        ("POST", "responses", {"model": "conductor", "input": "Why?", "conductor": {"exclude": ["beta"]}}),
        ("POST", "responses", {"model": "baseline:moa:aggregator=nobody", "input": "Why?"}),
        ("POST", "responses", {"model": "baseline:reflect:nobody", "input": "Why?"}),
        ("POST", "embeddings", {"model": "worker:nobody", "input": "Why?"}),
    ],
)
def test_what_others_began_and_every_refusal_name_no_other_worker(
    served: ServedApi, workers: tuple[str, ...], method: str, path: str, extension: dict[str, object] | None
) -> None:
    _, text = served.bench.store.tokens.create("lab", TokenLimits(workers=workers))
    with client(served) as owner:
        response = owner.responses.create(model="worker:alpha", input="Which is it?").id
    names = {"response": response, "session": response.removeprefix("resp_")}

    def named(template: str) -> str:
        for name, value in names.items():
            template = template.replace(f"{{{name}}}", value)
        return template

    answer = httpx.request(
        method,
        f"{served.base_url}/{named(path)}",
        content=None if extension is None else named(json.dumps({"model": "worker:beta", **extension})),
        headers={"Authorization": f"Bearer {text}", "Content-Type": "application/json"},
        trust_env=False,
        timeout=60,
    )
    assert answer.status_code in (400, 403, 404, 502), answer.text
    assert "alpha" not in answer.text


def test_a_budget_that_is_used_up_is_not_asked_for_again(served: ServedApi) -> None:
    token, text = served.bench.store.tokens.create("lab", TokenLimits(tokens=1))
    took = Usage(prompt_tokens=1, completion_tokens=1)
    charge = Charge(worker="alpha", kind="model", purpose="step", usage=took)
    served.bench.store.ledger.add((charge,), by=Asker(token=token.id))
    requests: list[httpx.Request] = []
    counting = httpx.Client(event_hooks={"request": [requests.append]})
    with (
        openai.OpenAI(base_url=served.base_url, api_key=text, http_client=counting) as asking,
        pytest.raises(openai.RateLimitError) as refused,
    ):
        asking.chat.completions.create(model="worker:alpha", messages=QUESTION)
    assert refused.value.code == "insufficient_quota"
    assert len(requests) == 1


REPORTED = Usage(prompt_tokens=900, completion_tokens=100, cost=0.5)
SECOND: dict[str, Completion | WorkerError] = {
    "reports no usage": Completion("two"),
    "reports half of it": Completion("two", usage=Usage(prompt_tokens=7)),
    "has no price": Completion("two", usage=Usage(prompt_tokens=7, completion_tokens=3)),
    "fails": WorkerError("Down."),
}


@pytest.mark.parametrize("second", SECOND.values(), ids=SECOND)
def test_what_is_known_of_a_request_counts_for_its_token_whatever_else_was_called(
    empty_store: Path, tmp_path: Path, second: Completion | WorkerError
) -> None:
    shutil.copyfile(empty_store, tmp_path / "conductor.db")
    pool = Pool(workers=(Scripted([Completion("one", usage=REPORTED)]), Scripted([second], "beta")))
    steps = [
        Step(instruction="First.", worker="alpha"),
        Step(instruction="Then.", worker="beta", access=(0,)),
    ]
    workflow = json.loads(write_plan(Workflow.of(steps), query="q", origin="human", workers=(), label=None))
    with serving_api(tmp_path / "conductor.db", pool) as served:
        tokens = served.bench.store.tokens
        token, text = tokens.create("lab", TokenLimits(tokens=1_500))
        with client(served, text) as asking:
            for request in range(3):
                with suppress(openai.APIError) if request < 2 else pytest.raises(openai.RateLimitError):
                    asking.chat.completions.create(
                        model="conductor",
                        messages=QUESTION,
                        extra_body={"conductor": {"workflow": workflow}},
                    )
                until(lambda request=request: tokens.spent(token.id).requests == min(2, request + 1))
        spent = tokens.spent(token.id)
        assert spent.tokens >= 2_000
        assert spent.cost == 1.0
        # The second request was stopped at the limit before its second step.
        assert spent.unknown_costs == (0 if isinstance(second, WorkerError) else 1)


def test_what_an_endpoint_does_not_report_is_charged_by_estimate(empty_store: Path, tmp_path: Path) -> None:
    shutil.copyfile(empty_store, tmp_path / "conductor.db")
    words = "word " * 400
    pool = Pool(workers=(Scripted([Delta(words), Completion(words)]),))
    with serving_api(tmp_path / "conductor.db", pool) as served:
        tokens = served.bench.store.tokens
        token, text = tokens.create("lab", TokenLimits(tokens=1_000))
        with client(served, text) as asking:
            for request in (1, 2):
                with suppress(openai.APIError):
                    asking.chat.completions.create(model="worker:alpha", messages=QUESTION)
                until(lambda request=request: tokens.spent(token.id).requests == request)
                assert tokens.spent(token.id).tokens >= request * 400
            # Each further answer takes of what the ones before have left.
            with pytest.raises(openai.APIError):
                asking.chat.completions.create(
                    model="worker:alpha", messages=QUESTION, n=4, extra_body={"conductor": {}}
                )
        until(lambda: tokens.spent(token.id).requests > 2)
        assert 1_000 <= tokens.spent(token.id).tokens < 1_500


def test_no_token_stands_in_the_store_a_log_or_an_answer(
    served: ServedApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="conductor")
    caplog.set_level(logging.DEBUG, logger="uvicorn")
    token, text = served.bench.store.tokens.create("lab")
    answers = [ask(served, text).to_json()]
    for wrong in (f"{text}x", text[:-2]):
        with pytest.raises(openai.AuthenticationError) as refused:
            ask(served, wrong)
        answers.append(str(refused.value.body))
    served.bench.store.tokens.revoke(token.id)
    with pytest.raises(openai.AuthenticationError) as refused:
        ask(served, text)
    answers += [str(refused.value.body), caplog.text]
    secret = text.rpartition(f"{token.id}_")[2][:-2]
    assert not [each for each in answers if secret in each]
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert token.id.encode() in content
    assert secret.encode() not in content
