"""Joins the ES modules of a component to the one script that Streamlit sends.

Knows in which form the scripts of the page import and export; knows no component. Streamlit gives the browser
a component's script as a blob, from whose address no other file can be imported.
"""

from __future__ import annotations

import re
from functools import cache
from os.path import normpath
from pathlib import Path
from typing import NamedTuple

_IMPORT = re.compile(r'^import \{\s*(\w+(?:,\s*\w+)*),?\s*\} from "(\.[^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+)\b)", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)
_STATEMENT = re.compile(r"^(?:import\b(?!\()|export\b).*", re.MULTILINE)


class _Module(NamedTuple):
    text: str
    imports: dict[str, tuple[Path, frozenset[str]]]
    exports: tuple[str, ...]


def joined(entry: Path) -> str:
    """Return one module that runs `entry` after all that it imports, each file once.

    Each imported file is a function of its own, which returns what it exports: names that it does not export
    stay its own. `entry` stands last and has the default export.

    Raises:
        ValueError: A file does not exist, imports itself by way of others or what is not exported, has an
            import or export in another form, or a default export in another place.
    """
    modules: dict[Path, _Module] = {}
    _add(entry, modules, ())
    names = {path: f"$module{number}" for number, path in enumerate(modules)}
    *imported, main = modules
    parts = [
        f"const {names[path]} = (() => {{\n{_body(modules[path], names)}\n"
        f"return {{ {', '.join(modules[path].exports)} }};\n}})();"
        for path in imported
    ]
    return "\n".join([*parts, _body(modules[main], names)])


def _add(path: Path, modules: dict[Path, _Module], importers: tuple[Path, ...]) -> None:
    """Add the module and what it imports, which stands before it."""
    if path in importers:
        raise ValueError(
            f"{path.name} imports itself: {' < '.join(file.name for file in (*importers, path))}"
        )
    if path in modules:
        return
    module = _read(path)
    if bool(_DEFAULT.search(module.text)) == bool(importers):
        raise ValueError(f"{path.name}: a component's own file, and no other, has an export default")
    for file, names in module.imports.values():
        _add(file, modules, (*importers, path))
        if missing := names.difference(modules[file].exports):
            raise ValueError(f"{path.name} imports {min(missing)}, which {file.name} does not export")
    modules[path] = module


@cache
def _read(path: Path) -> _Module:
    if not path.is_file():
        raise ValueError(f"There is no script {path}")
    source = path.read_text(encoding="utf-8")
    text = _EXPORT.sub("", source)
    for statement in _STATEMENT.findall(_DEFAULT.sub("", _IMPORT.sub("", text))):
        raise ValueError(f"{path.name} has an import or export in a form that is not joined: {statement}")
    imports = {
        file: (Path(normpath(path.parent / file)), frozenset(re.findall(r"\w+", names)))
        for names, file in _IMPORT.findall(text)
    }
    return _Module(text, imports, tuple(_EXPORT.findall(source)))


def _body(module: _Module, names: dict[Path, str]) -> str:
    def constants(match: re.Match[str]) -> str:
        return f"const {{ {match[1]} }} = {names[module.imports[match[2]][0]]};"

    return _IMPORT.sub(constants, module.text)
