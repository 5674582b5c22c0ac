"""The folder of a large training stores its parameters, so that the same command goes on with it.

Knows one file of the folder; checkpoints are TRL's.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from conductor.errors import DataError
from conductor.files.named_file import replace_file
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.values.messages import Value

FILE = "recipe.json"


class GrpoRun(Value):
    """A recipe, on which questions (their name and digest), with which workers (names and identities)."""

    recipe: GrpoRecipe
    data: str
    digest: str
    workers: tuple[tuple[str, str], ...]

    def begin(self, folder: Path, *, write: bool = True) -> bool:
        """Keep this run in its folder; whether it was begun there before, perhaps with fewer steps.

        Raises `DataError` where the folder holds another run, or cannot be written. Of several processes one
        is to `write`.
        """
        file = folder / FILE
        try:
            before = file.read_bytes() if file.exists() else None
            if write:
                folder.mkdir(parents=True, exist_ok=True)
                if before is None or not self._differs(before):
                    replace_file(file, (self.model_dump_json(indent=1) + "\n").encode())
        except OSError as error:
            raise DataError(f"{folder} cannot be written: {error.strerror}. Name another folder.") from error
        if before is not None and (different := self._differs(before)):
            raise DataError(
                f"{folder} holds a run that differs in {', '.join(different)}; go on with that one's, or "
                "name another folder with --out."
            )
        return before is not None

    def _differs(self, stored: bytes) -> list[str]:
        try:
            other = GrpoRun.model_validate_json(stored)
        except ValidationError:
            return [f"{FILE}, which cannot be read"]
        mine, theirs = self.recipe.model_dump(), other.recipe.model_dump()
        differences = [name for name in mine if mine[name] != theirs[name] and name != "steps"]
        differences += ["the questions"] if self.digest != other.digest else []
        differences += ["the pool"] if self.workers != other.workers else []
        return differences + (["steps (fewer)"] if self.recipe.steps < other.recipe.steps else [])
