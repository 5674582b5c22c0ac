"""Kinds of installed packages: which are used, and the reason for each that is not."""

from __future__ import annotations

import pytest

from conductor import plugins
from conductor.errors import DataError
from conductor.plugins import Registry
from tests.support.processes.installed_package import Install

GROUP = "conductor.scorers"


def registry() -> Registry[int]:
    return Registry(
        GROUP,
        {"one": 1, "two": 2},
        check=lambda kind: None if isinstance(kind, int) else "it is no number",
        error=DataError,
        reserved={"former"}.__contains__,
    )


def test_a_kind_of_an_installed_package_is_found_by_its_name(install: Install) -> None:
    install("three-more", {GROUP: {"three": "three_more:THREE"}}, code="THREE = 3")
    kinds = registry()
    assert kinds.find("three") == kinds["three"] == 3
    assert dict(kinds) == {"one": 1, "two": 2, "three": 3}
    assert len(kinds) == 3
    assert [(each.name, each.package, each.version, each.fault) for each in kinds.plugins()] == [
        ("three", "three-more", "1.2", None)
    ]


@pytest.mark.parametrize(
    ("name", "target", "code", "reason"),
    [
        ("four", "broken_one:FOUR", "import no_such_module", "ModuleNotFoundError: No module named"),
        ("four", "broken_one:FIVE", "FOUR = 4", "AttributeError: module 'broken_one' has no attribute"),
        ("four", "broken_one:FOUR", "FOUR = ", "SyntaxError"),
        ("four", "broken_one:FOUR", "raise SystemExit(1)", "SystemExit: 1"),
        (
            "four",
            "broken_one:FOUR",
            "raise ValueError('{a}\\n' + 'long ' * 999)",
            "ValueError: {a} long long",
        ),
        ("four", "broken_one:FOUR", "FOUR = '4'", "it is no number"),
        ("one", "broken_one:FOUR", "FOUR = 4", "a built-in kind has this name"),
        ("former", "broken_one:FOUR", "FOUR = 4", "a built-in kind has this name"),
    ],
)
def test_a_broken_one_is_named_with_its_reason_and_left_out(
    install: Install,
    name: str,
    target: str,
    code: str,
    reason: str,
) -> None:
    install("broken-one", {GROUP: {name: target}}, code=code)
    kinds = registry()
    assert dict(kinds) == {"one": 1, "two": 2}
    (plugin,) = kinds.plugins()
    assert (plugin.name, plugin.package) == (name, "broken-one")
    assert reason in (plugin.fault or "")
    assert len(plugin.fault or "") < 400
    if name == "four":
        assert kinds.get(name) is None
        with pytest.raises(DataError, match=r"'four' of the package broken-one 1\.2 cannot be used: "):
            kinds.find(name)


def test_a_name_of_two_packages_is_used_from_neither(install: Install) -> None:
    for package in ("first-one", "second-one"):
        install(package, {GROUP: {"both": f"{package.replace('-', '_')}:KIND"}}, code="KIND = 9")
    kinds = registry()
    (plugin,) = kinds.plugins()
    assert set(plugin.package.split(", ")) == {"first-one", "second-one"}
    assert (plugin.version, plugin.fault) == ("1.2, 1.2", "more than one package has this name")
    assert "both" not in kinds


def test_a_package_is_loaded_only_for_its_own_name(install: Install) -> None:
    install("not-used", {GROUP: {"other": "not_used:KIND"}}, code="raise AssertionError")
    install("is-used", {GROUP: {"mine": "is_used:KIND"}}, code="KIND = 5")
    assert registry().find("mine") == 5


def test_no_metadata_is_read_for_a_built_in_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "installed", lambda _: pytest.fail("metadata was read"))
    assert registry().find("one") == registry()["one"] == 1


@pytest.mark.parametrize("name", ["data.jsonl", "../evil", "os:system", ""])
def test_a_name_that_no_package_has_loads_nothing(name: str) -> None:
    assert registry().find(name) is None
