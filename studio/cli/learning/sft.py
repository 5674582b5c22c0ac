"""`learn sft`: a supervised start for a large Conductor, from the right plans of a planner's file.

Knows options and prints; `conductor.learning` trains.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from typer import Argument

from conductor.baselines.planner_file.planner_file import read_planner
from conductor.errors import DataError
from conductor.learning.environment import check_environment
from conductor.learning.grpo.cost import usable
from conductor.learning.grpo.recipe import GrpoRecipe, GrpoRun
from conductor.learning.grpo.supervised import BATCH, plan_lessons, training_steps
from conductor.text.formatting import quantity
from conductor.workers.pool.pool import configured_pool
from studio.cli.learning.grpo import Out, folder_of, pool_lines
from studio.cli.learning.mine import planner_file
from studio.cli.options import DryRun, Pooled, PromptFrom, above_zero, count, flag, option
from studio.cli.output.terminal import print_remark


def sft(
    file: Annotated[Path, Argument(parser=Path, metavar="PLANNER", help="A planner.json, or its folder.")],
    model: Annotated[str, option("A model's name on the hub, or its folder.", "NAME")],
    out: Out = None,
    dry_run: DryRun = False,
    *,
    epochs: Annotated[int, count("How often each plan is learnt.")] = 3,
    learning_rate: Annotated[float, option("The learning rate.", "RATE", above_zero)] = 1e-4,
    lora: Annotated[int, count("The adapter's rank.")] = 16,
    prompt_from: PromptFrom = None,
    seed: Annotated[int, option("Decides all that is random.", "N")] = 42,
    cpu: Annotated[bool, flag("--cpu", "Without GPU: to try a tiny model.")] = False,
    options: Pooled,
) -> int:
    """Teach a large Conductor the right plans of a planner that `learn mine` wrote, by an adapter.

    The prompt and the form of plans are those of `learn grpo`, which goes on from DIR/conductor by its
    --model. The same command goes on with a run that was interrupted.
    """
    learnt = read_planner(planner_file(file))
    pool = configured_pool(options.pool)
    cards = usable(pool)
    learnt.check_pool(cards)
    recipe = GrpoRecipe(
        model=model, learning_rate=learning_rate, lora=lora, prompt_from=prompt_from, seed=seed, pools="whole"
    )
    lessons = plan_lessons(learnt, cards, recipe)
    if not lessons:
        raise DataError(
            f"{file} has no right plan that the dialect {recipe.dialect!r} can write with the workers of "
            "this pool; learn a planner from other questions with `learn mine`."
        )
    recipe = recipe.model_copy(update={"steps": training_steps(len(lessons), epochs)})
    words = (
        f"{quantity(len(lessons), 'plan')} of {quantity(len(learnt.questions), 'question')} are learnt "
        f"{quantity(epochs, 'time')} each: {quantity(recipe.steps, 'step')} of {BATCH} plans. No worker is "
        "called."
    )
    if dry_run:
        shape = {"plans": len(lessons), "questions": len(learnt.questions), "steps": recipe.steps}
        return options.show({**shape, "recipe": recipe.model_dump(mode="json")}, words)
    check_environment(cpu=cpu)
    print_remark(words)
    folder = folder_of(out, "sft")
    identities = tuple((card.name, card.identity) for card in cards)
    run = GrpoRun(recipe=recipe, data=learnt.name, digest=learnt.digest, workers=identities)
    resume = run.begin(folder, write=os.environ.get("RANK", "0") == "0")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from conductor.learning.grpo.trainer.trl_sft import teach  # noqa: PLC0415 - imports torch

    trained = teach(
        recipe, lessons, folder, data=learnt.card.data, cpu=cpu, resume=resume, remark=print_remark
    )
    print_remark(f"go on with: conductor learn grpo DATA --model {trained}; the lines for pool.toml follow")
    lines = pool_lines(recipe)
    return options.show({"folder": str(trained), "pool": lines}, lines.removesuffix("\n"))
