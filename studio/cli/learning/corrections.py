"""`learn corrections`: a small Conductor learns what people made of plans, from the store or from exports.

Knows options and prints; `conductor.learning` trains.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

from typer import Argument

from conductor.errors import DataError
from conductor.learning.corrections.lessons import CorrectionSettings, Learnt, lessons_of, read_rows
from conductor.learning.environment import training_module
from conductor.planner.corrections import LeftOut, Row, row_of
from conductor.planner.local.card import read_card
from conductor.text.formatting import percent, quantity
from conductor.workers.local_model import SHIPPED
from studio.cli.learning.grpo import Out, folder_of
from studio.cli.opening import opened
from studio.cli.options import Configured, above_zero, count, option
from studio.cli.output.terminal import print_remark

TAUGHT = CorrectionSettings()


def corrections(
    model: Annotated[str, Argument(metavar="MODEL", help="orchard, or a folder that `learn` wrote.")],
    files: Annotated[
        list[Path] | None,
        Argument(parser=Path, metavar="FILE...", help="Of `export corrections`; - is stdin."),
    ] = None,
    *,
    out: Out = None,
    dpo: Annotated[
        int, count("Epochs that also learn what was replaced (DPO), after the first.", least=0)
    ] = TAUGHT.dpo_epochs,
    epochs: Annotated[int, count("Epochs that learn the better plans.")] = TAUGHT.epochs,
    lr: Annotated[float, option("The learning rate of those.", "RATE", above_zero)] = TAUGHT.lr,
    seed: Annotated[int, option("Decides all that is random.", "N")] = TAUGHT.seed,
    options: Configured,
) -> int:
    """Teach a small Conductor what people made of plans, in seconds.

    Without a FILE the corrections of this store are learnt, of any planner's plans. The new Conductor is in
    DIR, and the old one is as it was.
    """
    folder = SHIPPED.get(model) or Path(model)
    workers = read_card(folder).workers
    rows = _stored_rows(options) if not files else chain.from_iterable(map(read_rows, files))
    lessons, left_out = lessons_of(rows, workers)
    for reason, number in left_out.most_common():
        print_remark(f"{number:,} left out: {reason}.")
    if not lessons:
        raise DataError(
            f"There is no correction that {model} can learn from; edit plans of questions of its world, "
            f"whose workers are {', '.join(workers)}."
        )
    out = folder_of(out, "corrected")
    settings = CorrectionSettings(seed=seed, epochs=epochs, lr=lr, dpo_epochs=dpo)
    training = training_module("conductor.learning.corrections.preference_training")
    learnt: Learnt = training.learn_corrections(
        folder, lessons, out=out, settings=settings, listen=print_remark
    )
    valid, same = ([percent(share) for share in shares] for shares in (learnt.valid, learnt.same))
    lines = [
        f"Learnt {quantity(learnt.lessons, 'correction')} in {learnt.seconds:.0f} s. Plans as "
        f"corrected: {same[0]} before, {same[1]} after. Valid plans: {valid[0]} before, {valid[1]} "
        "after.",
    ]
    if learnt.stopped:
        lines.append("It ended early, since plans stopped being valid; the epoch before that is kept.")
    lines.append(f'Use it: kind = "local" and model = "{out}" in [conductor] of pool.toml.')
    shape = learnt.model_dump(mode="json") | {"left_out": dict(left_out), "folder": str(out)}
    return options.show(shape, *lines)


def _stored_rows(options: Configured) -> Iterator[Row | LeftOut]:
    with opened(options) as workbench:
        for correction in workbench.store.corrections.read():
            yield row_of(correction, kind="preferences")
