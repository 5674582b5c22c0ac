"""The names of Streamlit's frontend that the pages use exist in the installed frontend."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import streamlit

from pages.components.streamlit_patches import connection
from pages.components.streamlit_patches.connection import ELEMENTS, scripts
from pages.components.streamlit_patches.index_page import SIDEBAR_KEY

ROOT = Path(__file__).parents[4]
PAGES = ROOT / "pages"
PATCHES = PAGES / "components" / "streamlit_patches"
NAME = re.compile(r"""data-testid="?(\w+)|\.(st[A-Z]\w+)""")

PUBLIC = ("streamlit", "streamlit.errors", "streamlit.delta_generator")
"""Modules of Streamlit that its documentation names."""


@cache
def frontend() -> str:
    """All scripts of the installed frontend in one text."""
    files = (Path(streamlit.__file__).parent / "static" / "static" / "js").glob("*.js")
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def names() -> list[str]:
    """Streamlit's names in the styles, scripts and modules of the pages."""
    texts = [
        file.read_text(encoding="utf-8") for kind in ("css", "js", "py") for file in PAGES.rglob(f"*.{kind}")
    ]
    return sorted({name for text in texts for groups in NAME.findall(text) for name in groups if name})


@pytest.mark.thorough
@pytest.mark.slow
def test_the_names_that_styles_and_scripts_use_are_in_the_frontend():
    assert set(names()) <= set(re.findall(r"\w+", frontend()))


def test_the_search_for_names_finds_the_outermost_element_and_a_styled_one():
    assert {"stApp", "stDialog", "stMainBlockContainer"} <= set(names())


@pytest.mark.slow
def test_the_frontend_writes_its_connection_and_its_script_state_to_the_attributes_that_are_read():
    assert "data-test-connection-state" in frontend()
    assert "data-test-script-state" in frontend()
    assert "testConnectionState" in (PATCHES / "shared.js").read_text(encoding="utf-8")


def test_the_script_of_every_element_is_a_file_of_the_frontend():
    assert len(scripts()) == len(ELEMENTS)
    assert all((connection._SCRIPTS / name).is_file() for name in scripts())


@pytest.mark.slow
def test_the_frontend_still_keeps_in_the_browser_whether_the_sidebar_is_closed():
    assert f"`{SIDEBAR_KEY}$" in frontend()


@pytest.mark.slow
def test_the_frontend_still_opens_the_dialog_that_the_connection_closes():
    assert "Connection error" in frontend()


def _imported(module: Path) -> list[str]:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    modules: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            base = node.module
            submodules = [f"{base}.{alias.name}" for alias in node.names] if base == "streamlit" else [base]
            modules += submodules
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    return [name for name in modules if name.split(".")[0] == "streamlit"]


@pytest.mark.thorough
@pytest.mark.slow
def test_no_module_outside_the_patches_imports_streamlits_internals():
    outside = [file for file in (ROOT / "app.py", *PAGES.rglob("*.py")) if PATCHES not in file.parents]
    assert {name for file in outside for name in _imported(file)} <= set(PUBLIC)
    assert {name for file in PATCHES.glob("*.py") for name in _imported(file)} - set(PUBLIC)


def test_no_script_outside_the_patches_reads_streamlits_elements():
    outside = [file for file in PAGES.rglob("*.js") if PATCHES not in file.parents]
    assert not [file.name for file in outside if NAME.search(file.read_text(encoding="utf-8"))]
