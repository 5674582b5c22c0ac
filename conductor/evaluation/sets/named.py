"""Each set by its name: its source, its licence, its columns, its scorer, and how a row becomes an item.

Knows the rows of each set as they are published, by the pages that `source` names; downloads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conductor.errors import DataError
from conductor.evaluation.items import DataSet, ScorerName, items_of
from conductor.evaluation.rows import rows_of
from conductor.evaluation.sets import programs

MAX_LINE = 200_000_000
"""Characters of a line: LiveCodeBench packs a question's tests into one."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class NamedSet:
    """A published set. `hub` are the arguments of `datasets.load_dataset` that load it, `columns` those of
    its columns that are read, `item` makes the fields of an item of a row; `note` is what a user must know.
    """

    name: str
    title: str
    source: str
    file: str
    licence: str
    columns: tuple[str, ...]
    scorer: ScorerName
    item: Callable[[Row], Mapping[str, Any]] = field(repr=False)
    hub: Mapping[str, Any]
    note: str = ""

    def fields(self, row: Row) -> Mapping[str, Any]:
        """The fields of the row's item. Raises `DataError` for a row of another set."""
        missing = [column for column in self.columns if row.get(column) is None]
        if missing:
            raise DataError(f"it has no {missing[0]!r}, which the rows of {self.title} have")
        try:
            return {"scorer": self.scorer, **self.item(row)}
        except (TypeError, AttributeError, KeyError) as error:
            raise DataError(f"its columns hold other kinds of values than those of {self.title}") from error


def read_named(
    named: NamedSet,
    path: Path,
    *,
    scorer: ScorerName | None = None,
    limit: int | None = None,
    skip_broken: bool = False,
) -> DataSet:
    """The items of a file of this set, as it is published. Raises `DataError` as `read_data` does."""
    return items_of(
        rows_of(path, max_line=MAX_LINE),
        name=named.name,
        place=path.name,
        fields=named.fields,
        scorer=scorer,
        limit=limit,
        skip_broken=skip_broken,
    )


def named_set(name: str) -> NamedSet | None:
    """The set of that name, whatever case and dashes it is written with; None where there is none."""
    return NAMED_SETS.get(name.lower().replace("-", "").replace("_", ""))


_BOXED = "\n\nEnd with the answer in \\boxed{}."


def _aime(row: Row) -> Mapping[str, Any]:
    answer = str(row["answer"]).strip()
    if not answer.isdecimal() or int(answer) > 999:
        raise DataError(f"its answer {answer[:40]!r} is no whole number from 0 to 999")
    named = row.get("id", row.get("problem_idx"))
    return {"input": row["problem"] + _BOXED, "target": answer} | ({} if named is None else {"id": named})


def _gpqa(row: Row) -> Mapping[str, Any]:
    right = str(row["Correct Answer"]).strip()
    wrong = [str(row[f"Incorrect Answer {number}"]).strip() for number in (1, 2, 3)]
    given = {"id": row["Record ID"]} if row.get("Record ID") else {}
    about = {"category": row.get("High-level domain"), "subdomain": row.get("Subdomain")}
    return {**given, "input": row["Question"].strip(), "choices": [right, *wrong], "target": "A",
            "metadata": about}  # fmt: skip


def _math500(row: Row) -> Mapping[str, Any]:
    given = {"id": row["unique_id"]} if row.get("unique_id") else {}
    about = {"category": row.get("subject"), "level": row.get("level")}
    return {**given, "input": row["problem"] + _BOXED, "target": str(row["answer"]), "metadata": about}


def _mmlu(row: Row) -> Mapping[str, Any]:
    choices, answer = row["choices"], row["answer"]
    if not isinstance(choices, list) or len(choices) != 4:
        raise DataError("its choices are no list of four")
    letter = str(answer).strip() if isinstance(answer, str) else "ABCD"[answer : answer + 1]
    if letter not in tuple("ABCD"):
        raise DataError(f"its answer {answer!r} is neither 0 to 3 nor a letter from A to D")
    return {"input": row["question"], "choices": [str(each) for each in choices], "target": letter,
            "metadata": {"category": row["subject"]}}  # fmt: skip


