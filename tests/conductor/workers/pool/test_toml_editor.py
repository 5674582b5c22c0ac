"""Editing a pool file: what is named changes, and everything else of the file stays to the letter."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from stat import S_IMODE

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.errors import PoolError
from conductor.workers.pool.toml_editor import PoolDocument

POOL = """\
# Our pool. Keep this line.

# Who plans.
[conductor]
base_url = "http://localhost:8000/v1"  # started by hand
model = "conductor"

# -- near --------------------------

# The quick one.
[[worker]]
name = "quick"   # keep me
base_url = 'http://localhost:11434/v1'
model = "llama3.2"
temperature = 1
fallback = "strong"
# retries = 5

# -- far ---------------------------

# Three lines
# about the
# strong one.
[[ worker ]]
strengths = '''
[[worker]]
hard # code'''
"name" = "strong"
base_url = "https://api.openai.com/v1"
model = "gpt-5"
extra.stop = [
  "a]", # the first
  "[b",
]

[worker.extra.deep]
top = 1

[[worker]]
kind = "calculator"
name = "facts"
# the end
"""


def document(text: str = POOL, path: str = "pool.toml") -> PoolDocument:
    return PoolDocument(path=Path(path), before=text, text=text)


def changed_lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """The lines that are gone and those that have come."""
    before, after = old.splitlines(), new.splitlines()
    return [line for line in before if line not in after], [line for line in after if line not in before]


def test_a_change_touches_only_the_lines_it_is_about() -> None:
    old = document()
    quick = dict(old.workers[0]) | {"model": "llama4", "temperature": 1.0, "context": 8192}
    new = old.changed(0, quick)
    assert new.workers[0] == quick
    assert changed_lines(POOL, new.text) == (['model = "llama3.2"'], ['model = "llama4"', "context = 8192"])
    lines = new.text.splitlines()
    assert lines[lines.index("context = 8192") - 1] == 'fallback = "strong"'
    del quick["temperature"]
    assert changed_lines(new.text, new.changed(0, quick).text) == (["temperature = 1"], [])


def test_a_table_in_several_parts_is_changed_in_place() -> None:
    old = document()
    strong = dict(old.workers[1])
    new = old.changed(1, strong | {"name": "stronger", "max_tokens": 100})
    gone, come = changed_lines(POOL, new.text)
    assert gone == ['fallback = "strong"', '"name" = "strong"']
    assert come == ['fallback = "stronger"', '"name" = "stronger"', "max_tokens = 100"]
    assert new.workers[1]["extra"] == {"stop": ["a]", "[b"], "deep": {"top": 1}}
    other = old.changed(1, strong | {"extra": {"seed": 7, "deep": {"top": 2}}})
    assert other.workers[1]["extra"] == {"seed": 7, "deep": {"top": 2}}
    assert other.workers[2] == old.workers[2]


def test_tables_in_any_order_are_changed_where_they_stand() -> None:
    text = """\
[[worker]]
name = "a"
base_url = "http://h/v1"
model = "m"

# Who plans.
[conductor]
base_url = "http://h/v1"
model = "c"

