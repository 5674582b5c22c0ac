"""Where `make test-trees` cannot make a Debian tree, it prints the reason, leaves nothing and does not fail.

The programs that make one are stubs here; CONTRIBUTING.md states when the real ones are run.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("bash") is None, reason="There is no bash."),
    pytest.mark.skipif(shutil.which("make") is None, reason="There is no make."),
]

STUBS = {
    "id": "echo 0",
    "git": "exit 0",
    "chroot": "exit 0",
    "unshare": """while :; do case $1 in --*) shift ;; *) exec "$@" ;; esac; done""",
    "mktemp": 'mkdir "$TREE" && echo "$TREE"',
    "debootstrap": 'echo "E: no mirror of $3 answers"; exit 1',
}
"""What each program does, of a machine that has all but a mirror."""


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"id": "echo 1000"}, "a tree is made by root"),
        ({"debootstrap": None}, "debootstrap is missing"),
        ({"unshare": None}, "unshare is missing"),
        ({"chroot": None}, "chroot is missing"),
        ({"git": None}, "git is missing"),
        ({"git": "exit 128"}, "the project has no commit to make an archive of"),
        ({"unshare": "exit 1"}, "namespaces are refused"),
        ({}, "debootstrap failed: is there a mirror?"),
    ],
)
def test_the_reason_is_printed_for_each_tree(
    tmp_path: Path, other: dict[str, str | None], reason: str
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in "bash chmod dirname env make mkdir rm sed sh tail timeout true".split():
        (programs / name).symlink_to(str(shutil.which(name)))
    for name, text in (STUBS | other).items():
        if text is not None:
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
    project = tmp_path / "Mein Ordner ü"
    (project / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "newcomer", project / ".ci")
    shutil.copy(ROOT / "Makefile", project)
    tree = tmp_path / "tree"
    process = subprocess.run(
        ["make", "--silent", "test-trees"],
        cwd=project,
        env={"PATH": str(programs), "TREE": str(tree)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, process.stdout
    skipped = [line for line in process.stdout.splitlines() if line.startswith("Skipped")]
    assert skipped == [f"Skipped: the newcomer's {suite} ({reason})." for suite in ("bookworm", "trixie")]
    assert ("no mirror of bookworm answers" in process.stdout) is (other == {}), process.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Mein Ordner ü", "bin"]
