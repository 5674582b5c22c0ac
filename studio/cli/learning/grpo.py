"""`learn grpo`: the published recipe on a GPU. How it is asked for, what it will cost, what it leaves.

Knows options and prints; `conductor.learning` trains.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ValidationError
from typer import Argument, BadParameter

from conductor.engine.estimate import ANSWER_TOKENS, TOKENS_A_SECOND
from conductor.errors import DataError, PoolError
from conductor.evaluation.items import DataSet
from conductor.learning.environment import check_environment
from conductor.learning.gauges import Stopped
from conductor.learning.grpo.cost import TrainingCost, training_cost, usable
from conductor.learning.grpo.recipe import RECIPES, GrpoRecipe, GrpoRun
from conductor.learning.grpo.trainer.training import Tracker, Training
from conductor.learning.reward import Variant
from conductor.limited.command import check_isolation
from conductor.text.formatting import dollars, quantity
from conductor.workers.pool.pool import configured_pool
from storage import data_folder, default_url
from studio.cli.cluster import judge_on, on_cluster
from studio.cli.evaluation.questions import Questions
from studio.cli.opening import confirm_keys
from studio.cli.options import Pooled, PromptFrom, above_zero, count, flag, option
from studio.cli.output.terminal import UNKNOWN, agreed, print_remark, table

StopsOnCollapse = Annotated[bool, flag("--stop-on-collapse", "End where the gauges give alarm.")]
"""For every training that has gauges."""

Out = Annotated[
    Path | None,
    option("What is written; without it learn/ and the command's name beside the store.", "DIR", Path),
]
"""For every training."""

_PANEL = "What differs from the recipe"


_differs, _so_many = partial(option, panel=_PANEL), partial(count, panel=_PANEL)


@dataclass(frozen=True)
class Differing:
    """What is to differ from the recipe, by the names of its fields; None is as the recipe has it."""

    model: Annotated[str | None, _differs("A model's name on the hub, or its folder.", "NAME")] = None
    steps: Annotated[int | None, _so_many("Steps.")] = None
    questions: Annotated[int | None, _so_many("Questions a step.")] = None
    rollouts: Annotated[int | None, _so_many("Completions a question.", least=2)] = None
    per_device: Annotated[int | None, _so_many("Completions learnt from at a time.")] = None
    learning_rate: Annotated[float | None, _differs("The learning rate.", "RATE", above_zero)] = None
    prompt_tokens: Annotated[int | None, _so_many("The longest prompt.")] = None
    completion_tokens: Annotated[int | None, _so_many("The longest completion.")] = None
    reward: Annotated[Variant | None, _differs("0, 0.5, 1 as in the paper, or its code's sums.")] = None
    price: Annotated[float | None, _differs("Taken off for a thousand tokens of workers.", "REWARD")] = None
    pools: Annotated[
        Literal["whole", "random"] | None,
        _differs("Offer the pool, or a random part of it for each question."),
    ] = None
    rounds: Annotated[int | None, _so_many("Rounds: 2 learns to look back.", most=2)] = None
    discount: Annotated[float | None, _differs("What the second round counts for the first.", "SHARE")] = None
    lora: Annotated[int | None, _so_many("Train an adapter of this rank only.", "RANK")] = None
    gpu_memory: Annotated[float | None, _differs("vLLM's share of a GPU's memory.", "SHARE")] = None
    sleep: Annotated[
        bool, flag("--sleep", "vLLM gives its memory back while weights are learnt.", panel=_PANEL)
    ] = False
    held_out: Annotated[
        float | None, _differs("Questions to evaluate on and not to learn from.", "SHARE")
    ] = None
    evaluate_every: Annotated[int | None, _so_many("Steps from evaluation to evaluation.")] = None
    save_every: Annotated[int | None, _so_many("Steps from checkpoint to checkpoint.")] = None
    seed: Annotated[int | None, _differs("Decides all that is random.", "N")] = None
    prompt_from: PromptFrom = None
    strict_form: Annotated[
        bool, flag("--strict-form", "Read plans as the research code does, without repairs.", panel=_PANEL)
    ] = False
    fresh: Annotated[bool, flag("--fresh", "Share no outputs among rollouts.", panel=_PANEL)] = False


def grpo(
    data: Annotated[
        str,
        Argument(
            metavar="DATA", help="JSON Lines, CSV or Parquet; - is stdin; or a name of `evaluate sets`."
        ),
    ],
    recipe: Annotated[Literal["paper"], option("The settings to begin from.")] = "paper",
    out: Out = None,
    dry_run: Annotated[bool, flag("--dry-run", "Print what it will call and cost, and end.")] = False,
    yes: Annotated[bool, flag("--yes", "Spend what it costs without a question.")] = False,
    *,
    cpu: Annotated[bool, flag("--cpu", "Without GPU and vLLM: to try a tiny model.")] = False,
    ray: Annotated[
        str | None, option("Run the workflows on the Ray cluster whose head is there.", "HOST:PORT", str)
    ] = None,
    stop_on_collapse: StopsOnCollapse = False,
    report_to: Annotated[Tracker | None, option("Send the metrics there, too.")] = None,
    source: Questions,
    differing: Differing,
    options: Pooled,
) -> int:
    """Train a large Conductor by GRPO on a GPU, with TRL and vLLM, on the pool's workers.

    The same command goes on with a run that was interrupted. What is trained is in DIR/conductor, a folder
    that `conductor vllm` serves.
    """
    chosen = _recipe(recipe, differing)
    questions = source.questions(data)
    pool = configured_pool(options.pool)
    if not dry_run:
        confirm_keys(options.pool, ask=True)
    if dry_run:
        cards = tuple(worker.card for worker in pool.workers)
        cost = training_cost(chosen, questions.items, pool, cards)
        shape = {"recipe": chosen.model_dump(mode="json"), **asdict(cost)}
        return options.show(shape, _lines(chosen, cost))
    if not usable(pool):
        raise PoolError(f"No worker of the pool can be called: {next(iter(pool.unusable.values()))}")
    cost = training_cost(chosen, questions.items, pool, usable(pool))
    _check_scorers(questions, allow_code=source.allow_code)
    check_environment(cpu=cpu, report_to=report_to)
    with on_cluster(ray):
        _agree(cost, yes=yes)
        with judge_on(ray, pool, options, chosen, allow_code=source.allow_code) as judge:
            training = Training(
                chosen, questions.items, pool, usable(pool), folder_of(out, "grpo"), data=questions.name,
                judge=judge, allow_code=source.allow_code, cpu=cpu, stop_on_collapse=stop_on_collapse,
                report_to=report_to,
            )  # fmt: skip
            return _train(training, digest=questions.digest, options=options)


def folder_of(out: Path | None, command: str, *, database: str | None = None) -> Path:
    """The folder of a training: `out`, else the command's beside the store, where the app has its own."""
    return out or data_folder(database or default_url()) / "learn" / command


