"""`learn demo|sft|grpo|corrections|accept`: train a Conductor, and hold it against what is required.

Knows how trainings are asked for and printed; `conductor.learning` makes them.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import ValidationError
from typer import Argument, Option

from conductor.errors import DataError
from conductor.learning.demonstration.contenders import CONDUCTOR, SPLITS, Results, checks
from conductor.learning.demonstration.run_folder import RESULTS, Metrics, RunFolder
from conductor.learning.demonstration.settings import DemoSettings, Learner, Teacher
from conductor.learning.environment import training_module
from conductor.learning.gauges import Alarm
from conductor.learning.reward import Variant
from conductor.text.formatting import p_value, percent
from studio.cli.learning.corrections import corrections
from studio.cli.learning.grpo import Out, StopsOnCollapse, folder_of, grpo
from studio.cli.learning.mine import mine, show, use_planner
from studio.cli.learning.sft import sft
from studio.cli.options import App, Shared, above_zero, count, flag, option
from studio.cli.output.terminal import UNKNOWN, print_remark, table

app = App()

DEFAULT = DemoSettings()

_TRAINER = "conductor.learning.demonstration.demonstration"


@app.callback()
def learn() -> None:
    """Learn a planner for your pool, or train a Conductor by reinforcement."""


@dataclass(frozen=True)
class Training:
    """How the demonstration trains."""

    warm_steps: Annotated[int, count("Steps of the warm start.", least=20)] = DEFAULT.warm_steps
    steps: Annotated[int, count("Steps of GRPO.", least=0)] = DEFAULT.grpo_steps
    group: Annotated[int, count("Plans sampled for a question.", least=2)] = DEFAULT.group
    learner: Annotated[Learner, option("GRPO, or its control: learn the right plans.")] = DEFAULT.learner
    grpo_lr: Annotated[float, option("The learning rate of GRPO.", "RATE", above_zero)] = DEFAULT.grpo_lr
    teacher: Annotated[Teacher, option("Of the warm start: noisy, or random valid plans.")] = DEFAULT.teacher
    shy: Annotated[
        float,
        Option(
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="How often the noisy teacher leaves a question whole.",
        ),
    ] = DEFAULT.shy
    reward: Annotated[Variant, option("0, 0.5, 1 as in the paper, or its code's sums.")] = DEFAULT.reward
    price: Annotated[
        float, Option(metavar="REWARD", min=0.0, help="Taken off for a thousand tokens of workers.")
    ] = DEFAULT.price
    fresh: Annotated[bool, flag("--fresh", "Share no outputs among rollouts.")] = False
    stop_on_collapse: StopsOnCollapse = False


@app.command()
def demo(
    seed: Annotated[int, option("Decides all that is random.", "N")] = 0,
    out: Out = None,
    threads: Annotated[int, count("Cores that are used.", most=64)] = min(2, os.cpu_count() or 1),
    *,
    training: Training,
    options: Shared,
) -> int:
    """Train a small Conductor from nothing on the orchard, in minutes, on the processor.

    The same command goes on with a run that was interrupted. What is trained is in DIR/conductor: a folder
    for a pool file's `[conductor]`, with `kind = "local"`.
    """
    chosen = vars(training) | {"seed": seed, "grpo_steps": training.steps}
    settings = DemoSettings(**{name: chosen[name] for name in chosen.keys() - {"steps"}})
    out = folder_of(out, "demo")
    if not out.exists():
        # Where nothing can be trained nothing is written.
        _ = training_module(_TRAINER)
    folder = RunFolder(out, settings)
    if (done := folder.results) is not None:
        print_remark(f"{out} has a finished run; these are its results.")
        return _show_results(Results.model_validate(done), out, options)
    with folder.held():
        trainer = training_module(_TRAINER)
        demonstration = trainer.Demonstration(folder, settings, listen=_print_metrics, threads=threads)
        if any(demonstration.steps):
            steps = demonstration.steps
            print_remark("going on after step {} of the warm start and {} of GRPO.".format(*steps))
        outcome = asyncio.run(demonstration.run())
    if isinstance(outcome, Results):
        return _show_results(outcome, out, options)
    raise DataError(f"{outcome.reason}; the run so far is in {out}.")


def _print_metrics(line: Metrics) -> None:
    """A line on stderr for what a person waits for."""
    step, kind = line["step"], line["kind"]
    match kind:
        case "warm start" if step % 50 == 0:
            print_remark(f"warm start {step}: loss {line['loss']:.3f}")
        case "evaluation":
            print_remark(f"after step {step}: {percent(line['right'])} of the fixed questions right")
        case "alarm":
            print_remark(f"step {step}: {Alarm(line['what'], line['cure']).words}")
        case "grpo" if step % 5 == 0:
            one = UNKNOWN if line["one_step"] is None else percent(line["one_step"])
            print_remark(
                f"step {step}: {percent(line['valid'])} valid, {percent(line['right'])} right, "
                f"{one} one step where more are needed, {line['calls']} calls, {line['saved']} saved"
            )


def _show_results(results: Results, out: Path, options: Shared) -> int:
    verdicts = list(checks(results))
    shape = results.model_dump(mode="json") | {
        "checks": [{**check.model_dump(), "passed": check.passed} for check in verdicts],
        "folder": str(out / "conductor"),
    }
    rows = [
        (
            row.planner,
            f"{row.accuracy:.3f}",
            UNKNOWN if row.steps is None else f"{row.steps:.2f}",
            UNKNOWN if row.tokens is None else f"{row.tokens:,.0f}",
            "" if row.ahead is None or row.between is None else _difference(row.ahead, row.between),
            "" if row.p is None else p_value(row.p),
        )
        for row in results.rows
    ]
    return options.show(
        shape,
        table(("planner", "right", "steps", "tokens", "this Conductor ahead by", "p"), rows, right=(1, 2, 3)),
        "",
        table(("right", "before", "after"), list(_before_and_after(results)), right=(1, 2)),
        "",
        f"With absent workers, {results.reachable:.3f} can be reached.{_cooled(results)}",
        f"{results.calls:,} calls of workers, {results.saved:,} saved by sharing; {results.seconds:,.0f} s.",
        f'To use it, write workers = "orchard" into pool.toml, and below [conductor] kind = "local" and '
        f'model = "{out / "conductor"}".',
    )


def _before_and_after(results: Results) -> Iterator[tuple[str, str, str]]:
    after = results.row(CONDUCTOR).accuracy
    yield "likeliest plan", f"{results.greedy_before:.3f}", f"{after:.3f}"
    yield "sampled plans", f"{results.sampled_before:.3f}", f"{results.sampled:.3f}"
    for name, words in SPLITS.items():
        before = results.before.get(name)
        yield words, UNKNOWN if before is None else f"{before:.3f}", f"{getattr(results, name):.3f}"


def _cooled(results: Results) -> str:
    """How right the start's plans are at lower temperatures, "" where that was not measured."""
    shares = ", ".join(f"{share:.3f} at {temperature:g}" for temperature, share in results.cooled)
    return shares and f" Sampled before, at lower temperatures: {shares}."


