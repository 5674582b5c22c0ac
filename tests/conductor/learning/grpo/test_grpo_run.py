from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import DataError
from conductor.learning.grpo.recipe import FILE, GrpoRecipe, GrpoRun

RUN = GrpoRun(recipe=GrpoRecipe(steps=10), data="mine", digest="d1", workers=(("a", "one"),))


@contextmanager
def full_disk() -> Iterator[None]:
    """In the block no file of this process grows."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


def changed(**recipe: Any) -> GrpoRun:
    return RUN.model_copy(update={"recipe": RUN.recipe.model_copy(update=recipe)})


def test_the_same_run_goes_on_and_may_take_more_steps(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert RUN.begin(folder) is False
    assert RUN.begin(folder) is True
    assert changed(steps=20).begin(folder) is True
    assert GrpoRun.model_validate_json((folder / FILE).read_bytes()).recipe.steps == 20


@pytest.mark.parametrize("began_before", [False, True])
def test_on_a_full_disk_the_run_is_refused_and_its_folder_can_be_used_later(
    tmp_path: Path, *, began_before: bool
) -> None:
    folder = tmp_path / "run"
    if began_before:
        RUN.begin(folder)
    with full_disk(), pytest.raises(DataError, match="cannot be written: File too large"):
        changed(steps=20).begin(folder)
    assert list(folder.iterdir()) == [folder / FILE] * began_before
    assert changed(steps=20).begin(folder) is began_before


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (changed(learning_rate=1e-5, rollouts=8), "rollouts, learning_rate"),
        (changed(steps=9), r"steps \(fewer\)"),
        (RUN.model_copy(update={"digest": "d2"}), "the questions"),
        (RUN.model_copy(update={"workers": (("a", "two"),)}), "the pool"),
    ],
)
def test_another_run_is_refused_and_the_first_one_stays(
    tmp_path: Path, other: GrpoRun, difference: str
) -> None:
    RUN.begin(tmp_path)
    stored = (tmp_path / FILE).read_bytes()
    with pytest.raises(DataError, match=f"differs in {difference};"):
        other.begin(tmp_path)
    assert (tmp_path / FILE).read_bytes() == stored


def test_a_file_that_cannot_be_read_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match=r"recipe\.json, which cannot be read"):
        RUN.begin(tmp_path)
    assert (tmp_path / FILE).read_text(encoding="utf-8") == "{}"


def test_only_one_of_several_processes_writes(tmp_path: Path) -> None:
    assert RUN.begin(tmp_path, write=False) is False
    assert list(tmp_path.iterdir()) == []
