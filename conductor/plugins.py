"""Kinds by their names: the built-in ones, and those that installed packages add by entry points.

The metadata of installed packages is read once in a process: when a name is not built in, or when all kinds
are listed. Nothing is loaded by a path. Knows groups, names and packages, not what a kind does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from conductor.errors import ConductorError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = TypeVar("Kind")


class Plugin(NamedTuple):
    """A name in the entry points of a `package`, or of several: its `kind`, or the `fault` that it has."""

    group: str
    name: str
    package: str
    version: str
    kind: Any
    fault: str | None


class Registry(Mapping[str, Kind]):
    """The kinds of the entry point group `group`: the built-in ones, then each plug-in without a fault.

    `check` returns what is wrong with an object that is not such a kind, else None. `reserved` returns
    whether a name that is not built in has a meaning already. `find` raises `error`.
    """

    def __init__(
        self,
        group: str,
        built_in: Mapping[str, Kind],
        *,
        check: Callable[[object], str | None],
        error: type[ConductorError],
        reserved: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.group, self.built_in = group, built_in
        self._check, self._error, self._reserved = check, error, reserved

    def find(self, name: str) -> Kind | None:
        """The kind of that name; None if there is none. Raises the registry's error if it has a fault."""
        kind = self.get(name)
        if kind is None and name in installed(self.group):
            plugin = self._plugin(name)
            raise self._error(
                f"{name!r} of the package {plugin.package} {plugin.version} cannot be used: {plugin.fault}. "
                "Repair or remove the package; `conductor plugins` lists all of them."
            )
        return kind

    def plugins(self) -> tuple[Plugin, ...]:
        """All plug-ins of the group in the order of their names, those with a fault included. Loads them."""
        return tuple(map(self._plugin, sorted(installed(self.group))))

    def __getitem__(self, name: str) -> Kind:
        if name in self.built_in:
            return self.built_in[name]
        if name in installed(self.group) and (plugin := self._plugin(name)).fault is None:
            kind: Kind = plugin.kind
            return kind
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from (plugin.name for plugin in self.plugins() if plugin.fault is None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _plugin(self, name: str) -> Plugin:
        entries = installed(self.group)[name]
        kind, fault = None, None
        if name in self.built_in or self._reserved(name):
            fault = "a built-in kind has this name"
        elif len(entries) > 1:
            fault = "more than one package has this name"
        else:
            kind, fault = loaded(entries[0])
            fault = fault or self._check(kind)
        packages = [entry.dist for entry in entries if entry.dist is not None]
        names, versions = ([getattr(each, key) for each in packages] for key in ("name", "version"))
        return Plugin(self.group, name, ", ".join(names), ", ".join(versions), kind, fault)


@cache
def installed(group: str) -> Mapping[str, list[EntryPoint]]:
    """The entry points of a group by name, in all installed packages."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - a start with built-in kinds needs none

    by_name: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=group):
        by_name.setdefault(entry.name, []).append(entry)
    return by_name


@cache
def loaded(entry: EntryPoint) -> tuple[object, str | None]:
    """What an entry point names, and the reason if it cannot be loaded. Imports the package once."""
    try:
        return entry.load(), None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of others may raise anything
        return None, f"it cannot be loaded: {fault_of(error)}"


def fault_of(error: BaseException) -> str:
    """An error that the code of others raised, in one line of at most 300 characters."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300].rstrip(".: ")