def _rlpr(row: Row) -> Mapping[str, Any]:
    prompt, reward = row["prompt"], row["reward_model"]
    asked = [each for each in prompt if each.get("role") == "user"] if isinstance(prompt, list) else []
    if not asked or not isinstance(reward, Mapping) or reward.get("ground_truth") is None:
        raise DataError("its prompt has no message of a user, or its reward_model no ground_truth")
    return {"input": asked[-1]["content"] + _BOXED, "target": str(reward["ground_truth"]),
            "metadata": {"category": row.get("ability")}}  # fmt: skip


_ALL = (
    NamedSet(
        name="aime25",
        title="AIME25",
        source="https://huggingface.co/datasets/math-ai/aime25",
        file="test.jsonl",
        licence="Apache-2.0; the problems are the MAA's",
        columns=("problem", "answer"),
        scorer="number",
        item=_aime,
        hub={"path": "math-ai/aime25", "split": "test"},
        note="The files of MathArena/aime_2025 are read as well.",
    ),
    NamedSet(
        name="gpqa",
        title="GPQA-Diamond",
        source="https://huggingface.co/datasets/Idavidrein/gpqa",
        file="gpqa_diamond.csv",
        licence="CC-BY-4.0",
        columns=("Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2",
                 "Incorrect Answer 3"),
        scorer="choice",
        item=_gpqa,
        hub={"path": "Idavidrein/gpqa", "name": "gpqa_diamond", "split": "train"},
        note="Its page asks for an account and for no publishing of its questions.",
    ),
    NamedSet(
        name="math500",
        title="MATH500",
        source="https://huggingface.co/datasets/HuggingFaceH4/MATH-500",
        file="test.jsonl",
        licence="MIT (MATH and PRM800K)",
        columns=("problem", "answer"),
        scorer="mathematics",
        item=_math500,
        hub={"path": "HuggingFaceH4/MATH-500", "split": "test"},
    ),
    NamedSet(
        name="mmlu",
        title="MMLU",
        source="https://huggingface.co/datasets/cais/mmlu",
        file="all/test-00000-of-00001.parquet",
        licence="MIT",
        columns=("question", "subject", "choices", "answer"),
        scorer="choice",
        item=_mmlu,
        hub={"path": "cais/mmlu", "name": "all", "split": "test"},
    ),
    NamedSet(
        name="rlpr",
        title="RLPR",
        source="https://huggingface.co/datasets/openbmb/RLPR-Train-Dataset",
        file="rlpr_train.parquet",
        licence="not verified",
        columns=("prompt", "reward_model"),
        scorer="flexible",
        item=_rlpr,
        hub={"path": "openbmb/RLPR-Train-Dataset", "split": "train"},
        note="The files of openbmb/RLPR-Evaluation are read as well. Read their licences first.",
    ),
    NamedSet(
        name="livecodebench",
        title="LiveCodeBench",
        source="https://huggingface.co/datasets/livecodebench/code_generation_lite",
        file="test6.jsonl",
        licence="CC; its page names no version",
        columns=("question_id", "question_content", "public_test_cases", "private_test_cases"),
        scorer="code",
        item=programs.livecodebench,
        hub={"path": "json", "split": "train",
             "data_files": "hf://datasets/livecodebench/code_generation_lite/test6.jsonl"},
        note="Programs run here: --allow-code. test.jsonl to test5.jsonl are its earlier releases.",
    ),
    NamedSet(
        name="bigcodebench",
        title="BigCodeBench",
        source="https://huggingface.co/datasets/bigcode/bigcodebench",
        file="data/v0.1.4-00000-of-00001.parquet",
        licence="Apache-2.0",
        columns=("task_id", "instruct_prompt", "test"),
        scorer="code",
        item=programs.bigcodebench,
        hub={"path": "bigcode/bigcodebench", "split": "v0.1.4"},
        note="Programs run here: --allow-code. They need the libraries of its requirements-eval.txt.",
    ),
)  # fmt: skip

NAMED_SETS: Mapping[str, NamedSet] = {each.name: each for each in _ALL}
