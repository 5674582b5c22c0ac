"""`plan QUERY`: what the Conductor would do, without doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from conductor.baselines.named import planner_named
from conductor.errors import PlanError, PoolError
from conductor.files.file_text import MAX_FILE
from conductor.files.named_file import STDIN, read_bounded
from conductor.planner.prompt.examples import example_instructions
from conductor.values.presets import MODES, Settings
from conductor.values.total import Total
from conductor.workers.pool.pool import Pool
from conductor.workflow.lint import Finding, check
from conductor.workflow.plan_report import PlanReport
from storage import Plan, Session
from studio.cli.opening import confirm_keys, name_session, opened, session_of, session_option
from studio.cli.options import (
    App,
    Choice,
    Configured,
    DryRun,
    Files,
    Limited,
    Query,
    Storable,
    count,
    piped_text,
)
from studio.cli.output.plan_graph import plan_lines
from studio.cli.output.shapes import Shape, findings_shape, report_shape, usage_shape
from studio.cli.output.terminal import name_next, print_label, print_lines, print_remark
from studio.cli.workflow.change import Change, changes
from studio.cli.workflow.forecast import show_planning, unstored
from studio.cli.workflow.parse import print_problems
from studio.sessions.activity import FEWEST, MOST
from studio.workbench import Outlook, Workbench
from studio.workbench.attaching import attached

_alternatives_option = count("Ask for K plans at once, to choose from.", "K", least=FEWEST, most=MOST)
STDIN_NAME = "stdin.txt"
_OF_MODE = {"max_steps", "rounds", "economical"}

app = App()


@app.command()
def plan(
    ctx: typer.Context,
    query: Query = None,
    file: Files = None,
    session: Annotated[str | None, session_option("Ask again for the workflow of a session.")] = None,
    alternatives: Annotated[int | None, _alternatives_option] = None,
    *,
    dry_run: DryRun = False,
    use: Annotated[int | None, count("Make this alternative the session's workflow.")] = None,
    change: Change,
    choice: Choice,
    options: Storable,
) -> int:
    """Write a workflow for a query."""
    if query is None and session is None:
        query = piped_text()
    if (query is None) == (session is None):
        ctx.fail("give a query or --session ID")
    if file and session is not None:
        ctx.fail("--file goes with a query; a session has files of its own")
    if change.is_set and (session is None or alternatives is not None):
        ctx.fail("--change, --take and --leave go with --session ID alone")
    if use is not None and (session is None or alternatives is not None or change.is_set):
        ctx.fail("--use goes with --session ID alone")
    if use is not None and dry_run:
        ctx.fail("--use calls no model; leave --dry-run out")
    if change.take is not None and change.leave:
        ctx.fail("give --take or --leave, one of the two")
    if dry_run:
        return _forecast(query, session, file or (), choice, options, plans=alternatives or 1, change=change)
    confirm_keys(options.pool, ask=True)
    with opened(options) as workbench:
        if session is not None:
            chosen = session_again(workbench, session, choice)
            print_unusable(workbench.pool, workbench.settings(chosen.id))
            if change.is_set:
                return changes(workbench, chosen.id, change, options)
            if use is not None:
                return _use(workbench, chosen, use, options)
        else:
            chosen = new_session(workbench, query or "", choice, file or ())
        name_next(f"session {chosen.id[:8]}", f"plan --session {chosen.id[:8]}{options.again}", what="again")
        if alternatives is not None:
            return _alternatives(workbench, chosen, alternatives, options)
        return _plan(workbench, chosen, options)


def _forecast(
    query: str | None,
    session: str | None,
    attached: Sequence[Path],
    choice: Choice,
    options: Storable,
    *,
    plans: int,
    change: Change,
) -> int:
    """Print who would be asked, and how often; a new session is made in no store."""
    if change.is_set and change.change is None:
        raise PlanError("--take and --leave call no model; leave --dry-run out.")
    with opened(options if session is not None else unstored(options)) as workbench:
        id = dry_session(workbench, session, query, choice, attached)
        settings = settings_of(choice, pool=workbench.pool, before=workbench.settings(id))
        return show_planning(workbench, id, settings, options, is_new=session is None, plans=plans)


def dry_session(
    workbench: Workbench, session: str | None, query: str | None, choice: Choice, files: Sequence[Path]
) -> str:
    """The id of the session that is named, which stays as it is, or of a new one."""
    if session is not None:
        return session_of(workbench.store, session)
    return new_session(workbench, query or "", choice, files).id


def _plan(workbench: Workbench, session: Session, options: Configured) -> int:
    report = report_of(workbench.planning.plan(session.id))
    label, names = workbench.pool.label, workbench.pool.names
    outlook: Outlook | None = None
    findings: Sequence[Finding] = ()
    if report.workflow is not None:
        outlook = workbench.running.outlook(session.id)
        settings = workbench.settings(session.id)
        findings = check(
            report.workflow,
            max_steps=settings.max_steps,
            query=session.query,
            workers=settings.workers or names,
            examples=example_instructions(),
            tools=workbench.pool.tools,
        )
    if options.json:
        shape = {
            "session": session.id,
            "label": label,
            "request_id": report.request_id,
            "estimate": None if outlook is None else asdict(outlook.estimate),
            **report_shape(report),
            "reasoning": report.reasoning,
            "findings": findings_shape(findings),
        }
        options.show(shape)
    else:
        if report.workflow is not None:
            print_lines(f"{report.reasoning}\n")
            print_lines(*plan_lines(report.workflow))
        print_label(label)
        if outlook is not None:
            print_remark(outlook.sentence)
            name_next(f"session {session.id[:8]}", f"run --session {session.id[:8]}{options.again}")
    print_problems(report)
    for finding in findings:
        print_remark(f"{finding.severity}: {finding.sentence}")
    return 0 if report.ok else 1


def report_of(plan: Plan) -> PlanReport:
    """A plan's report. Raises `PlanError` when the Conductor gave no completion."""
    if plan.report is None:
        raise PlanError(plan.failure or f"{plan.planner} gave no plan; ask again.")
    return plan.report


