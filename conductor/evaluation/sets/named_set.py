"""Each set by its name: its source, its licence, its columns, its scorer, and how a row becomes an item.

Knows the rows of each set as they are published, by the pages that `source` names; `named_sets.toml` has
what is plain data of a set. One is loaded from the hub by the library `datasets`, which is an extra.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from conductor.errors import DataError
from conductor.evaluation.data_file import items_of
from conductor.evaluation.items import DataSet
from conductor.evaluation.rows import rows_of
from conductor.evaluation.sets import programs
from conductor.extras import install_command
from conductor.text.equality.choice import LETTERS
from conductor.text.equality.writing import plain
from conductor.text.final_answer import final_answer

MAX_LINE = 200_000_000
"""Characters of a line: LiveCodeBench packs a question's tests into one."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class NamedSet:
    """A published set. `hub` are the arguments of `datasets.load_dataset` that load it, `columns` those of
    its columns that are read, other publishers' names for one behind a bar; `item` makes the fields of an
    item of a row; `headless` are the columns of a CSV that is published without their names; `note` is what a
    user must know.
    """

    name: str
    title: str
    source: str
    file: str
    licence: str
    columns: Sequence[str]
    scorer: str
    item: Callable[[Row], Mapping[str, Any]] = field(repr=False)
    hub: Mapping[str, Any]
    note: str = ""
    headless: Sequence[str] = ()

    def fields(self, row: Row) -> Mapping[str, Any]:
        """The fields of the row's item. Raises `DataError` for a row of another set."""
        missing = [each for each in self.columns if _value(row, *each.split("|")) is None]
        if missing:
            names = " or ".join(repr(name) for name in missing[0].split("|"))
            raise DataError(f"it has no {names}, which the rows of {self.title} have")
        try:
            return {"scorer": self.scorer, **self.item(row)}
        except (TypeError, AttributeError, KeyError) as error:
            raise DataError(f"its columns hold other kinds of values than those of {self.title}") from error


def read_named(
    named: NamedSet,
    path: Path,
    *,
    encoding: str | None = None,
    scorer: str | None = None,
    limit: int | None = None,
    skip_broken: bool = False,
) -> DataSet:
    """The items of a file of this set, as it is published. Raises `DataError` as `read_data` does."""
    return items_of(
        rows_of(path, encoding=encoding, max_line=MAX_LINE, headless=named.headless),
        name=named.name,
        place=path.name,
        fields=named.fields,
        scorer=scorer,
        limit=limit,
        skip_broken=skip_broken,
    )


def named_set(name: str) -> NamedSet | None:
    """The set of that name, whatever case and dashes it is written with; or None."""
    return NAMED_SETS.get(name.lower().replace("-", "").replace("_", ""))


_BOXED = "\n\nEnd with the answer in \\boxed{}."
_YEAR = re.compile(r"(?<!\d)20\d\d(?!\d)")


def _value(row: Row, *names: str) -> Any:
    """What the first of these columns holds that has a value; None if all are empty."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def _boxed_in(solution: str) -> str:
    """What the solution of a published problem has in its last box. Raises `DataError` where it has none."""
    if "\\boxed{" not in solution:
        raise DataError("its solution has no \\boxed{}, in which the answer is published")
    return final_answer(solution)


def _aime(row: Row, year: str) -> Mapping[str, Any]:
    id = _value(row, "id", "ID", "problem_idx")
    years = _YEAR.findall(f"{row.get('year')} {id} {row.get('url')}")
    if years and year not in years:
        raise DataError(f"it is a problem of {years[0]}, and this the set of {year}")
    value = _value(row, "answer", "Answer")
    answer = _boxed_in(_value(row, "solution", "Solution")) if value is None else final_answer(str(value))
    # opencompass publishes 336^\circ, the degrees of an arc.
    answer = plain(answer).removesuffix("°")
    if not answer.isdecimal() or int(answer) > 999:
        raise DataError(f"its answer {answer[:40]!r} is no whole number from 0 to 999")
    problem = _value(row, "problem", "Problem", "question", "Question")
    return {"input": problem + _BOXED, "target": answer} | ({} if id is None else {"id": id})


def _gpqa(row: Row) -> Mapping[str, Any]:
    right = str(row["Correct Answer"]).strip()
    wrong = [str(row[f"Incorrect Answer {number}"]).strip() for number in (1, 2, 3)]
    identity = {"id": row["Record ID"]} if row.get("Record ID") else {}
    about = {"category": row.get("High-level domain"), "subdomain": row.get("Subdomain")}
    return {**identity, "input": row["Question"].strip(), "choices": [right, *wrong], "target": "A",
            "metadata": about}  # fmt: skip


def _math500(row: Row) -> Mapping[str, Any]:
    identity = {"id": row["unique_id"]} if row.get("unique_id") else {}
    about = {"category": _value(row, "subject", "type", "Subject"), "level": row.get("level")}
    answer = _value(row, "answer", "Answer")
    return {
        **identity,
        "input": _value(row, "problem", "Question") + _BOXED,
        "target": _boxed_in(row["solution"]) if answer is None else str(answer),
        "metadata": about,
    }


def _mmlu(row: Row) -> Mapping[str, Any]:
    """A row of the hub's files, of simple-evals' table, or of the first tables, which have no heads."""
    choices, answer = row.get("choices"), _value(row, "answer", "Answer")
    if choices is None:
        choices = [row[letter] for letter in "ABCD"]
    if not isinstance(choices, list) or len(choices) != 4:
        raise DataError("its choices are no list of four")
    letter = str(answer).strip()
    letter = "ABCD"[int(letter)] if letter in ("0", "1", "2", "3") else letter
    if letter not in tuple("ABCD"):
        raise DataError(f"its answer {answer!r} is neither 0 to 3 nor a letter from A to D")
    return {
        "input": _value(row, "question", "Question"),
        "choices": [str(each) for each in choices],
        "target": letter,
        "metadata": {"category": _value(row, "subject", "Subject")},
    }


def _mmlu_pro(row: Row) -> Mapping[str, Any]:
    """Choices that are "N/A" fill rows up and are left out, as by the set's own evaluation."""
    options, letter, at = row["options"], str(row["answer"]).strip(), row.get("answer_index")
    index = LETTERS.find(letter) if len(letter) == 1 else -1
    if not isinstance(options, list) or not 0 <= index < len(options) or at not in (None, index):
        raise DataError(f"its answer {letter!r} with the index {at!r} names none of its options")
    if options[index] == "N/A":
        raise DataError("its answer is an option without a text")
    return {
        "id": row["question_id"],
        "input": row["question"],
        "choices": [each for each in options if each != "N/A"],
        "target": LETTERS[sum(each != "N/A" for each in options[:index])],
        "metadata": {"category": row.get("category"), "source": row.get("src")},
    }


