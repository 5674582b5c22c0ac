"""Where a worker fails before its first word another one stands in for it, with a note."""

from __future__ import annotations

from conductor.errors import WorkerError
from conductor.values.messages import Completion, Delta, Retried, Sampling
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from tests.support.endpoints.chat_cases import endpoint, lines_of, request
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.worker_cases import Plain, Raising, Scripted, played
from tests.support.runs.workflow_cases import workflow_of


def _model(served: Served, name: str, model: str = "simulated", **sampling: float | int) -> OpenAIWorker:
    return OpenAIWorker(
        endpoint(served.base_url, model, retries=0), name=name, sampling=Sampling.model_validate(sampling)
    )


FAILED = "answered 500 Internal Server Error: “The server had an error while processing your request”"


async def test_another_worker_answers_and_is_named(fake_openai: Served) -> None:
    first = _model(fake_openai, "alpha", "fault:error-500")
    worker = FallbackWorker(first, SimulatedWorker(name="beta", answer="blue"))
    host = first.client.endpoint.host
    assert await lines_of(worker.stream(request())) == [
        f"beta (simulated) instead: alpha: {host} {FAILED}; run the step again later.",
        "text: blue",
        "stop: 6 tokens",
    ]
    assert worker.card is first.card


async def test_who_has_written_a_word_is_not_replaced(fake_openai: Served) -> None:
    worker = FallbackWorker(_model(fake_openai, "alpha", "fault:hang-up"), SimulatedWorker(name="beta"))
    text, error = await lines_of(worker.stream(request()))
    assert text.startswith("text: Simulated answer")
    assert "broke the connection after" in error


async def test_who_has_withdrawn_its_words_is_replaced() -> None:
    first = Scripted(
        [Delta("green"), Retried(attempt=1, message="Broke.", seconds=0, withdrawn=5), WorkerError("Gone.")]
    )
    worker = FallbackWorker(first, SimulatedWorker(name="beta", answer="blue"))
    assert await lines_of(worker.stream(request())) == [
        "text: green",
        "attempt 1: Broke. (5 withdrawn)",
        "beta (simulated) instead: Gone.",
        "text: blue",
        "stop: 6 tokens",
    ]


async def test_who_answers_is_not_replaced(fake_openai: Served) -> None:
    worker = FallbackWorker(_model(fake_openai, "alpha", "fault:empty"), SimulatedWorker(name="beta"))
    (end,) = await lines_of(worker.stream(request()))
    assert end.startswith("stop: ")


async def test_what_does_not_fit_one_context_may_fit_anothers(fake_openai: Served) -> None:
    small = OpenAIWorker(endpoint(fake_openai.base_url), name="alpha", context=10)
    worker = FallbackWorker(small, SimulatedWorker(name="beta", answer="blue"))
    lines = await lines_of(worker.stream(request("x" * 1_000)))
    assert lines[0].startswith("beta (simulated) instead: alpha has a context of 10 tokens")
    assert lines[1] == "text: blue"


async def test_the_one_that_stands_in_may_have_one_itself(fake_openai: Served) -> None:
    second = FallbackWorker(
        _model(fake_openai, "beta", "fault:bad-request-400"), SimulatedWorker(name="gamma", answer="blue")
    )
    worker = FallbackWorker(_model(fake_openai, "alpha", "fault:error-500"), second)
    lines = await lines_of(worker.stream(request()))
    assert [line.partition(":")[0] for line in lines] == [
        "beta (model) instead",
        "gamma (simulated) instead",
        "text",
        "stop",
    ]


async def test_the_last_one_that_fails_states_why(fake_openai: Served) -> None:
    worker = FallbackWorker(
        _model(fake_openai, "alpha", "fault:error-500"), _model(fake_openai, "beta", "fault:bad-request-400")
    )
    fell_back, error = await lines_of(worker.stream(request()))
    assert fell_back.startswith("beta (model) instead: alpha: ")
    assert error.startswith("error: alpha: ")
    assert "Its fallback beta failed, too: beta: " in error


async def test_a_fault_of_a_workers_program_is_not_hidden(fake_openai: Served) -> None:
    worker = FallbackWorker(Raising(ZeroDivisionError("by zero"), name="alpha"), SimulatedWorker(name="beta"))
    state = await played(workflow_of(()), Pool(workers=(worker,)))
    assert "alpha broke with ZeroDivisionError" in (state.steps[0].message or "")


async def test_both_may_answer_by_a_plain_iterator() -> None:
    nothing = FallbackWorker(
        Raising(WorkerError("gone"), pieces=()), Plain([Completion(text="blue")], "beta")
    )
    something = FallbackWorker(Plain([Completion(text="blue")]), SimulatedWorker(name="beta"))
    for worker, answering in ((nothing, "beta"), (something, "alpha")):
        state = await played(workflow_of(()), Pool(workers=(worker, SimulatedWorker(name="beta"))))
        (output,) = state.outputs.values()
        assert (output.text, output.worker) == ("blue", answering)


async def test_the_one_that_stands_in_is_asked_with_its_own_defaults(fake_openai: Served) -> None:
    first = _model(fake_openai, "alpha", "fault:bad-request-400", temperature=0.2, max_tokens=50)
    worker = FallbackWorker(first, _model(fake_openai, "beta", temperature=0.9))
    # The step's own limit of tokens stays; its temperature was the first worker's default.
    await lines_of(worker.stream(request(temperature=0.2, max_tokens=9)))
    body = fake_openai.settled().body or {}
    assert (body["temperature"], body["max_tokens"]) == (0.9, 9)
    await lines_of(worker.stream(request(temperature=0.2, max_tokens=50)))
    assert "max_tokens" not in (fake_openai.settled().body or {})


async def test_a_run_marks_whose_answer_it_is(fake_openai: Served) -> None:
    other = _model(fake_openai, "beta")
    pool = Pool(workers=(FallbackWorker(_model(fake_openai, "alpha", "fault:error-500"), other), other))
    state = await played(workflow_of(()), pool)
    (output,) = state.outputs.values()
    assert (output.worker, output.instead_of) == ("beta", "alpha")


def test_a_pool_without_some_workers_is_without_them_as_fallbacks() -> None:
    alpha, beta, gamma = (SimulatedWorker(name=name) for name in ("alpha", "beta", "gamma"))
    pool = Pool(workers=(FallbackWorker(alpha, FallbackWorker(beta, gamma)), beta, gamma))
    for names, chain in (
        ({"alpha", "beta", "gamma"}, ["alpha", "beta", "gamma"]),
        ({"alpha", "beta"}, ["alpha", "beta"]),
        ({"alpha", "gamma"}, ["alpha"]),
    ):
        worker = pool.only(names)["alpha"]
        left = []
        while isinstance(worker, FallbackWorker):
            left.append(worker.first.card.name)
            worker = worker.second
        assert [*left, worker.card.name] == chain
        assert pool.only(names).cards.keys() & {"alpha", "beta", "gamma"} == names