# -- sessions and their settings -------------------------------------------------------------------


def new_session(workbench: Workbench, query: str, choice: Choice, files: Sequence[Path] = ()) -> Session:
    """A session for the query with its files. Prints which chosen workers the Conductor is not offered.

    Raises `FormatError` for a file that cannot be read, `QueryError` for one that cannot be attached.
    """
    settings = settings_of(choice, pool=workbench.pool)
    print_unusable(workbench.pool, settings)
    uploads = [
        (
            STDIN_NAME if str(path) == STDIN else path.name,
            read_bounded(path, most=MAX_FILE, kind="an attached file"),
        )
        for path in files
    ]
    conversation = attached(None, uploads, cards=workbench.pool.cards.values())
    for file in () if conversation is None else conversation.files:
        if file.cut is not None:
            print_remark(f"attached of {file.name}: {file.cut}")
    return workbench.ask(query, settings=settings, origin="terminal", conversation=conversation)


def session_again(workbench: Workbench, prefix: str, choice: Choice) -> Session:
    """The session that `prefix` names; settings that are chosen become its own, as they do in the app."""
    session = workbench.store.sessions.find(session_of(workbench.store, prefix))
    before = workbench.settings(session.id)
    settings = settings_of(choice, pool=workbench.pool, before=before)
    return session if settings == before else workbench.store.sessions.set_settings(session.id, settings)


def print_unusable(pool: Pool, settings: Settings) -> None:
    """Print on stderr which of the chosen workers the Conductor is not offered, and why."""
    for name in settings.workers or pool.names:
        if name in pool.unusable:
            print_remark(f"{name} is not offered to the Conductor: {pool.unusable[name]}")


def settings_of(choice: Limited, *, pool: Pool, before: Settings | None = None) -> Settings:
    """The chosen settings; what is not chosen stays as it was `before`.

    Raises `PoolError` for a worker that the pool does not have, `PlanError` for an unknown planner.
    """
    settings = (before or Settings()).model_dump()
    if choice.mode is not None:
        settings |= MODES[choice.mode].model_dump(include=_OF_MODE)
    for name in ("max_steps", "rounds", "attempts"):
        if (value := getattr(choice, name)) is not None:
            settings[name] = value
    settings["strict_form"] = settings.get("strict_form", False) or choice.strict_form
    settings["budget"] |= choice.budget.model_dump(exclude_none=True)
    if isinstance(choice, Choice) and choice.planner is not None:
        settings["planner"] = choice.planner
        _ = planner_named(choice.planner, pool)
    if choice.workers is not None or choice.exclude:
        settings["workers"] = _workers(choice, pool, before=settings["workers"] or pool.names)
    return Settings.model_validate(settings)