def _gsm8k(row: Row) -> Mapping[str, Any]:
    _, marks, answer = row["answer"].rpartition("####")
    if not marks:
        raise DataError("its answer does not end with #### and a number")
    return {"input": row["question"] + _BOXED, "target": answer.strip()}


def _rlpr(row: Row) -> Mapping[str, Any]:
    prompt, reward = row["prompt"], row["reward_model"]
    messages = [each for each in prompt if each.get("role") == "user"] if isinstance(prompt, list) else []
    if not messages or not isinstance(reward, Mapping) or reward.get("ground_truth") is None:
        raise DataError("its prompt has no message of a user, or its reward_model no ground_truth")
    return {"input": messages[-1]["content"] + _BOXED, "target": str(reward["ground_truth"]),
            "metadata": {"category": row.get("ability")}}  # fmt: skip


_ITEMS: Mapping[str, Callable[[Row], Mapping[str, Any]]] = {
    "aime24": partial(_aime, year="2024"),
    "aime25": partial(_aime, year="2025"),
    "gpqa": _gpqa,
    "math500": _math500,
    "mmlu": _mmlu,
    "mmlupro": _mmlu_pro,
    "gsm8k": _gsm8k,
    "rlpr": _rlpr,
    "livecodebench": programs.livecodebench,
    "humaneval": programs.humaneval,
    "bigcodebench": programs.bigcodebench,
}

_DESCRIBED = tomllib.loads(Path(__file__).with_name("named_sets.toml").read_text(encoding="utf-8"))

NAMED_SETS: Mapping[str, NamedSet] = {
    name: NamedSet(name=name, item=item, **_DESCRIBED[name]) for name, item in _ITEMS.items()
}


def load_named(
    named: NamedSet,
    *,
    scorer: str | None = None,
    limit: int | None = None,
    skip_broken: bool = False,
) -> DataSet:
    """The items of this set, as they come: with a `limit` no more is downloaded than it takes.

    Raises `DataError` where the library is missing, the hub refuses or cannot be reached, and for a row that
    is no item.
    """
    return items_of(
        _rows(named),
        name=named.name,
        place=named.source,
        fields=named.fields,
        scorer=scorer,
        limit=limit,
        skip_broken=skip_broken,
    )


def _rows(named: NamedSet) -> Iterator[tuple[int, object]]:
    try:
        from datasets import load_dataset  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise DataError(
            f"Loading from the hub needs the library `datasets`: {install_command('datasets')}, or "
            f"download {named.file} from {named.source} and name it with --file."
        ) from error
    try:
        yield from enumerate(load_dataset(**named.hub, streaming=True), start=1)
    except (OSError, ValueError, RuntimeError) as error:
        # Its own errors are of these kinds, those of a hub that refuses or is not there as well.
        raise DataError(
            f"{named.title} could not be loaded from {named.source}: {str(error)[:300]}. Where its page asks "
            "for an account, log in with `hf auth login`."
        ) from error
