"""The questions that an evaluation is asked for: those of a file, or of a set by its name, the team's own
included; the list of sets.

Knows how they are named on the command line; `conductor.evaluation` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Annotated, TypeVar

from conductor.errors import DataError
from conductor.evaluation.data_file import column_map, read_data
from conductor.evaluation.items import DataSet
from conductor.evaluation.scorers import scorer_named
from conductor.evaluation.sets.mix import MIXES, PARTS, read_mix
from conductor.evaluation.sets.named_set import NAMED_SETS, NamedSet, load_named, named_set, read_named
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec, JudgeSpec, checked_tags
from conductor.evaluation.team_tests import team_set
from conductor.files.named_file import STDIN, open_seekable
from conductor.limited.command import UNSAFE_CODE
from conductor.own_settings import set_here
from conductor.values.presets import Settings
from storage import SessionStore, default_url
from studio.cli.opening import left_out_named
from studio.cli.options import Configured, count, flag, option
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import print_remark, table

T = TypeVar("T", bound=Configured)


def _mix(name: str, *, file: Path | None, hub: bool, limit: int | None, skip_broken: bool) -> DataSet:
    """The questions of a mix, from the hub or from a folder with a file for each of its sets."""

    def read(part: NamedSet) -> DataSet:
        if file is None:
            return load_named(part, skip_broken=skip_broken)
        files = sorted(file.glob(f"{part.name}.*"))
        if len(files) != 1:
            raise DataError(f"{file} has {len(files)} files {part.name}.*: put {part.file} there as the one.")
        return read_named(part, files[0], skip_broken=skip_broken)

    if hub == (file is not None):
        parts = ", ".join(part.name for part in PARTS)
        raise DataError(
            f"{name} is drawn from {parts}: load them with --hub, or name a folder that has a file of each, "
            f"such as {PARTS[0].name}.jsonl, with --file."
        )
    return read_mix(name, read, limit=limit)


@contextmanager
def _file_of(data: str) -> Iterator[Path]:
    """The file; of stdin a copy, which is JSON Lines or JSON."""
    if data != STDIN:
        yield Path(data)
        return
    with TemporaryDirectory() as folder, open_seekable(STDIN) as content:
        copy = Path(folder) / "stdin.json"
        with copy.open("wb") as file:
            copyfileobj(content, file)
        yield copy


@dataclass(frozen=True)
class Questions:
    """Which questions are asked, and how their answers are compared."""

    limit: Annotated[int | None, count("Take the first N questions.", names=("--limit", "-n"))] = None
    file: Annotated[
        Path | None, option("Your file of a set that has a name, or folder of a mix.", "FILE", parser=Path)
    ] = None
    hub: Annotated[bool, flag("--hub", "Load a set that has a name, by the library datasets.")] = False
    column: Annotated[list[str] | None, option("Read a field from a column.", "FIELD=COLUMN")] = None
    encoding: Annotated[
        str | None, option("The encoding of a file that is not UTF-8, such as cp1252.", "NAME")
    ] = None
    scorer: Annotated[str | None, option("How all answers are compared.", "NAME")] = None
    skip_broken: Annotated[bool, flag("--skip-broken", "Skip the lines that cannot be read.")] = False
    allow_code: Annotated[bool, flag("--allow-code", "Run the programs that models write.")] = False
    unsafe_code: Annotated[
        bool, flag("--unsafe-code", "Run them where this system cannot isolate them, too.")
    ] = False

    def questions(self, data: str, *, database: str | None = None) -> DataSet:
        """The items of `data`, which is the path of a file or the name of a set; the team's are in the store
        at `database`, None for the configured one. Lines that were left out are named.

        Raises `DataError` for a set without a source, and for a source or columns that `data` does not take.
        """
        if self.scorer is not None:
            _ = scorer_named(self.scorer)
        if self.unsafe_code:
            # For the processes that score, too.
            set_here(UNSAFE_CODE, "1")
        data_set = self._read(data, database)
        for broken in data_set.broken:
            print_remark(f"line {broken.number} is left out: {broken.reason}")
        return data_set

    def _read(self, data: str, database: str | None) -> DataSet:
        file, hub, columns = self.file, self.hub, self.column
        scorer, limit, skip_broken = self.scorer, self.limit, self.skip_broken
        if (shipped := SHIPPED.find(data)) is not None:
            if file is not None or hub or columns:
                raise DataError(
                    f"The set {data!r} is read by its name alone; leave --file, --hub and --column out."
                )
            return shipped.read(scorer=scorer, limit=limit)
        if data in MIXES:
            return _mix(data, file=file, hub=hub, limit=limit, skip_broken=skip_broken)
        named = named_set(data)
        if named is None:
            if file is not None or hub:
                names = ", ".join(NAMED_SETS)
                raise DataError(f"{data!r} is no set by name: --file and --hub belong to one of {names}.")
            if data != STDIN and not Path(data).suffix and not Path(data).exists():
                if columns:
                    raise DataError(f"{data!r} names no file; leave --column out.")
                with left_out_named(), SessionStore.open(database or default_url()) as store:
                    return team_set(data, store.tests.of_set(data), scorer=scorer, limit=limit)
            with _file_of(data) as path:
                return read_data(
                    path,
                    encoding=self.encoding,
                    columns=column_map(columns or ()),
                    scorer=scorer,
                    limit=limit,
                    skip_broken=skip_broken,
                )
        if columns:
            raise DataError(f"{named.title} is read by its own columns; leave --column out.")
        if file is not None and hub:
            raise DataError("Name a file of yours with --file or load the set with --hub, not both.")
        if file is not None:
            return read_named(
                named, file, encoding=self.encoding, scorer=scorer, limit=limit, skip_broken=skip_broken
            )
        if hub:
            return load_named(named, scorer=scorer, limit=limit, skip_broken=skip_broken)
        raise DataError(
            f"{named.title} is not shipped: download {named.file} from {named.source} and name it with "
            "--file, or load it with --hub."
        )


@dataclass(frozen=True)
class Source(Questions):
    """Which questions are answered, and how."""

    repeats: Annotated[int, count("Answer each question N times.", most=100)] = 1
    parallel: Annotated[int, count("Answer N questions at a time.", most=64)] = 4
    seed: Annotated[int, option("Decides the order of choices.", "N")] = 0
    judge: Annotated[str | None, option("The worker that judges, for --scorer judge.", "WORKER")] = None
    tag: Annotated[list[str] | None, option("A name to find it by. Once for each.", "NAME")] = None

    def spec(self, settings: Settings) -> EvaluationSpec:
        """Raises `DataError` for a tag that is empty or too long."""
        named = {field: getattr(self, field) for field in ("repeats", "parallel", "seed", "allow_code")}
        judge = None if self.judge is None else JudgeSpec(worker=self.judge)
        try:
            tags = checked_tags(self.tag or ())
        except ValueError as error:
            raise DataError(f"--tag: {error}.") from None
        return EvaluationSpec(
            data="", digest="", planners=(CONDUCTOR,), settings=settings, judge=judge, tags=tags, **named
        )


def on_its_pool(data: str, options: T) -> T:
    """The options with the pool that a shipped set is made for, where they name none."""
    shipped = SHIPPED.get(data)
    if shipped is None or shipped.pool is None or options.pool is not None:
        return options
    print_remark(f"{data}: {shipped.about}; on the pool {shipped.pool!r}")
    return replace(options, pool=Path(shipped.pool))


def sets_shape() -> Shape:
    """The shipped sets and the named ones, for programs."""
    fields = ("name", "title", "source", "file", "licence", "columns", "scorer", "note")
    shipped = [{"name": name, "about": each.about} for name, each in SHIPPED.items()]
    return {
        "shipped": shipped,
        "mixes": [{"name": name, "sets": [part.name for part in PARTS]} for name in MIXES],
        "sets": [{field: getattr(each, field) for field in fields} for each in NAMED_SETS.values()],
    }


def sets_lines() -> str:
    """The shipped sets and the named ones, for people."""
    shipped = [f"{name}: {each.about}." for name, each in SHIPPED.items()]
    rows = [(each.name, each.title, each.scorer, each.licence, each.source) for each in NAMED_SETS.values()]
    about = [
        f"{each.title}: {each.file} with {', '.join(each.columns)}.{' ' if each.note else ''}{each.note}"
        for each in NAMED_SETS.values()
    ]
    return "\n".join(
        [
            "These are read by their names alone:",
            *shipped,
            "",
            "These are read from a file or from the hub:",
            table(("name", "set", "scorer", "licence", "source"), rows),
            "",
            *about,
            "",
            f"{', '.join(MIXES)}: the paper's mix of {', '.join(part.title for part in PARTS)}.",
        ]
    )
