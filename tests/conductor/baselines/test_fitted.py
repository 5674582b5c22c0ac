"""What a baseline learnt is kept in a file, read back, and refused where it is not what it claims to be."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from conductor.baselines.encoder import Encoder
from conductor.baselines.fitted import (
    Fitted,
    ResultTable,
    WorkerResult,
    identity_hash,
    read_fitted,
    write_fitted,
)
from conductor.baselines.learning.learners import fit
from conductor.baselines.named import Baseline, planner_named
from conductor.baselines.options import Options
from conductor.engine.meter import Meter, Requests
from conductor.errors import ConductorError, DataError, FormatError, PlanError
from conductor.planner.conductor import PlanRequest
from conductor.planner.planner import plan
from conductor.runs.events import AnswerKept, PlanningFailed, WorkflowPlanned
from conductor.values.budget import NO_BUDGET
from conductor.values.messages import NOTHING_USED, Usage
from conductor.workers.pool.pool import Pool
from conductor.workers.pool.schema import EmbeddingsTable
from conductor.workers.simulated import SimulatedWorker
from tests.support.endpoints.fake_openai import Served

NAMES = ("alpha", "beta")
CITIES = [f"What is the capital of {country}?" for country in ("Peru", "Chile", "Japan", "Egypt", "Kenya")]
SUMS = [f"What is {n} + {n + 1}?" for n in range(5)]
ROWS = [
    WorkerResult(question=question, worker=name, right=(name == "alpha") == (question in SUMS), tokens=10)
    for question in (*CITIES, *SUMS)
    for name in NAMES
]


def pool_of(*names: str, **more: Any) -> Pool:
    return Pool(workers=tuple(SimulatedWorker(name) for name in names), **more)


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return asyncio.run(fit("routerdc", ROWS, cards=pool_of(*NAMES).cards, options=Options()))


async def planned(name: str, query: str, pool: Pool) -> tuple[list[str], str]:
    """The workers of the plan, and why; the reason of a failure instead."""
    request = PlanRequest(query=query, workers=tuple(pool.cards[each] for each in pool.names))
    async for event in plan(request, conductor=planner_named(name, pool), run="r"):
        if isinstance(event, PlanningFailed):
            return [], event.message
        if isinstance(event, WorkflowPlanned):
            assert event.report.workflow is not None
            return [step.worker for step in event.report.workflow.steps], event.report.reasoning
    raise AssertionError("planning has an end")


@pytest.mark.thorough
@pytest.mark.slow
async def test_a_file_is_read_back_and_routes_questions_it_has_not_seen(
    fitted: Fitted, tmp_path: Path
) -> None:
    file = tmp_path / "router.json"
    write_fitted(fitted, file)
    assert read_fitted(file, baseline="routerdc") == fitted
    pool = pool_of(*NAMES, "gamma", fitted={"mine": file})
    for name in (f"baseline:routerdc:fitted={file}", "baseline:routerdc:fitted=mine"):
        assert (await planned(name, "What is 12 + 30?", pool))[0] == ["alpha"]
        workers, why = await planned(name, "What is the capital of Spain?", pool)
        assert workers == ["beta"]
        assert "Similarities: beta 0." in why
        assert "alpha" in why
        assert "gamma" not in why
    planner = planner_named("baseline:routerdc:fitted=mine", pool)
    assert planner.card.strengths.endswith("Questions are compared by TF-IDF.")
    assert fitted.saw("What is  the capital of Peru?\n")
    assert not fitted.saw("What is the capital of Spain?")


@pytest.mark.thorough
@pytest.mark.slow
async def test_another_pool_is_refused_and_a_part_of_it_is_not(fitted: Fitted, tmp_path: Path) -> None:
    file = tmp_path / "router.json"
    write_fitted(fitted, file)
    name = f"baseline:routerdc:fitted={file}"
    assert (await planned(name, "What is 1 + 1?", pool_of("beta", "gamma")))[0] == ["beta"]
    _, failure = await planned(name, "1 + 1?", pool_of("gamma"))
    assert "fitted on another pool: none of alpha, beta is offered" in failure
    other = Pool(workers=(SimulatedWorker("alpha", seed=7), SimulatedWorker("beta")))
    _, failure = await planned(name, "1 + 1?", other)
    assert "its worker 'alpha' is not the one of now" in failure


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{not json", "it is not JSON"),
        ("[1]", "its format is not 'conductor-baseline'"),
        ('{"format": "conductor-workflow"}', "its format is not 'conductor-baseline'"),
        ('{"format": "conductor-baseline", "version": 2}', "has version 2, and this program reads version 1"),
        ('{"format": "conductor-baseline", "version": 1}', "is damaged: baseline: Field required"),
        ("other", "was fitted for smoothie, not for routerdc"),
        ("damaged", "The fitted parameters of routerdc are damaged: projection: Field required"),
    ],
)
async def test_what_is_no_file_of_it_is_named(content: str | None, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "router.json"
    if content in ("other", "damaged"):
        kind = "smoothie" if content == "other" else "routerdc"
        encoder = Encoder.of(["What?"])
        write_fitted(
            Fitted(baseline=kind, encoder=encoder, workers=(("alpha", "0"),), questions=(), parameters={}),
            file,
        )
        document = json.loads(file.read_text(encoding="utf-8"))
        cards = pool_of("alpha").cards
        document["workers"] = [["alpha", identity_hash(cards["alpha"])]]
        file.write_text(json.dumps(document), encoding="utf-8")
    elif content is not None:
        file.write_text(content, encoding="utf-8")
    _, failure = await planned(f"baseline:routerdc:fitted={file}", "What?", pool_of("alpha"))
    assert reason in failure


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("baseline:routerdc", "plans by what it learnt: write that with `evaluate fit ID baseline:routerdc`"),
        ("baseline:routerdc:fitted=mine", "The pool file names no fitted parameters 'mine'"),
        ("baseline:smoothie:k=3", "takes k only with fitted"),
        ("baseline:smoothie:fitted=a.json,embeddings=yes", "takes no embeddings with fitted"),
    ],
)
def test_without_learnt_parameters_there_is_no_plan(name: str, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        checked(name)


def checked(name: str) -> None:
    planner = planner_named(name, pool_of(*NAMES))
    assert isinstance(planner, Baseline)
    planner.check()


async def test_what_learns_nothing_is_not_fitted() -> None:
    vote = planner_named("baseline:vote")
    assert isinstance(vote, Baseline)
    with pytest.raises(PlanError, match="learns nothing; these do: baseline:"):
        await vote.fit(ROWS, cards=pool_of(*NAMES).cards)
    named = planner_named("baseline:routerdc:embeddings=yes", pool_of(*NAMES))
    assert isinstance(named, Baseline)
    with pytest.raises(PlanError, match="There is no endpoint for embeddings"):
        await named.fit(ROWS, cards=pool_of(*NAMES).cards)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([row for row in ROWS if row.worker == "alpha"], "fewer than two workers alone"),
        (
            [row for row in ROWS if (row.worker == "alpha") == (row.question in SUMS)],
            "No question was answered",
        ),
    ],
)
def test_rows_from_which_nothing_can_be_learnt_are_refused(rows: list[WorkerResult], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        ResultTable(rows)


def test_results_are_means_over_repeats_of_what_all_workers_answered() -> None:
    rows = [
        WorkerResult(question="a", worker="alpha", right=True, tokens=10, cost=0.5),
        WorkerResult(question="a", worker="alpha", right=False, tokens=30, cost=0.5),
        WorkerResult(question="a", worker="beta", right=True, tokens=80, cost=0.1),
        WorkerResult(question="b", worker="beta", right=True, tokens=80, cost=0.1),
    ]
    results = ResultTable(rows)
    assert (results.questions, results.workers) == (("a",), ("alpha", "beta"))
    assert results.shares_right() == [[0.5, 1.0]]
    assert results.costs() == [[1.0, 0.2]]
    unpriced = [row.model_copy(update={"cost": None}) for row in rows]
    assert ResultTable(unpriced).costs() == [[0.25, 1.0]]
    unknown = [row.model_copy(update={"tokens": None}) for row in unpriced]
    assert ResultTable(unknown).costs() == [[0.0, 0.0]]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    fitted = Fitted(baseline="routerdc", encoder=Encoder(), workers=(), questions=(), parameters={})
    with pytest.raises(FormatError, match="cannot be written"):
        write_fitted(fitted, tmp_path / "nowhere" / "router.json")
    assert issubclass(FormatError, ConductorError)


@pytest.mark.slow
async def test_what_embeddings_took_is_charged_once_in_fitting_and_in_each_plan(
    fake_openai: Served, tmp_path: Path
) -> None:
    pool = pool_of(*NAMES, embeddings=EmbeddingsTable(base_url=fake_openai.base_url, model="letters"))
    named = planner_named("baseline:routerdc:embeddings=yes", pool)
    assert isinstance(named, Baseline)
    used: list[Usage] = []
    write_fitted(await named.fit(ROWS, cards=pool.cards, note=used.append), tmp_path / "router.json")
    assert [each.prompt_tokens for each in used] == [embedded_tokens(fake_openai)]
    fake_openai.log.clear()
    planner = planner_named(f"baseline:routerdc:fitted={tmp_path / 'router.json'}", pool)
    request = PlanRequest(query="What is 12 + 30?", workers=tuple(pool.cards.values()))
    requests = Requests(Meter(NO_BUDGET), planner.card, lambda: (), purpose="plan")
    events = [event async for event in plan(request, conductor=planner, run="r", requests=requests)]
    charges = [event.charge for event in events if isinstance(event, WorkflowPlanned)]
    assert [charge and (charge.worker, charge.usage.total) for charge in charges] == [
        (planner.card.name, embedded_tokens(fake_openai))
    ]
    again = request.model_copy(update={"round": 2})
    answer = [event async for event in plan(again, conductor=planner, run="r")][-1]
    assert isinstance(answer, AnswerKept)
    assert answer.usage == NOTHING_USED, "no text is embedded for it"


def embedded_tokens(served: Served) -> int:
    """What the endpoint reported for the texts of its only request."""
    (entry,) = served.log.entries
    assert entry.body is not None
    return sum(len(text.split()) for text in entry.body["input"])


@pytest.mark.thorough
@pytest.mark.slow
async def test_an_endpoints_embeddings_are_kept_to_the_endpoint_that_gave_them(
    fake_openai: Served, tmp_path: Path
) -> None:
    file = tmp_path / "router.json"
    table = EmbeddingsTable(base_url=fake_openai.base_url, model="letters")
    pool = pool_of(*NAMES, embeddings=table)
    named = planner_named("baseline:routerdc:embeddings=yes", pool)
    assert isinstance(named, Baseline)
    fitted = await named.fit(ROWS, cards=pool.cards)
    assert len(fake_openai.log.entries) == 1
    assert fitted.encoder == Encoder(kind="endpoint", model="letters", base_url=fake_openai.base_url)
    write_fitted(fitted, file)
    name = f"baseline:routerdc:fitted={file}"
    assert (await planned(name, "What is 12 + 30?", pool))[0] == ["alpha"]
    card = planner_named(name, pool).card
    assert card.strengths.endswith("Questions are compared by embeddings by letters.")
    for other, reason in (
        (pool_of(*NAMES), "There is no endpoint for embeddings"),
        (
            pool_of(*NAMES, embeddings=table.model_copy(update={"model": "words"})),
            "fitted with embeddings by letters",
        ),
    ):
        assert reason in (await planned(name, "What is 12 + 30?", other))[1]
