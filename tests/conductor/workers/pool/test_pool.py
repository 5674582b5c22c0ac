"""A pool is what its file describes, in order; a file that cannot be read is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.errors import PoolError
from conductor.files.named_file import MAX_BYTES
from conductor.values.output import EMBEDDED_LABEL, OFFLINE_LABEL, SIMULATED_LABEL
from conductor.workers.pool.pool import (
    Pool,
    built_in_pool,
    configured_pool,
    orchard_pool,
    parse_pool,
    read_pool,
)
from conductor.workers.pool.toml_editor import PoolDocument
from conductor.workers.simulated import SimulatedWorker

PLANNER = '[conductor]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "planner"'
GOOD = """
[[worker]]
kind = "simulated"
name = "quick"
latency = 0.5

[[worker]]
kind = "calculator"
name = "sums"
"""


def test_a_file_chooses_the_colour_of_a_worker_and_its_answers_stay_its_own() -> None:
    coloured = parse_pool(GOOD.replace('name = "quick"', 'name = "quick"\ncolour = "teal"'))
    plain = parse_pool(GOOD)
    assert [coloured.cards[name].colour for name in ("quick", "sums")] == ["teal", None]
    assert coloured.identities == plain.identities
    assert coloured.only(["quick"]).cards["quick"].colour == "teal"
    with pytest.raises(PoolError, match="colour"):
        parse_pool(GOOD.replace('name = "quick"', 'name = "quick"\ncolour = "mauve"'))


def test_a_file_numbers_its_workers_in_order() -> None:
    pool = parse_pool(GOOD)
    assert pool.names == ("quick", "sums")
    assert [worker.card.kind for worker in pool.workers] == ["simulated", "offline"]
    quick = pool["quick"]
    assert isinstance(quick, SimulatedWorker)
    assert quick.latency == 0.5


def test_the_built_in_pool_is_a_language_model_and_a_calculator() -> None:
    assert built_in_pool().names == ("smol", "calculator")


ORCHARD = ("facts", "letters", "solver", "checker", "generalist", "text")


def test_a_file_may_begin_with_a_built_in_set(tmp_path: Path) -> None:
    assert parse_pool('workers = "orchard"').names == ORCHARD == orchard_pool().names
    assert parse_pool(f'workers = "built-in"\n{GOOD}').names == (*built_in_pool().names, "quick", "sums")
    document = PoolDocument(tmp_path / "pool.toml", None, f'workers = "orchard"\n{GOOD}')
    assert (document.built_in, len(document.workers)) == (6, 2)
    assert (
        document.with_conductor({"base_url": "http://127.0.0.1:9/v1", "model": "m"}).pool().names[:6]
        == ORCHARD
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '\nworkers = "forest"',
            r"line 2: workers is a built-in set, 'built-in' or 'orchard'",
        ),
        ('[[workers]]\nname = "mine"', r"line 1: workers is a built-in set.* is a \[\[worker\]\]\."),
        (
            'workers = "orchard"\n[[worker]]\nkind = "simulated"\nname = "facts"',
            "a second worker is named 'facts'",
        ),
    ],
)
def test_a_wrong_set_is_reported_with_its_line(text: str, message: str) -> None:
    with pytest.raises(PoolError, match=message):
        parse_pool(text)


def test_the_name_of_a_set_is_a_pool_unless_there_is_such_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert configured_pool(Path("orchard")).names == ORCHARD
    with pytest.raises(PoolError, match="orchard is a built-in set of workers, not a file"):
        PoolDocument.opened(Path("orchard"))
    Path("orchard").write_text(GOOD, encoding="utf-8")
    assert configured_pool(Path("orchard")).names == ("quick", "sums")


@pytest.mark.parametrize(
    ("pool", "label"),
    [
        (parse_pool("[[worker]]\nkind = 'calculator'\nname = 'sums'"), OFFLINE_LABEL),
        (parse_pool('workers = "built-in"'), EMBEDDED_LABEL),
        (parse_pool(GOOD), SIMULATED_LABEL),
        (Pool(workers=(SimulatedWorker(name="alpha"),)), SIMULATED_LABEL),
        (parse_pool(f"{GOOD}\n{PLANNER}"), "simulated workers; only the Conductor is a model"),
        *(
            (
                parse_pool(f"{GOOD}\n[conductor]\nkind = '{kind}'\n{model}"),
                "simulated workers; the Conductor is a small model on this machine",
            )
            for kind, model in (("local", "model = 'orchard'"), ("embedded", ""))
        ),
    ],
)
def test_a_pool_without_models_states_it(pool: Pool, label: str) -> None:
    assert pool.label == label


def test_a_worker_that_is_not_there_is_named_with_the_choices() -> None:
    with pytest.raises(PoolError, match=r"no worker named 'slow'; it has quick, sums\."):
        parse_pool(GOOD)["slow"]


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b" " * (MAX_BYTES + 1)])
def test_a_file_that_cannot_be_read_is_named(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(PoolError, match=r"pool\.toml (cannot be read: |has more than 1,000,000 bytes)"):
        read_pool(file)


def test_a_byte_order_mark_before_a_file_is_no_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(GOOD, encoding="utf-8-sig")
    assert read_pool(file).names == ("quick", "sums")


def test_two_workers_of_one_name_are_no_pool() -> None:
    with pytest.raises(PoolError, match="Two workers of the pool are named 'alpha'"):
        Pool(workers=(SimulatedWorker(name="alpha"), SimulatedWorker(name="alpha")))


def test_the_pool_is_the_named_one_then_the_settings_then_the_folders_then_the_built_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert configured_pool().names == built_in_pool().names
    for name in ("pool", "set", "named"):
        (tmp_path / f"{name}.toml").write_text(
            f"[[worker]]\nkind = 'simulated'\nname = '{name}'", encoding="utf-8"
        )
    assert configured_pool().names == ("pool",)
    monkeypatch.setenv("CONDUCTOR_POOL", str(tmp_path / "set.toml"))
    assert configured_pool().names == ("set",)
    assert configured_pool(tmp_path / "named.toml").names == ("named",)
