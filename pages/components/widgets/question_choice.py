"""Choosing questions with known answers: a shipped set, a set of the team's, or an uploaded file with
its columns; the first of them are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import streamlit as st

from conductor.errors import DataError
from conductor.evaluation.data_file import read_data
from conductor.evaluation.items import DataSet
from conductor.evaluation.rows import rows_of
from conductor.evaluation.scorers import SCORERS
from conductor.evaluation.scorers.judge import can_judge
from conductor.evaluation.sets.named_set import NAMED_SETS, read_named
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.evaluation.team_tests import team_set
from conductor.text.formatting import quantity
from conductor.workers.pool.pool import Pool
from pages.components.tab.state import plain
from pages.components.widgets.controls import choice
from pages.components.widgets.labels import distinct_labels
from storage import SessionStore

MAX_MEGABYTES = 100
"""Of a file in the browser, where all of it is in memory; the commands have no limit."""

_OWN, _TEAM = "own", "team"
_SOURCES = {_OWN: "A file", _TEAM: "The team's tests"}
_FILES = {_OWN: "your own"} | {name: f"of {each.title}, as published" for name, each in NAMED_SETS.items()}
_BY_SCORER = "As each question specifies"
_PREVIEW_ITEMS = 3
_GUESSES: Mapping[str, Sequence[str]] = {
    "input": ("input", "question", "problem", "prompt", "query"),
    "target": ("target", "answer", "solution", "label", "gold"),
    "id": ("id",),
    "choices": ("choices", "options"),
    "category": ("category", "subject", "topic"),
}
"""Fields of a question, and the columns in which they are looked for."""

_FIELDS = {
    "input": "Question",
    "target": "Right answer",
    "id": "Id",
    "choices": "Choices",
    "category": "Category",
}
_NEEDED = ("input", "target")

T = TypeVar("T")


@dataclass(frozen=True)
class Chosen:
    """Questions, with the built-in pool and the planners that they are made for; None: any will do. `shipped`
    is the name of a shipped set, None for other questions.
    """

    data: DataSet
    pool: str | None = None
    planners: tuple[str, ...] | None = None
    shipped: str | None = None


def chosen_questions(store: SessionStore) -> Chosen | None:
    """The questions that were chosen, the team's in `store` among them; None before there are any that can be
    used.
    """
    sources = [_OWN, *SHIPPED, *([_TEAM] if store.tests.sets() else [])]
    names = {name: _SOURCES.get(name, name.capitalize()) for name in sources}
    source = choice("Questions", names, key="data-source", default=_OWN)
    if source == _TEAM:
        tests = _of_team(store)
        _preview(tests)
        return Chosen(tests)
    if source is None or source == _OWN:
        data = _uploaded()
        return None if data is None else Chosen(data)
    shipped = SHIPPED[source]
    st.caption(plain(f"{shipped.about[:1].upper()}{shipped.about[1:]}."))
    data = _remembered((source,), shipped.read)
    _preview(data)
    return Chosen(data, shipped.pool, shipped.planners, source)


def needs(data: DataSet, scorer: str) -> bool:
    """Whether the answers to any of these questions are compared so."""
    return any(item.scored_by == scorer for item in data.items)


def judge_choice(data: DataSet, pool: Pool) -> str | None:
    """The worker that judges, or None if none is needed or chosen yet."""
    if not needs(data, "judge"):
        return None
    judges = [name for name, card in pool.cards.items() if can_judge(card)]
    if not judges:
        st.caption("This pool has no model that can judge. Connect one on *Pool*.")
        return None
    return st.selectbox(
        "Judge",
        judges,
        index=None,
        placeholder="The worker that judges the answers",
        key="evaluation-judge",
        width=320,
        help="It sees the question, the right answer and a planner's answer. Choose a strong model "
        "that does not answer questions itself",
    )


def code_consent(data: DataSet) -> bool:
    """Whether the programs that models write may be run; asked only where answers are programs."""
    if not needs(data, "code"):
        return False
    return st.checkbox("To score code, run what the models write in a limited process", key="how-code")


def _of_team(store: SessionStore) -> DataSet:
    sets = store.tests.sets()
    names = {name: f"{name}, {quantity(tests, 'test')}" for name, tests in sets.items()}
    name = st.selectbox("Set", list(sets), key="data-team", format_func=distinct_labels(names))
    return team_set(name, store.tests.of_set(name))


def _uploaded() -> DataSet | None:
    """The questions of the file that was chosen; None before there is one that can be used."""
    file = st.file_uploader(
        "Questions with known answers: JSON Lines, CSV or Parquet",
        type=["jsonl", "json", "csv", "tsv", "parquet", "gz"],
        key="data-file",
        max_upload_size=MAX_MEGABYTES,
    )
    if file is None:
        st.caption(
            'Each line has a question and its answer, as in {"input": "What is 6 * 7?", "target": "42"}. '
            "If the columns have other names, choose them here."
        )
        return None
    with st.container(horizontal=True, gap="small"):
        published = st.selectbox(
            "The file is",
            list(_FILES),
            key="data-published",
            format_func=distinct_labels(_FILES),
        )
        scorer = st.selectbox(
            "Compare answers by",
            [_BY_SCORER, *SCORERS],
            key="data-scorer",
            help="exact: words or numbers; number: its one number; choice: a letter; mathematics: formulas; "
            "flexible: within 1%; code: runs programs; judge: a worker compares them",
        )
        encoding = (
            st.text_input(
                "Encoding",
                key="data-encoding",
                placeholder="UTF-8",
                width=120,
                help="Only for files that are not UTF-8, such as cp1252",
            ).strip()
            or None
        )
    chosen = None if scorer == _BY_SCORER else scorer

    def on_disk(read: Callable[[Path], T], *key: object) -> T:
        return _remembered((file.file_id, *key), partial(_read, file.name, file.getvalue(), read))

    try:
        if published != _OWN:
            how = partial(
                read_named, NAMED_SETS[published], encoding=encoding, scorer=chosen, skip_broken=True
            )
            data = on_disk(how, published, scorer, encoding)
        else:
            columns = _columns(on_disk(partial(_first_rows, encoding=encoding), encoding))
            read = partial(read_data, encoding=encoding, columns=columns, scorer=chosen, skip_broken=True)
            data = on_disk(read, tuple(columns.items()), scorer, encoding)
    except DataError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    _preview(data)
    return data if _broken_lines_agreed(data) else None


def _remembered(key: tuple[object, ...], read: Callable[[], T]) -> T:
    """What was read of the file, once however often the page is drawn. Raises as `read` does."""
    results = st.session_state.setdefault("data-read", {})
    if key not in results:
        if len(results) > 8:
            results.clear()
        try:
            results[key] = read()
        except DataError as error:
            results[key] = error
    result = results[key]
    if isinstance(result, DataError):
        raise result
    return result  # type: ignore[no-any-return]


def _read(name: str, content: bytes, read: Callable[[Path], T]) -> T:
    """What `read` makes of the file, which it is given on disk."""
    with TemporaryDirectory() as folder:
        path = Path(folder, PurePath(name.replace("\\", "/")).name)
        path.write_bytes(content)
        return read(path)


def _first_rows(path: Path, *, encoding: str | None) -> list[Mapping[str, Any]]:
    """Those that have columns. Raises the fault of the first row if no row has any."""
    rows = [row for _, row in islice(rows_of(path, encoding=encoding), 20)]
    faults = [row for row in rows if isinstance(row, DataError)]
    if len(faults) == len(rows) > 0:
        raise DataError(f"No line of the file has columns. The first one: {faults[0]}.")
    return [row for row in rows if isinstance(row, Mapping)]


def _columns(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """Which column each field is read from, for those that are not named like their field."""
    there = list(dict.fromkeys(column for row in rows for column in row))
    if not there:
        raise DataError("No line of the file has columns. Choose another file.")
    guessed = {
        field: next((column for name in names for column in there if column.lower() == name), None)
        for field, names in _GUESSES.items()
    }
    plainly = all(guessed[field] == field for field in _NEEDED)
    with (
        st.expander("Columns", icon=":material/view_column:", expanded=not plainly),
        st.container(horizontal=True),
    ):
        choices = {}
        for field, label in _FIELDS.items():
            guess = guessed[field]
            choices[field] = st.selectbox(
                label,
                there,
                index=None if guess is None else there.index(guess),
                key=f"data-column-{field}",
                placeholder="Choose a column" if field in _NEEDED else "None",
            )
    missing = [_FIELDS[field] for field in _NEEDED if choices[field] is None]
    if missing:
        raise DataError(f"Choose a column for: {', '.join(missing)}.")
    return {
        field: column
        for field, column in choices.items()
        if column is not None and (column != field or field == "category")
    }


def _preview(data: DataSet) -> None:
    facts = [quantity(len(data.items), "question")]
    if data.categories:
        names = "categories" if len(data.categories) > 1 else "category"
        facts.append(f"{len(data.categories):,} {names}")
    facts.append(f"compared by {', '.join(dict.fromkeys(item.scored_by for item in data.items))}")
    st.caption(plain(f"{data.name}: {', '.join(facts)}. The first ones:"))
    rows = [
        {
            "Id": item.id,
            "Question": " ".join(item.question[:300].split()),
            "Right answer": ", ".join(item.target)[:120],
            "Category": item.category or "-",
        }
        for item in data.items[:_PREVIEW_ITEMS]
    ]
    st.dataframe(rows, hide_index=True, key="data-preview")


def _broken_lines_agreed(data: DataSet) -> bool:
    """Whether no line is broken, or those that are, which are named, may be left out."""
    if not data.broken:
        return True
    first, more = data.broken[0], len(data.broken) - 1
    rest = f" {quantity(more, 'more line')} cannot be read either." if more else ""
    st.warning(
        plain(f"{first.kind} {first.number:,} is not a question: {first.reason}.{rest}", limit=600),
        icon=":material/warning:",
    )
    return st.checkbox("Skip the lines that cannot be read", key="data-leave-out")