def _workers(choice: Limited, pool: Pool, *, before: Sequence[str]) -> tuple[str, ...]:
    chosen, excluded = choice.workers or (), choice.exclude or ()
    for name in (*chosen, *excluded):
        _ = pool[name]
    for name in chosen:
        if name in pool.unusable and name not in excluded:
            raise PoolError(f"{name} cannot be used: {pool.unusable[name]}")
    left = tuple(name for name in chosen or before if name not in excluded)
    if not left:
        raise PoolError("No worker is left to plan with; exclude fewer of them.")
    return left


# -- alternatives ----------------------------------------------------------------------------------


def _alternatives(workbench: Workbench, session: Session, number: int, options: Configured) -> int:
    """Several plans beside each other; the session has none of them as its workflow until one is used."""
    plans = workbench.planning.plan_alternatives(session.id, number)
    is_one_valid = any(plan.report is not None and plan.report.ok for plan in plans)
    if is_one_valid:
        name_next(f"session {session.id[:8]}", f"plan --session {session.id[:8]}{options.again} --use N")
    label = workbench.pool.label
    equal = [_first_equal(plans, at) for at in range(len(plans))]
    if options.json:
        shapes = [_alternative_shape(plan, same_as) for plan, same_as in zip(plans, equal, strict=True)]
        options.show({"session": session.id, "label": label, "alternatives": shapes})
    else:
        for plan, same_as in zip(plans, equal, strict=True):
            print_lines(f"Alternative {plan.attempt}: {_summary(plan, same_as)}\n")
        print_label(label)
    return 0 if is_one_valid else 1


def _use(workbench: Workbench, session: Session, number: int, options: Configured) -> int:
    """Make one of the alternatives that were asked for last (from 1) the session's workflow."""
    plans = {plan.attempt: plan for plan in workbench.store.plans.alternatives(session.id)}
    if number not in plans:
        raise PlanError(
            f"The session {session.id[:8]} has no alternative {number}; it has {len(plans)}, from 1."
        )
    report, head = plans[number].report, workbench.store.revisions.head(session.id)
    valid = 0 if report is None or report.candidate is None else report.candidates.index(report.candidate)
    revision = workbench.planning.use_candidate(plans[number].id, valid, head=head)
    name_session(session, options)
    shape = {"session": session.id, "revision": revision.id}
    return options.show(shape, *plan_lines(revision.workflow))


def _first_equal(plans: Sequence[Plan], at: int) -> int | None:
    """The number (from 1) of the first plan with the same workflow; None if this is it, or has none."""
    workflows = [None if plan.report is None else plan.report.workflow for plan in plans]
    if workflows[at] is None or workflows.index(workflows[at]) == at:
        return None
    return plans[workflows.index(workflows[at])].attempt


def _summary(plan: Plan, same_as: int | None) -> str:
    if plan.report is None:
        return f"no plan. {plan.failure or 'It gave no completion.'}"
    if same_as is not None:
        return f"the same plan as alternative {same_as}."
    if plan.report.workflow is not None:
        return "\n".join(plan_lines(plan.report.workflow))
    problems = " ".join(problem.message for problem in plan.report.problems)
    return f"not valid. {problems}" if problems else "keeps the answer."


def _alternative_shape(plan: Plan, same_as: int | None) -> Shape:
    """A `report_shape` with the plan's id and what it took; `failure` where there was no completion."""
    report: Shape = {"ok": False} if plan.report is None else report_shape(plan.report)
    return {
        "plan": plan.id,
        "number": plan.attempt,
        "same_as": same_as,
        "failure": plan.failure,
        "request_id": None if plan.report is None else plan.report.request_id,
        "usage": usage_shape(Total.of([plan.usage])),
        "seconds": plan.seconds,
        **report,
    }
