"""`learn mine|show|use`: a planner learns from plans that are tried on a pool's own questions.

Knows options and prints; `studio.evaluation.planner_learning` learns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument

from conductor.baselines.planner_file.file_planner import PREFIX
from conductor.baselines.planner_file.planner_file import (
    NEIGHBOURS,
    Learner,
    PlannerCard,
    PlannerFile,
    PlanUse,
    break_even,
    differences,
    read_planner,
)
from conductor.errors import DataError, PoolError
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.files.project_folder import new_pool_file
from conductor.text.formatting import dollars, p_value, percent, quantity, tokens
from conductor.workers.pool.built_in import built_in_file
from conductor.workers.pool.pool import configured_path
from conductor.workers.pool.toml_editor import PoolDocument
from studio.cli.evaluation.outcome import progress_listener
from studio.cli.evaluation.questions import Source, on_its_pool
from studio.cli.learning.grpo import Out, folder_of
from studio.cli.learning.plan_lines import learnt_plan_lines
from studio.cli.opening import confirm_keys, opened
from studio.cli.options import Configured, DryRun, Limited, Pooled, Shared, count, flag, option
from studio.cli.output.terminal import UNKNOWN, is_quiet, name_next, print_remark, table
from studio.cli.workflow.plan import settings_of
from studio.evaluation.outlook import EvaluationOutlook
from studio.evaluation.planner_learning.learning_folder import (
    PLANNER,
    PLANS,
    LearningFolder,
    LearningSettings,
    check_name,
)
from studio.evaluation.planner_learning.planner_learning import (
    PlannerLearning,
    usual_planners,
    usual_use,
)
from studio.evaluation.planner_learning.planner_use import using

_File = Annotated[Path, Argument(parser=Path, metavar="FILE", help="A planner.json, or its folder.")]


@dataclass(frozen=True)
class Drawing:
    """Which plans are tried, and how a planner uses those that were right."""

    planner: Annotated[
        list[str] | None,
        option(
            "Try the plans of this planner. Once for each. Default: the Conductor, each worker alone, a vote "
            "and Mixture-of-Agents.",
            "NAME",
            names=("--planner", "-p"),
        ),
    ] = None
    method: Annotated[
        Learner,
        option(
            "examples: plans that were right stand in the prompt, or are taken. search: they are edited, "
            "too. reflect: a model rewrites the prompt's texts, too."
        ),
    ] = "examples"
    reflections: Annotated[int, count("Reflections.", most=100)] = 8
    reflector: Annotated[
        str | None,
        option("The worker that reflects, or words instructions. Default: the model that plans.", "NAME"),
    ] = None
    draws: Annotated[int, count("Random plans a question, besides.", least=0, most=1000)] = 8
    plans: Annotated[
        int | None,
        count(
            "Plans that were right and are tried on all (24 by default); plans that a search makes (400).",
            least=0,
            most=10_000,
        ),
    ] = None
    held_out: Annotated[float, option("The share of questions that examine it.", "SHARE")] = 0.5
    use: Annotated[
        PlanUse | None,
        option("Solved questions in the Conductor's prompt, or the nearest question's plan as it is."),
    ] = None
    neighbours: Annotated[int, count("Nearest questions that count.", most=1000)] = NEIGHBOURS
    embeddings: Annotated[bool, flag("--embeddings", "Compare questions by the pool's [embeddings].")] = False


def mine(
    data: Annotated[
        str, Argument(metavar="DATA", help="Questions with known answers, as `evaluate run` takes them.")
    ],
    name: Annotated[str, option("The planner's name.", "NAME")] = "mine",
    out: Out = None,
    *,
    dry_run: DryRun = False,
    drawing: Drawing,
    source: Source,
    choice: Limited,
    options: Configured,
) -> int:
    """Learn a planner for this pool from questions of your own, without a GPU.

    Plans of the Conductor and of others are tried on one part of the questions; those that were right teach
    the planner, and the other part examines it. The same command goes on with a learning that was
    interrupted.
    """
    check_name(name)
    if not 0 < drawing.held_out < 1:
        raise DataError("--held-out is a share between 0 and 1, such as 0.5.")
    options = on_its_pool(data, options)
    questions = source.questions(data, database=options.database)
    if not dry_run:
        confirm_keys(options.pool, ask=True)
    with opened(options) as bench:
        # As `evaluate run` compares a shipped set.
        usual = usual_planners(bench.pool, SHIPPED[data].planners if data in SHIPPED else None)
        chosen = vars(drawing) | {
            "data": questions.name,
            "digest": questions.digest,
            "use": drawing.use or ("nearest" if drawing.method == "search" else usual_use(bench)),
            "planners": tuple(drawing.planner or usual),
            "plans": PLANS[drawing.method] if drawing.plans is None else drawing.plans,
            "seed": source.seed,
        }
        settings = LearningSettings(**{name: chosen[name] for name in LearningSettings.model_fields})
        spec = source.spec(settings_of(choice, pool=bench.pool))
        folder = LearningFolder(folder_of(out, name, database=options.database), settings)
        learning = PlannerLearning(bench, folder, questions, spec, name=name)
        if dry_run:
            return _show_outlook(learning.outlook(), learning.between, options)
        with folder.held(), progress_listener(f"learn {name}", quiet=is_quiet()) as listen:
            learnt = learning.learn(listen=listen, note=print_remark)
    _show(learnt, folder.planner_path, options)
    if not options.json:
        name_next(f"planner {name}", f"learn use {folder.planner_path}{options.again}", what="plan by it")
    return 0


def show(
    file: _File,
    other: Annotated[
        Path | None, Argument(parser=Path, metavar="OTHER", help="A second one: print the differences.")
    ] = None,
    plans: Annotated[
        bool, flag("--plans", "Print its plans as well: their steps, and what each came to.")
    ] = False,
    *,
    options: Shared,
) -> int:
    """Print what a planner learnt and how it did, or in what two differ."""
    learnt = read_planner(planner_file(file))
    if other is None:
        return _show(learnt, planner_file(file), options, plans=plans)
    lines = differences(learnt, read_planner(planner_file(other)))
    return options.show({"differences": lines}, *(lines or ("They plan alike.",)))


def use_planner(
    file: Annotated[
        Path | None, Argument(parser=Path, metavar="FILE", help="A planner.json, or its folder.")
    ] = None,
    undo: Annotated[bool, flag("--undo", "Let the Conductor plan by itself again.")] = False,
    *,
    options: Pooled,
) -> int:
    """Name a planner in the pool file, so that it plans; --undo takes that back."""
    if (file is None) != undo:
        raise DataError("Name a planner's FILE, or --undo.")
    path = configured_path(options.pool)
    is_built_in = path is not None and built_in_file(path) is not None
    document = PoolDocument.opened(new_pool_file() if path is None or is_built_in else path)
    if undo:
        if is_built_in or not document.text:
            raise PoolError("No pool file is in use, so no planner is; name the file with --pool.")
        document.without_planner().save()
        return options.show({"pool": str(document.path)}, f"{document.path}: the Conductor plans by itself.")
    assert file is not None
    name = read_planner(planner_file(file)).name
    using(document, planner_file(file), name=name, pool=path).save()
    shape = {"pool": str(document.path), "planner": f"{PREFIX}{name}", "file": str(planner_file(file))}
    return options.show(
        shape,
        f"{document.path}: {name} plans now; `learn use --undo` takes it back. Elsewhere it is "
        f"{PREFIX}{name}.",
    )


def planner_file(path: Path) -> Path:
    """The file itself, or the one in its folder."""
    return path / PLANNER if path.is_dir() else path


def _show(learnt: PlannerFile, path: Path, options: Shared, *, plans: bool = False) -> int:
    card = learnt.card
    lines = [
        f"{path}: {learnt.name} learnt from {quantity(card.fit, 'question')} of {card.data}; "
        f"{learnt.solved} of them were solved, by {quantity(len(learnt.plans), 'plan')}.",
        "It takes the plan that was right most often on the nearest questions, as it is."
        if learnt.use == "nearest"
        else f"The nearest solved questions stand in the prompt of {learnt.conductor}.",
        f"Learning took {_took(card)}.",
    ]
    if card.reflection:
        lines.append(card.reflection)
    if learnt.texts:
        lines += ["", *(f"{what}: {text}" for what, text in learnt.texts.lines.items())]
    if card.exam:
        lines += ["", f"On {quantity(card.held_out, 'held-out question')}:", *_exam_lines(learnt)]
        lines += ["", *break_even(learnt)]
    else:
        lines.append("It was not examined on held-out questions.")
    if card.stopped:
        lines.append(card.stopped)
    hidden = {"encoder"} if plans else {"encoder", "plans", "questions"}
    shape = {"file": str(path), **learnt.model_dump(mode="json", exclude=hidden)}
    lines += learnt_plan_lines(learnt) if plans else []
    return options.show({**shape, "solved": learnt.solved}, *lines)


def _took(card: PlannerCard) -> str:
    cost = [] if card.cost is None else [dollars(card.cost)]
    return ", ".join([quantity(card.calls, "call"), tokens(card.tokens), *cost])


def _exam_lines(learnt: PlannerFile) -> Sequence[str]:
    rows = [
        (
            learnt.name if at == 0 else row.planner,
            percent(row.right / row.answers) if row.answers else UNKNOWN,
            UNKNOWN if row.tokens is None else f"{row.tokens:,.0f}",
            UNKNOWN if row.cost is None else dollars(row.cost),
            ""
            if row.difference is None or row.between is None
            else f"{0.0 - row.difference:+.3f} ({-row.between[1]:+.3f} to {-row.between[0]:+.3f})",
            "" if row.p is None else p_value(row.p),
        )
        for at, row in enumerate(learnt.card.exam)
    ]
    head = ("planner", "right", "tokens", "cost", f"{learnt.name} ahead by", "p (Holm)")
    return [table(head, rows, right=(1, 2, 3))]


def _show_outlook(
    outlooks: tuple[EvaluationOutlook, EvaluationOutlook], between: str, options: Shared
) -> int:
    draw, exam = outlooks
    rows = [
        (
            what,
            f"{each.calls:,}",
            UNKNOWN if each.tokens is None else f"{each.tokens:,}",
            UNKNOWN if each.cost is None else dollars(each.cost),
            ", ".join(each.without),
        )
        for what, each in (("plans that are drawn", draw), ("the examination", exam))
    ]
    shape = {
        what: {"calls": each.calls, "tokens": each.tokens, "cost": each.cost, "without": each.without}
        for what, each in (("drawn", draw), ("exam", exam))
    }
    return options.show(
        shape,
        table(("", "calls", "tokens", "cost", "without"), rows, right=(1, 2, 3)),
        f"Between them {between}. A budget (--budget-tokens, --budget-cost, --budget-calls) holds for all of "
        "it.",
    )
