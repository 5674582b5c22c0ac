"""How the scripts of a component become one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages.components.streamlit_patches.modules import joined

COMPONENTS = Path(__file__).parents[4] / "pages" / "components"
DEFAULT = re.compile(r"^export default.*", re.MULTILINE)
ENTRIES = sorted(
    path for path in COMPONENTS.rglob("*.js") if DEFAULT.search(path.read_text(encoding="utf-8"))
)


def write(folder: Path, **files: str) -> Path:
    """Write the scripts and return the path of `main.js`."""
    for name, text in files.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "main.js"


def test_each_file_stands_once_and_after_what_it_imports(tmp_path):
    main = write(
        tmp_path,
        main='import { b } from "./left.js";\nimport { c } from "./right.js";\n\nexport default b() + c;\n',
        left='import { a } from "./base.js";\n\nexport function b() { return a; }\n',
        right='import {\n  a,\n} from "./base.js";\n\nconst own = a;\n\nexport const c = own;\n',
        base="export const a = 1;\n",
    )
    base, left, right, own = joined(main).split("\n})();\n")
    assert base == "const $module0 = (() => {\nconst a = 1;\n\nreturn { a };"
    assert left.startswith(
        "const $module1 = (() => {\nconst { a } = $module0;\n\nfunction b() { return a; }\n"
    )
    assert right.startswith(
        "const $module2 = (() => {\nconst { a } = $module0;\n\nconst own = a;\n\nconst c = own;\n"
    )
    assert own == "const { b } = $module1;\nconst { c } = $module2;\n\nexport default b() + c;\n"


MAIN = 'import { a } from "./other.js";\nexport default a;\n'


@pytest.mark.parametrize(
    ("files", "refusal"),
    [
        ({"main": MAIN}, r"There is no script .*other\.js"),
        ({"main": MAIN, "other": "const a = 1;\n"}, r"main\.js imports a, which other\.js does not export"),
        ({"main": MAIN, "other": "export let a = 1;\n"}, r"other\.js has an .* in a form .*: export let"),
        ({"main": MAIN, "other": "const a = 1;\nexport { a };\n"}, r"other\.js has an .* in a form"),
        ({"main": MAIN, "other": 'import * as x from "./main.js";\n'}, r"not joined: import \*"),
        ({"main": MAIN, "other": 'import { b as a } from "./x.js";\n'}, r"not joined: import \{ b as"),
        ({"main": MAIN, "other": 'import { a } from "library";\n'}, r"in a form that is not joined"),
        (
            {"main": MAIN, "other": f"{MAIN}export const a = 1;\n"},
            r"other\.js: a component's own file, and no other",
        ),
        ({"main": "const a = 1;\n"}, r"main\.js: a component's own file, and no other"),
        (
            {
                "main": MAIN,
                "other": 'import { b } from "./more.js";\n',
                "more": 'import { a } from "./other.js";\n',
            },
            r"other\.js imports itself: main\.js < other\.js < more\.js < other\.js",
        ),
    ],
)
def test_a_script_that_cannot_be_joined_is_refused(tmp_path, files, refusal):
    with pytest.raises(ValueError, match=refusal):
        joined(write(tmp_path, **files))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda path: path.stem)
def test_each_component_is_one_script_without_imports(entry):
    statements = re.findall(r"^(?:import|export)\b.*", joined(entry), re.MULTILINE)
    assert statements == DEFAULT.findall(entry.read_text(encoding="utf-8"))


def test_each_script_belongs_to_a_component():
    """A file that no other imports and that is no component's own would not reach a page."""
    imports = {
        (path.parent / name).resolve()
        for path in COMPONENTS.rglob("*.js")
        for name in re.findall(r'from "(\.[^"]+)"', path.read_text(encoding="utf-8"))
    }
    assert set(COMPONENTS.rglob("*.js")) == imports | set(ENTRIES)
