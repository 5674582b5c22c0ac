"""Prints the test files that mirror what was changed since a commit: `make changed`.

Knows how the tree of the tests follows the program's; knows nothing of what imports a changed file.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def git(*arguments: str) -> list[str]:
    """The lines that git prints. Raises `CalledProcessError`, whose reason git has printed."""
    done = subprocess.run(["git", *arguments], stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return done.stdout.splitlines()


def tests_of(changed: Path) -> list[Path]:
    """The changed test itself; of another module of the tests those below its folder that name it; of a file
    of the program its own test, else those of the nearest folder with tests.
    """
    if changed.name.startswith("test_") and changed.suffix == ".py":
        return [changed] if changed.exists() else []
    if changed.parts[0] == "tests" and changed.name != "conftest.py":
        names = (f"from {changed.stem} import", f"import {changed.stem}\n", changed.name)
        texts = {test: test.read_text(encoding="utf-8") for test in changed.parent.rglob("test_*.py")}
        return [test for test, text in texts.items() if any(name in text for name in names)]
    mirrored = changed if changed.parts[0] == "tests" else Path("tests") / changed
    own = mirrored.with_name(f"test_{changed.stem.lower()}.py")
    folders = (sorted(folder.glob("test_*.py")) for folder in mirrored.parents)
    return [own] if own.exists() else next(filter(None, folders), [])


def main() -> None:
    """Prints them, a line each."""
    [since] = git("merge-base", "HEAD", sys.argv[1])
    changed = git("diff", "--name-only", since) + git("ls-files", "--others", "--exclude-standard")
    print(*sorted({test.as_posix() for path in changed for test in tests_of(Path(path))}), sep="\n")


if __name__ == "__main__":
    main()