def _difference(ahead: float, between: tuple[float, float]) -> str:
    return f"{ahead:+.3f} ({between[0]:+.3f} to {between[1]:+.3f})"


app.command()(mine)
app.command()(show)
app.command("use")(use_planner)
app.command()(sft)
app.command()(grpo)
app.command()(corrections)


@app.command()
def accept(
    runs: Annotated[list[Path], Argument(parser=Path, metavar="DIR", help="Folders of finished runs.")],
    *,
    options: Shared,
) -> int:
    """Hold finished demonstrations against what is required of each; exits with 1 where one fails."""
    shapes, rows, failed = [], [], False
    for run in runs:
        for check in checks(_results(run)):
            failed = failed or not check.passed
            shapes.append({"run": str(run), **check.model_dump(), "passed": check.passed})
            bound = f"{'at most' if check.at_most else 'at least'} {check.bound:.2f}"
            measured = UNKNOWN if check.measured is None else f"{check.measured:.3f}"
            rows.append((str(run), check.what, measured, bound, "" if check.passed else "FAILED"))
    options.show({"checks": shapes}, table(("run", "what", "measured", "required", ""), rows, right=(2,)))
    return int(failed)


def _results(run: Path) -> Results:
    file = run / RESULTS
    try:
        return Results.model_validate(json.loads(file.read_bytes()))
    except (OSError, ValueError, ValidationError) as error:
        raise DataError(
            f"{run} has no results of a finished run; finish it with `conductor learn demo --out {run}`."
        ) from error