def _recipe(name: str, differing: Differing) -> GrpoRecipe:
    values = {field.name: getattr(differing, field.name) for field in fields(differing)}
    changed = {name: value for name, value in values.items() if value is not None and value is not False}
    try:
        return GrpoRecipe.model_validate(RECIPES[name].model_dump() | changed)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"--{str(part).replace('_', '-')}: " for part in first["loc"])
        raise BadParameter(f"{place}{first['msg']}") from error


def _train(training: Training, *, digest: str, options: Pooled) -> int:
    out = training.folder
    identities = tuple((card.name, card.identity) for card in training.cards)
    run = GrpoRun(recipe=training.recipe, data=training.data, digest=digest, workers=identities)
    # Of several processes, as `accelerate launch` starts them, the first one writes.
    resume = run.begin(out, write=os.environ.get("RANK", "0") == "0")
    if resume:
        print_remark(f"{out} has this run already: it goes on from its last checkpoint, if there is one.")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from conductor.learning.grpo.trainer.trl_grpo import train  # noqa: PLC0415 - imports torch

    outcome = train(training, resume=resume, remark=print_remark)
    if isinstance(outcome, Stopped):
        raise DataError(f"{outcome.reason}; the run so far is in {out}.")
    lines = pool_lines(training.recipe)
    print_remark(f"serve it with: conductor vllm --model {outcome}; the lines for pool.toml follow")
    return options.show({"folder": str(outcome), "pool": lines}, lines.removesuffix("\n"))


