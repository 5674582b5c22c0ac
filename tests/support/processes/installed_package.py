"""A package that is installed beside ours, for one test: its modules and its entry points, without pip."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from conductor import plugins

EntryPoints = Mapping[str, Mapping[str, str]]
"""By group, by name: what a pyproject has under `[project.entry-points]`."""


class Install(Protocol):
    def __call__(
        self, package: str, entry_points: EntryPoints, *, code: str = "", folder: Path | None = None
    ) -> None:
        """Install the package with the one module MODULE_OF(package), or with the modules of a folder."""


def module_of(package: str) -> str:
    return package.replace("-", "_")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs packages, of version 1.2, until the test ends."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    before = set(sys.modules)

    def add(package: str, entry_points: EntryPoints, *, code: str = "", folder: Path | None = None) -> None:
        module = module_of(package)
        if folder is not None:
            (site / module).symlink_to(folder)
        else:
            (site / f"{module}.py").write_text(code, encoding="utf-8")
        info = site / f"{module}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n", encoding="utf-8"
        )
        lines = [
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in named.items())
            for group, named in entry_points.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
        _forget()

    _forget()
    yield add
    _forget()
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(site) in str(sys.modules[name].__file__):
            del sys.modules[name]


def _forget() -> None:
    plugins.installed.cache_clear()
    plugins.loaded.cache_clear()
