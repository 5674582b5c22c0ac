"""`evaluate run|resume|fit|sets|keep|tests|list|table|compare|export`: planners on known questions.

Knows how evaluations are asked for and printed; `studio.evaluation` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument

from conductor.baselines.named import with_prompt
from conductor.errors import DataError
from conductor.evaluation.evaluation_table import EvaluationTable, disagreements
from conductor.evaluation.report.exports import PUBLISHED, as_csv, as_latex
from conductor.evaluation.report.remarks import power
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.evaluation.spec import CONDUCTOR
from studio.cli.cluster import crew_of, on_store_and_cluster
from studio.cli.evaluation.data_trials import trials, trials_of_planner
from studio.cli.evaluation.evaluation_forecast import show_evaluation, show_resumption
from studio.cli.evaluation.fit import fit
from studio.cli.evaluation.gate import Gate, code_of
from studio.cli.evaluation.outcome import carried_out, check_gate, presentation, print_findings
from studio.cli.evaluation.plans import plans_of_files
from studio.cli.evaluation.questions import Source, on_its_pool, sets_lines, sets_shape
from studio.cli.evaluation.reporting import Reporting, export
from studio.cli.evaluation.team import keep, list_tests
from studio.cli.opening import confirm_keys, opened
from studio.cli.options import (
    App,
    BudgetOptions,
    Configured,
    DryRun,
    EvaluationId,
    JsonLines,
    Limited,
    Shared,
    Storable,
    flag,
    option,
)
from studio.cli.output.comparisons import disagreement_table, repeat_table
from studio.cli.output.evaluation_table import markdown_of, published_lines
from studio.cli.output.terminal import (
    moment,
    one_line,
    print_json,
    print_lines,
    print_remark,
    table,
    write_file,
)
from studio.cli.workflow.plan import settings_of
from studio.evaluation.evaluations import EVERY_WORKER, Evaluations, check_uncounted
from studio.evaluation.results import (
    compared,
    find_evaluation,
    page_of_evaluation,
    resumed_words,
    scored_cells,
    table_of_evaluation,
)

app = App()

_Planners = Annotated[
    list[str] | None,
    option(
        "A planner: conductor, worker:NAME, worker:* for each, baseline:moa and others; plan:SESSION, "
        "plan:SESSION@REVISION, plan:last, plan:FILE.json or plan:- for a workflow. Once for each; the first "
        "is compared with the others.",
        "NAME",
        names=("--planner", "-p"),
    ),
]
_More = Annotated[
    list[str] | None, option("Add a planner. Once for each.", "NAME", names=("--planner", "-p"))
]
_PromptFile = Annotated[
    Path | None,
    option("A method's own words, for the planners that take prompt=FILE.", "FILE", Path),
]
_Ray = Annotated[
    str | None,
    option("Answer on the Ray cluster whose head is there; the store is on PostgreSQL.", "HOST:PORT", str),
]
Form = Literal["text", "json", "csv", "latex", "markdown", "html"]


@app.callback()
def evaluate() -> None:
    """Compare planners on questions with known answers."""


@app.command()
def run(
    data: Annotated[
        str,
        Argument(
            metavar="DATA",
            help="JSON Lines, CSV or Parquet; - is stdin, JSON Lines; or a name: demo, another one of "
            "`evaluate sets`, or a set of the team's, of `evaluate tests`.",
        ),
    ],
    planner: _Planners = None,
    prompt_file: _PromptFile = None,
    ray: _Ray = None,
    *,
    sequential: Annotated[
        bool, flag("--sequential", "End once every difference to the first planner is significant.")
    ] = False,
    batch: Annotated[
        bool, flag("--batch", "Ask all at once by batch endpoints: half the price, up to a day a step.")
    ] = False,
    dry_run: DryRun = False,
    gate: Gate,
    reporting: Reporting,
    source: Source,
    choice: Limited,
    options: Storable,
) -> int:
    """Answer every question with every planner, and print the table.

    `evaluate run demo` needs no key, no pool and no other option.
    """
    if batch and (sequential or ray is not None):
        raise DataError("--batch asks all at once, in one process; leave --sequential and --ray out.")
    with_pool = on_its_pool(data, options)
    if with_pool is not options:
        options, planner = with_pool, planner or list(SHIPPED[data].planners or ())
    questions = source.questions(data, database=options.database)
    planners = _worded(planner or [CONDUCTOR, EVERY_WORKER], prompt_file)
    if dry_run:
        with opened(options) as bench:
            spec = source.spec(settings_of(choice, pool=bench.pool))
            return show_evaluation(
                bench, questions.items, planners, spec, options, given_plans=plans_of_files(planners)
            )
    confirm_keys(options.pool, ask=True)
    with on_store_and_cluster(ray, options), opened(options) as bench:
        spec = source.spec(settings_of(choice, pool=bench.pool))
        spec = spec.model_copy(update={"sequential": sequential, "batch": batch})
        if ray is not None:
            # Refused before anything is stored.
            check_uncounted(spec.settings.budget)
        record = Evaluations(bench).add(questions, planners, spec, given_plans=plans_of_files(planners))
        if (compared := len(record.spec.planners) - 1) > 0:
            print_remark(power(len(questions.items), comparisons=compared))
        crew = crew_of(ray, bench, options)
        return carried_out(bench, record, options, gate, reporting, crew=crew)


app.command()(trials)
app.command("trials-of")(trials_of_planner)
app.command()(keep)
app.command("tests")(list_tests)
app.command()(export)
app.command()(fit)


@app.command()
def resume(
    evaluation: EvaluationId,
    planner: _More = None,
    prompt_file: _PromptFile = None,
    ray: _Ray = None,
    *,
    dry_run: DryRun = False,
    gate: Gate,
    reporting: Reporting,
    budget: BudgetOptions,
    options: Configured,
) -> int:
    """Answer what an evaluation has not answered, also by planners that are added, and print the table.

    What an outage left unanswered is asked again, and what was not judged is judged again. Limits that are
    given take the place of the evaluation's own; what was used before counts.
    """
    planners = _worded(planner or (), prompt_file)
    if dry_run:
        with opened(options) as bench:
            record = find_evaluation(bench.store, evaluation)
            return show_resumption(bench, record, planners, options, given_plans=plans_of_files(planners))
    confirm_keys(options.pool, ask=True)
    with on_store_and_cluster(ray, options), opened(options) as bench:
        record = find_evaluation(bench.store, evaluation)
        if planners:
            record = Evaluations(bench).extend(record.id, planners, given_plans=plans_of_files(planners))
        print_remark(resumed_words(bench.store, record))
        new = None if budget.budget.open else budget.budget
        crew = crew_of(ray, bench, options)
        return carried_out(bench, record, options, gate, reporting, budget=new, crew=crew)


def _worded(planners: Sequence[str], prompt: Path | None) -> list[str]:
    return list(planners) if prompt is None else with_prompt(planners, str(prompt))


@app.command("sets")
def list_sets(options: Shared) -> int:
    """List the published sets that have a name, with their sources and licences."""
    return options.show(sets_shape(), sets_lines())


@app.command("list")
def list_evaluations(
    tag: Annotated[list[str] | None, option("Those with this tag. Once for each.", "NAME")] = None,
    *,
    _json_lines: JsonLines = False,
    options: Configured,
) -> int:
    """List the evaluations of the store, the newest first."""
    with opened(options) as bench:
        tagged = set(tag or ())
        records = [each for each in bench.store.evaluations.listed() if tagged <= set(each.spec.tags)]
        shapes = [record.model_dump(mode="json") for record in records]
        rows = [
            (
                record.id,
                moment(record.created_at),
                one_line(record.spec.data, limit=24),
                ", ".join(record.spec.whole),
                ", ".join(record.spec.tags),
                "not ended" if record.ended_at is None else record.reason or "done",
            )
            for record in records
        ]
        lines = table(("id", "begun", "data", "planners", "tags", "state"), rows)
        none = "No evaluation has these tags." if tagged else "No evaluation yet."
        return options.show({"evaluations": shapes}, lines if rows else none)


@app.command("table")
def print_table(
    evaluation: EvaluationId,
    form: Annotated[Form, option("How it is written.")] = "text",
    published: Annotated[
        bool, flag("--published", "Add what the authors of methods published, apart from the table.")
    ] = False,
    *,
    gate: Gate,
    reporting: Reporting,
    options: Configured,
) -> int:
    """Print an evaluation's table."""
    if published and form not in ("text", "json"):
        raise DataError(f"--published is for text and JSON; leave it out for --form {form}.")
    with opened(options) as bench:
        record = find_evaluation(bench.store, evaluation)
        gate.check(record.spec.planners)
        table = table_of_evaluation(bench.store, record)
        findings = check_gate(bench, record, table, gate, reporting)
        forms: Mapping[str, Callable[[EvaluationTable], str]] = {
            "csv": as_csv,
            "latex": as_latex,
            "markdown": markdown_of,
        }
        if form in forms:
            write_file(forms[form](table))
        elif form == "html":
            write_file(f"{page_of_evaluation(bench.store, record, table)}\n")
        else:
            shape, lines = presentation(bench, record, table, findings)
            if published:
                shape = {**shape, "published": [each.model_dump() for each in PUBLISHED]}
                lines = f"{lines}\n\n{published_lines()}"
            if options.json or form == "json":
                print_json(shape)
            else:
                print_lines(lines)
        print_findings(findings, gate, record)
        return code_of(findings)


@app.command()
def compare(
    evaluation: EvaluationId,
    one: Annotated[str, Argument(metavar="A", help="A planner, or another evaluation's id.")],
    other: Annotated[str | None, Argument(metavar="[B]", help="Another planner.")] = None,
    *,
    options: Configured,
) -> int:
    """Compare two planners of an evaluation question by question, or two evaluations planner by planner.

    Two planners: the questions that one of them has right and the other wrong, with their sessions. Two
    evaluations are refused where they differ in what a comparison would hide.
    """
    with opened(options) as bench:
        record = find_evaluation(bench.store, evaluation)
        if other is None:
            second = find_evaluation(bench.store, one)
            return options.show(*repeat_table(record, second, compared(bench.store, record, second)))
        for planner in (one, other):
            if planner not in record.spec.planners:
                raise DataError(
                    f"This evaluation has no planner {planner!r}; it has {', '.join(record.spec.planners)}."
                )
        items = bench.store.evaluations.items(record.id, damaged=True)
        pairs = disagreements(scored_cells(bench.store, record.id), one, other)
        return options.show(*disagreement_table(items, pairs, one, other))