def pool_lines(recipe: GrpoRecipe) -> str:
    """The table of a pool file that uses what was trained, once `conductor vllm` serves it."""
    return (
        '[conductor]\nbase_url = "http://localhost:8000/v1"\nmodel = "conductor"\n'
        f'dialect = "{recipe.dialect}"\nprompt_style = "{recipe.prompt_style}"\n'
        + (f"prompt_from = {json.dumps(recipe.prompt_from)}\n" if recipe.prompt_from else "")
    )


# -- what is checked beforehand --------------------------------------------------------------------


def _check_scorers(questions: DataSet, *, allow_code: bool) -> None:
    code = next((item for item in questions.items if item.scored_by == "code"), None)
    if code is not None and not allow_code:
        raise DataError(
            f"The item {code.id!r} is scored by running the program that a model wrote; allow it with "
            "--allow-code."
        )
    if code is not None:
        asyncio.run(check_isolation())


def _agree(cost: TrainingCost, *, yes: bool) -> None:
    """Raises `PoolError` where the price of a worker is unknown, or the cost is not agreed to."""
    if cost.unpriced:
        raise PoolError(
            f"What {quantity(cost.calls, 'call')} will cost is unknown: {', '.join(cost.unpriced)} has no "
            "price. Write price_prompt and price_completion in the pool file, 0 for a server of yours."
        )
    if not cost.cost or yes:
        return
    spent = _range(cost.cost, cost.most_cost, dollars)
    question = f"Spend {spent} for {quantity(cost.calls, 'call')} of workers?"
    if not (sys.stdin.isatty() and agreed(question)):
        raise PoolError(f"This training will cost {spent}; agree to it with --yes.")


# -- what it will cost -----------------------------------------------------------------------------


def _lines(recipe: GrpoRecipe, cost: TrainingCost) -> str:
    rows: Sequence[tuple[str, str]] = (
        ("steps", f"{recipe.steps:,}"),
        ("completions a step", f"{recipe.batch:,} ({recipe.questions} x {recipe.rollouts})"),
        ("completions", f"{cost.completions:,}"),
        ("completions for held-out questions", f"{cost.evaluated:,}"),
        ("calls of workers", f"{cost.calls:,}"),
        ("tokens of workers", _range(cost.tokens, cost.most_tokens, "{:,}".format)),
        ("cost of workers", _range(cost.cost, cost.most_cost, dollars)),
        ("time of workers", _range(cost.seconds, cost.most_seconds, _hours)),
        ("tokens of the Conductor", f"{cost.planning:,}"),
    )
    notes = [
        "Reckoned with plans of three steps that are all valid, and every worker called equally often; the "
        f"low figures with {ANSWER_TOKENS} tokens per answer, the high ones with every answer as long as its "
        "worker's max_tokens, thoughts among them. The time is that of "
        f"{TOKENS_A_SECOND:.0f} tokens a second, all plans of a step side by side, and no limit on calls. "
        + (
            "With --fresh each rollout calls for itself."
            if recipe.fresh
            else "Outputs that rollouts share are not called again, so it will be less."
        ),
    ]
    if cost.unlimited:
        notes.append(
            f"The high figures are unknown: without max_tokens in the pool file: {', '.join(cost.unlimited)}."
        )
    if cost.unpriced:
        notes.append(f"Without a price in the pool file: {', '.join(cost.unpriced)}.")
    return "\n".join([table(("", ""), rows, right=(1,)), "", *notes])


def _range(low: Any, high: Any, written: Callable[[Any], str]) -> str:
    """Both figures, or one where they are equal."""
    words = [UNKNOWN if value is None else written(value) for value in (low, high)]
    return words[0] if words[0] == words[1] else " to ".join(words)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} h"