# Second.
[[worker]]
name = "b"
base_url = "http://h/v1"
model = "m"
"""
    new = document(text).changed(1, dict(document(text).workers[1]) | {"model": "n"})
    assert new.text == text.replace(
        '"b"\nbase_url = "http://h/v1"\nmodel = "m"', '"b"\nbase_url = "http://h/v1"\nmodel = "n"'
    )
    assert "# Second." not in document(text).without(1).text
    assert "# Who plans." in document(text).without(1).text


def test_who_fell_back_to_a_renamed_worker_falls_back_to_it_still() -> None:
    old = document()
    new = old.changed(1, dict(old.workers[1]) | {"name": "gpt"})
    assert new.workers[0]["fallback"] == "gpt"
    new.pool()


def test_the_conductor_is_changed_removed_and_added_above_the_workers() -> None:
    old = document()
    assert old.conductor is not None
    new = old.changed("conductor", dict(old.conductor) | {"dialect": "binary", "extra": {"a": {"b": [1]}}})
    assert changed_lines(POOL, new.text) == ([], ['dialect = "binary"', "extra = {a = {b = [1]}}"])
    without = old.without("conductor")
    assert without.conductor is None
    assert "# Who plans." not in without.text
    assert "# Our pool. Keep this line.\n\n# -- near ---" in without.text
    again = without.with_conductor({"base_url": "http://h/v1", "model": "c"})
    assert again.conductor == {"base_url": "http://h/v1", "model": "c"}
    assert again.text.index("[conductor]") < again.text.index("# The quick one.\n[[worker]]")
    assert again.text.startswith("# Our pool. Keep this line.\n\n# -- near")


@pytest.mark.parametrize(
    ("place", "gone", "rest"),
    [
        (0, ("quick", "# retries = 5"), ("# -- near", "# -- far", "# Three lines")),
        (1, ("gpt-5", "Three lines", "strong one.", "top = 1"), ("# -- far", "# retries = 5", "facts")),
        (2, ("facts", "# the end"), ("top = 1", '"[b",')),
    ],
)
def test_a_removed_worker_takes_its_own_comments_along_and_no_others(
    place: int, gone: tuple[str, ...], rest: tuple[str, ...]
) -> None:
    old = document()
    new = old.without(place)
    assert new.workers == tuple(worker for at, worker in enumerate(old.workers) if at != place)
    assert [word for word in gone if word in new.text] == []
    assert [word for word in rest if word not in new.text] == []
    assert "\n\n\n" not in new.text
    assert new.text.endswith("\n")


def test_a_new_worker_is_the_last_one_and_adds_nothing_but_itself() -> None:
    entry = {"name": "new", "base_url": "http://h/v1", "model": "m", "temperature": 0.2, "extra": {"a": 1}}
    new = document().with_worker(entry)
    table = '\n[[worker]]\nname = "new"\nbase_url = "http://h/v1"\nmodel = "m"\ntemperature = 0.2\n'
    assert new.text == f"{POOL}{table}extra = {{a = 1}}\n"
    assert document("").with_worker(entry).text == f"{table}extra = {{a = 1}}\n".lstrip()
    assert document("# empty").with_worker(entry).text.startswith("# empty\n\n[[worker]]\n")


@pytest.mark.slow
@given(
    st.dictionaries(
        st.text(min_size=1),
        st.recursive(
            st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=5,
        ),
        max_size=4,
    )
)
def test_whatever_a_table_states_is_read_back(entry: dict[str, object]) -> None:
    added = document().with_worker(entry)
    assert added.workers[3] == entry
    changed = document().changed(1, entry | {"name": "strong"})
    assert changed.workers[1] == entry | {"name": "strong"}
    assert changed.workers[::2] == document().workers[::2]
    assert added.without(3).text == POOL


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_it_does_not_matter_how_a_file_ends(end: str) -> None:
    text = POOL.rstrip() + end
    new = document(text).changed(2, {"kind": "calculator", "name": "f"})
    assert new.workers[2]["name"] == "f"
    bare = document('[[worker]]\nkind = "simulated"\nname = "a"')
    assert bare.changed(0, bare.workers[0] | {"tokens": 3}).workers == (  # type: ignore[operator]
        {"kind": "simulated", "name": "a", "tokens": 3},
    )


def test_line_ends_stay_as_they_are() -> None:
    new = document(POOL.replace("\n", "\r\n"))
    new = new.changed(0, dict(new.workers[0]) | {"model": "llama4"}).with_worker({"name": "new"}).without(1)
    assert new.text.replace("\r\n", "").count("\n") == 0
    assert new.text.count("\r\n") > 20


@pytest.mark.parametrize(
    "text",
    ['worker = [{ kind = "calculator", name = "facts" }]\n', 'worker.name = "a"\n'],
)
def test_what_cannot_be_edited_table_by_table_is_left_alone(text: str) -> None:
    old = document(text)
    with pytest.raises(PoolError, match="edit it as text"):
        old.with_worker({"name": "new"})


def test_a_table_that_is_gone_is_named_as_such() -> None:
    with pytest.raises(PoolError, match="no such table any more"):
        document().without(3)
    with pytest.raises(PoolError, match="no such table any more"):
        document("# nothing").changed("conductor", {})


def test_text_that_is_no_toml_is_refused_with_its_line() -> None:
    with pytest.raises(PoolError, match=r"pool.toml is not valid TOML: .*line 2") as refused:
        _ = document("[[worker]]\nname = \n").workers
    assert refused.value.line == 2


# -- the disk ------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pool.toml"
    path.write_text(POOL, encoding="utf-8")
    return path


def test_a_saved_edit_replaces_the_file_with_its_permissions(file: Path) -> None:
    file.chmod(0o640)
    opened = PoolDocument.opened(file)
    pool = opened.without(2).save()
    assert pool.names == ("quick", "strong")
    assert file.read_text(encoding="utf-8") == opened.without(2).text
    assert S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in file.parent.iterdir()] == ["pool.toml"]


def test_a_key_that_is_not_set_does_not_keep_an_edit_from_being_saved(file: Path) -> None:
    entry = {"name": "x", "base_url": "http://h/v1", "model": "m", "api_key_env": "NO_SUCH_API_KEY"}
    PoolDocument.opened(file).with_worker(entry).save()
    assert tomllib.loads(file.read_text(encoding="utf-8"))["worker"][3] == entry


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"name": "facts", "kind": "calculator"}, "a second worker is named 'facts'"),
        (
            {"name": "x", "base_url": "nowhere", "model": "m"},
            "line 46: worker 4, base_url: write a whole URL",
        ),
        ({"name": "x", "kind": "calculator", "api_key": "sk-marked"}, "unknown key"),
    ],
)
def test_an_edit_that_describes_no_pool_never_reaches_the_file(
    file: Path, edit: dict[str, object], message: str
) -> None:
    with pytest.raises(PoolError, match=message) as refused:
        PoolDocument.opened(file).with_worker(edit).save()
    assert "sk-marked" not in str(refused.value)
    assert file.read_text(encoding="utf-8") == POOL


def test_a_file_that_another_person_changed_is_not_overwritten(file: Path) -> None:
    mine = PoolDocument.opened(file).without(2)
    file.write_text(POOL + "# theirs\n", encoding="utf-8")
    with pytest.raises(PoolError, match="changed by someone else"):
        mine.save()
    assert file.read_text(encoding="utf-8").endswith("# theirs\n")
    file.unlink()
    with pytest.raises(PoolError, match="changed by someone else"):
        mine.save()
    assert not file.exists()


def test_a_file_is_made_where_there_was_none(tmp_path: Path) -> None:
    path = tmp_path / "pool.toml"
    document = PoolDocument.opened(path)
    document.with_worker({"kind": "simulated", "name": "a"}).save()
    assert path.read_text(encoding="utf-8") == '[[worker]]\nkind = "simulated"\nname = "a"\n'
    usual = tmp_path / "usual"
    usual.touch()
    assert path.stat().st_mode == usual.stat().st_mode
    with pytest.raises(PoolError, match="changed by someone else"):
        document.with_worker({"kind": "simulated", "name": "b"}).save()


def test_a_link_stays_one(file: Path) -> None:
    link = file.with_name("link.toml")
    link.symlink_to(file)
    PoolDocument.opened(link).without(2).save()
    assert link.is_symlink()
    assert "facts" not in file.read_text(encoding="utf-8")


def test_a_write_that_fails_leaves_the_file_and_no_litter(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PoolError, match="cannot be written: No space left on device; it is as it was"):
        PoolDocument.opened(file).without(2).save()
    assert file.read_text(encoding="utf-8") == POOL
    assert [path.name for path in file.parent.iterdir()] == ["pool.toml"]


@pytest.mark.parametrize(("content", "message"), [(b"\xff", "not text in UTF-8"), (None, "directory")])
def test_what_cannot_be_read_is_stated(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "pool.toml"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(PoolError, match=f"cannot be read: .*{message}"):
        PoolDocument.opened(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'workers = "orchard"\n'),
        ("# ours\n", '# ours\nworkers = "orchard"\n'),
        ("workers = 'built-in'  # few\n", 'workers = "orchard"\n'),
        (
            '# a\n\n[conductor]\nkind = "local"\nmodel = "orchard"\n',
            '# a\n\nworkers = "orchard"\n\n[conductor]\nkind = "local"\nmodel = "orchard"\n',
        ),
        (
            'workers = "built-in"\r\n\r\n[[worker]]\r\nname = "a"\r\nkind = "simulated"\r\n',
            'workers = "orchard"\r\n\r\n[[worker]]\r\nname = "a"\r\nkind = "simulated"\r\n',
        ),
    ],
)
def test_a_built_in_set_is_named_above_the_tables(tmp_path: Path, text: str, expected: str):
    document = PoolDocument(tmp_path / "pool.toml", before=text, text=text)
    assert document.with_built_in("orchard").text == expected


@pytest.mark.parametrize(
    "text", ['"workers" = "built-in"\n', 'x = """\nworkers = 1\n"""\nworkers = "built-in"\n']
)
def test_a_built_in_set_that_stands_where_no_line_can_be_changed_is_refused(tmp_path: Path, text: str):
    with pytest.raises(PoolError):
        PoolDocument(tmp_path / "pool.toml", before=text, text=text).with_built_in("orchard")


@pytest.mark.parametrize(
    "text",
    [POOL, POOL.replace("\n", "\r\n"), 'workers = "orchard"\n', POOL + '\n[planners]\nold = "o.json"\n'],
)
def test_a_planner_is_named_and_taken_back_and_the_rest_stays(tmp_path: Path, text: str) -> None:
    document = PoolDocument(tmp_path / "pool.toml", before=text, text=text)
    using = document.with_planner("mine", "learn/planner.json")
    tables = tomllib.loads(text)
    planners = {**tables.get("planners", {}), "mine": "learn/planner.json"}
    assert tomllib.loads(using.text) == {**tables, "planner": "mine", "planners": planners}
    assert using.pool().planner == "mine"
    lines = set(using.text.splitlines())
    assert lines >= set(text.splitlines()), "what stood there stands there"
    again = using.without_planner()
    assert tomllib.loads(again.text) == {**tables, "planners": planners}
    assert document.without_planner().text == text
    assert set(again.text.splitlines()) >= set(text.splitlines())
    assert using.with_planner("mine", "other.json").pool().planners["mine"].name == "other.json"
