"""`evaluate keep` and `evaluate tests`: a team's own questions, kept from its sessions.

`evaluate run` takes a set of them by its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from conductor.errors import DataError
from conductor.evaluation.team_tests import TeamCheck, TeamTest
from conductor.files.named_file import STDIN
from conductor.own_settings import setting
from conductor.text.control_characters import escaped
from conductor.text.formatting import quantity
from studio.cli.opening import SessionId, run_of, session_of, stored, test_of
from studio.cli.options import JsonLines, Stored, option
from studio.cli.output.terminal import one_line, print_remark, table, written_to
from studio.evaluation.team_tests import TEAM_SET, TeamTests
from studio.sessions.notes import AUTHOR


def keep(
    id: SessionId,
    *,
    accepted: Annotated[
        str | None, option("The answer that counts; default: the run's.", "TEXT", str)
    ] = None,
    check: Annotated[TeamCheck, option("How answers are compared with it.")] = "contains",
    data_set: Annotated[str, option("The set that it goes into.", "NAME", str, names=("--set",))] = TEAM_SET,
    run: Annotated[str | None, option("Of this run; default: the newest with an answer.", "RUN")] = None,
    author: Annotated[str | None, option(f"Who keeps it; default: {AUTHOR}.", "NAME")] = None,
    options: Stored,
) -> int:
    """Keep a session's question as a test of the team, with the answer that counts.

    `evaluate run NAME` asks the tests of that set.
    """
    with stored(options) as store:
        session = session_of(store, id)
        test = TeamTests(store).keep(
            session,
            accepted=accepted,
            scorer=check,
            data_set=data_set,
            run=None if run is None else run_of(store, run),
            author=setting(AUTHOR) if author is None else author,
        )
        if store.sessions.find(session).conversation is not None:
            print_remark("the test asks the question alone, without its files and the messages before it.")
    line = f"kept {test.id[:8]} in {test.data_set}  {one_line(test.question, 60)}"
    return options.show(
        test.model_dump(mode="json"), f"{line}: {test.scorer} {one_line(test.accepted, 60)!r}"
    )


def list_tests(
    ctx: typer.Context,
    data_set: Annotated[
        str | None, Argument(metavar="[SET]", help="A set of the team's.", parser=str)
    ] = None,
    delete: Annotated[list[str] | None, option("Delete this test; its beginning is enough.", "TEST")] = None,
    output: Annotated[
        str | None,
        option("Write the set here, as JSON Lines; - is stdout.", "FILE", str, names=("--output", "-o")),
    ] = None,
    *,
    _json_lines: JsonLines = False,
    options: Stored,
) -> int:
    """List the team's tests of a set, or its sets; delete some; write a set as a file.

    A deleted test is gone for good: write the set to a file first.
    """
    if output is not None and data_set is None:
        ctx.fail("--output writes one set; name it")
    with stored(options) as store:
        for prefix in delete or ():
            store.tests.delete(test_of(store, prefix))
        if data_set is None:
            return options.show({"sets": store.tests.sets()}, _sets_lines(store.tests.sets()))
        tests = store.tests.of_set(data_set)
    if not tests and (output is not None or not delete):
        raise DataError(f"The team has no set {data_set!r}; `evaluate tests` lists its sets.")
    if output is not None:
        with written_to(None if output == STDIN else Path(output)) as out:
            items = (test.item for test in tests)
            out.writelines(escaped(f"{item.model_dump_json(exclude_none=True)}\n") for item in items)
        if output != STDIN:
            print_remark(f"{quantity(len(tests), 'test')} written to {output}.")
        return 0
    shape = {"set": data_set, "tests": [each.model_dump(mode="json") for each in tests]}
    return options.show(shape, _tests_lines(tests))


def _sets_lines(sets: Mapping[str, int]) -> str:
    if not sets:
        return "No test yet: `evaluate keep SESSION` makes the first."
    return table(("set", "tests"), [(name, f"{count:,}") for name, count in sets.items()])


def _tests_lines(tests: Sequence[TeamTest]) -> str:
    if not tests:
        return "No test is left in this set."
    rows = [
        (each.id[:8], one_line(each.question, 50), each.scorer, one_line(each.accepted, 40)) for each in tests
    ]
    return table(("test", "question", "check", "accepted answer"), rows)
