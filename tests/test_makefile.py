"""The Makefile's environments, whatever an earlier call left behind and whatever the caller has set.

In a copy of the Makefile with lists of made-up packages. Its Python makes environments of links to this one,
whose pip is a few lines that write down what they are asked for, or the real one with a wheel on the disk.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest

from tests.support.processes.child_process import child
from tests.support.runs.waiting import until

ROOT = Path(__file__).parents[1]
NEEDED = "cat cksum env find grep make mv rm sed sh sort".split()
"""All that the Makefile's set-up takes from the system, beside Python."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(os.name != "posix", reason="The Makefile is for POSIX systems."),
    pytest.mark.skipif(shutil.which("make") is None, reason="There is no make."),
]

OTHERS = "clients docs inspect installed learn ray trackers vllm"
ENVIRONMENTS = [".venv", *(f".venv-{name}" for name in OTHERS.split())]
TARGETS = [f"{name}/.installed" for name in ENVIRONMENTS]
"""The Makefile's targets that are these."""

BASE = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"

PYTHON = f"""#!/bin/sh
PATH=/usr/bin:/bin
bin=$(dirname "$0")
[ "$1 $2" = "-m venv" ] || exec "$bin/base" "$@"
packages="$3/lib/{VERSION}/site-packages"
mkdir -p "$3/bin" "$packages"
printf 'home = {BASE.parent}\\ninclude-system-site-packages = false\\n' > "$3/pyvenv.cfg"
ln -s "{BASE}" "$3/bin/base"
cp "$0" "$3/bin/python"
while [ -e venv-hangs ]; do sleep 0.02; done
cp -R "$STUB_PIP" "$packages/pip"
"""
"""An interpreter whose environments are links to this one; their pip is the folder `STUB_PIP`."""

PIP = """
import json, os, re, site, sys, time
from pathlib import Path

if sys.argv[1:] == ["config", "list"]:
    sys.exit(print(Path("pip-settings").read_text()) if Path("pip-settings").exists() else None)
lists = [Path(after) for option, after in zip(sys.argv, sys.argv[1:]) if option == "-r"]
if lists == [Path("requirements-uv.lock")]:
    if not Path("uv-wheel").exists():
        sys.exit("ERROR: No matching distribution found")
    uv = Path(sys.prefix, "bin", "uv")
    uv.write_text(Path("uv-wheel").read_text())
    sys.exit(uv.chmod(0o755))
Path("shell").write_text(str(os.getppid()))
asked = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
with open("journal", "a") as journal:
    print(json.dumps([Path(sys.prefix).name, [each.name for each in lists], asked]), file=journal)
if Path("pip-fails").exists():
    sys.exit("ERROR: No matching distribution found")
print("Installing collected packages:", flush=True)
packages = Path(site.getsitepackages()[0])
for name in re.findall(r"^([a-z.]+)", "".join(each.read_text() for each in lists), re.MULTILINE):
    while Path("pip-hangs").exists():
        time.sleep(0.02)
    (packages / f"{name}.py").write_text("import sys\\nprint(*sys.argv[1:])\\n")
"""

LISTS = {
    "requirements.lock": "streamlit==1.0 \\\n    --hash=sha256:0\n",
    "requirements-dev.lock": "pytest==1.0 \\\n    --hash=sha256:0\n",
    "requirements-uv.lock": "uv==1.0 \\\n    --hash=sha256:0\n",
    **{
        f"tests/integration/{name}/requirements.txt": f"{name}==1.0\n"
        for name in "clients docs inspect learn ray trackers vllm".split()
    },
}


@dataclass(frozen=True)
class Project:
    """A copy of the Makefile and what it reads, in `folder`; its programs are in `tools`."""

    folder: Path
    tools: Path

    def environment(self, **settings: str) -> dict[str, str]:
        return {
            "PATH": str(self.tools / "bin"),
            "HOME": str(self.tools),
            "STUB_PIP": str(self.tools / "pip"),
            **settings,
        }

    def make(self, *arguments: str, fails: bool = False, umask: int = -1, **settings: str) -> str:
        """What `make` prints; it is to succeed, or to fail."""
        done = subprocess.run(
            ["make", *arguments],
            cwd=self.folder,
            env=self.environment(**settings),
            umask=umask,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        assert (done.returncode != 0) is fails, done.stdout
        return done.stdout

    def journal(self) -> list[list[object]]:
        """What pip was asked for: the environment, the lists, the settings."""
        path = self.folder / "journal"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def requirements(self) -> list[object]:
        """The lists that pip was asked for."""
        return [lists for _, lists, _ in self.journal()]

    def packages(self, name: str) -> Path:
        return self.folder / name / "lib" / VERSION / "site-packages"

    def has(self, name: str, *packages: str) -> bool:
        """Whether an environment runs, and imports these."""
        code = "".join(f"import {package};" for package in packages) or "pass"
        python = self.folder / name / "bin" / "python"
        return python.exists() and subprocess.run([python, "-c", code], env={}, check=False).returncode == 0

    def flag(self, name: str) -> Path:
        """A file by which the interpreter or pip misbehaves as long as it is there."""
        path = self.folder / name
        path.touch()
        return path

    def python(self, name: str, text: str) -> None:
        path = self.tools / "bin" / name
        path.write_text(text)
        path.chmod(0o755)


def new_project(folder: Path) -> Project:
    """One in which nothing was made yet, in a folder with a space and an umlaut."""
    project = Project(folder / "Mein Ordner ü" / "studio", folder / "tools")
    (project.tools / "bin").mkdir(parents=True)
    for name in NEEDED:
        (project.tools / "bin" / name).symlink_to(str(shutil.which(name)))
    (project.tools / "bin" / "base").symlink_to(BASE)
    project.python("python3.13", PYTHON)
    (project.tools / "pip").mkdir()
    (project.tools / "pip" / "__init__.py").touch()
    (project.tools / "pip" / "__main__.py").write_text(PIP)
    project.folder.mkdir(parents=True)
    for name in ("Makefile", "environment.sh", "pyproject.toml", "app.py"):
        shutil.copy(ROOT / name, project.folder)
    for name in (".streamlit", "conductor", "storage", "studio", "pages", "tests/integration/clients/node"):
        (project.folder / name).mkdir(parents=True)
    shutil.copy(ROOT / ".streamlit" / "config.toml", project.folder / ".streamlit")
    (project.folder / "tests/integration/clients/node/package-lock.json").touch()
    for name, text in LISTS.items():
        (project.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (project.folder / name).write_text(text)
    return project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """One for a test that changes it."""
    return new_project(tmp_path)


@pytest.fixture(scope="module")
def built_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """All environments, whole."""
    project = new_project(tmp_path_factory.mktemp("made"))
    project.make(*TARGETS)
    return project


@pytest.fixture
def whole(built_project: Project, tmp_path: Path) -> Project:
    """A copy of `built_project`, in another folder."""
    shutil.copytree(built_project.folder, tmp_path / "copy ü", symlinks=True)
    (tmp_path / "copy ü" / "journal").unlink()
    return Project(tmp_path / "copy ü", built_project.tools)


def test_the_bytecode_of_commands_is_there_where_the_caller_forbids_it(project: Project) -> None:
    own = project.folder / "conductor"
    (own / "__main__.py").write_text("import conductor.command")
    (own / "command.py").touch()
    project.make("app", PYTHONDONTWRITEBYTECODE="1")
    assert list(own.glob("__pycache__/command.*.pyc"))


# -- what an earlier call left -----------------------------------------------------------------------


def without_pip(environment: Path) -> None:
    """Ctrl+C while Python makes it."""
    (environment / ".installed").unlink()
    shutil.rmtree(next(environment.glob("lib/*/site-packages/pip")))


def half_installed(environment: Path) -> None:
    """A pip that was killed: its package is there, but not what follows."""
    (environment / ".installed").unlink()
    for module in environment.glob("lib/*/site-packages/*.py"):
        module.write_text("raise SystemError\n")


def empty(environment: Path) -> None:
    shutil.rmtree(environment)
    environment.mkdir()


def absent(environment: Path) -> None:
    shutil.rmtree(environment)


def dead_link(environment: Path) -> None:
    """Its Python was removed, after all was finished."""
    (environment / "bin" / "python").unlink()
    (environment / "bin" / "python").symlink_to("/nowhere/python3.13")


def other_python(environment: Path) -> None:
    """The link leads to another version than it was made with."""
    text = (environment / ".installed").read_text()
    (environment / ".installed").write_text(text.replace("Python 3.", "Python 3.1", 1))


def by_older_makefile(environment: Path) -> None:
    (environment / ".installed").write_text("")


DAMAGES = [without_pip, half_installed, empty, absent, dead_link, other_python, by_older_makefile]


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_environment_is_made_again_after_any_interruption(
    whole: Project, damage: Callable[[Path], None]
) -> None:
    damage(whole.folder / ".venv")
    whole.make("app")
    assert whole.has(".venv", "streamlit")
    whole.make("setup")
    assert whole.has(".venv", "streamlit", "pytest")
    assert whole.make("setup") == ""
    assert whole.requirements() == [["requirements.lock"], ["requirements.lock", "requirements-dev.lock"]]


def test_so_is_every_other(whole: Project) -> None:
    for name, damage in zip(ENVIRONMENTS, cycle(DAMAGES), strict=False):
        damage(whole.folder / name)
    whole.make(*TARGETS)
    assert sorted(name for name, _, _ in whole.journal()) == ENVIRONMENTS
    for name in "clients docs inspect learn ray trackers vllm".split():
        assert whole.has(f".venv-{name}", name)


def test_what_is_whole_is_left_alone_also_where_the_folder_was_moved(whole: Project) -> None:
    """But for the wheel's environment, whose scripts have the old path."""
    whole.make(*TARGETS)
    assert [name for name, _, _ in whole.journal()] == [".venv-installed"]
    # What these read from .venv they find in the new place.
    assert whole.has(".venv-learn", "streamlit", "learn")
    assert whole.has(".venv-ray", "pytest", "ray")


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("step", ["venv", "pip"])
def test_a_set_up_that_is_stopped_midway_is_finished_by_the_next(
    project: Project, step: str, which: signal.Signals
) -> None:
    hangs = project.flag(f"{step}-hangs")
    with child(["make", "setup"], cwd=project.folder, env=project.environment()) as make:
        sign = project.folder / (".venv/bin/python" if step == "venv" else "journal")
        until(sign.exists)
        os.killpg(make.pid, which)
        make.wait(60)
    hangs.unlink()
    assert not (project.folder / ".venv" / ".installed").exists()
    assert "made again" in project.make("setup")
    assert project.has(".venv", "streamlit", "pytest")


def test_a_second_make_waits_for_the_first_and_installs_nothing(project: Project) -> None:
    hangs = project.flag("pip-hangs")
    second = project.folder / "second.log"
    options = {"cwd": project.folder, "env": project.environment()}
    with child(["make", "setup"], **options) as first:
        until((project.folder / "journal").exists)
        with second.open("w") as log, child(["make", "setup"], stdout=log, **options) as other:
            until(lambda: "Another make installs into .venv" in second.read_text())
            hangs.unlink()
            assert (first.wait(60), other.wait(60)) == (0, 0)
    assert len(project.journal()) == 1


def test_a_pip_that_outlives_its_make_is_waited_for(project: Project) -> None:
    hangs = project.flag("pip-hangs")
    options = {"cwd": project.folder, "env": project.environment()}
    second = project.folder / "second.log"
    with child(["make", "setup"], **options) as first:
        until((project.folder / "journal").exists)
        first.kill()
        os.kill(int((project.folder / "shell").read_text()), signal.SIGKILL)
        first.wait(60)
        with second.open("w") as log, child(["make", "setup"], stdout=log, **options) as other:
            until(lambda: "Another make installs into .venv" in second.read_text())
            hangs.unlink()
            assert other.wait(60) == 0
    assert len(project.journal()) == 2


def test_one_who_runs_the_app_does_not_install_what_the_tests_need(project: Project) -> None:
    project.make("app")
    assert project.has(".venv", "streamlit")
    assert not project.has(".venv", "pytest")
    project.make("setup")
    project.make("app")
    project.make("setup")
    assert project.requirements() == [["requirements.lock"], ["requirements.lock", "requirements-dev.lock"]]


def test_a_changed_list_is_installed_into_what_is_there(project: Project) -> None:
    project.make("setup")
    marker = project.packages(".venv") / "kept"
    marker.touch()
    (project.folder / "requirements.lock").write_text("streamlit==1.1\nother==1.0\n")
    assert "what has changed of 3 packages" in project.make("setup")
    assert project.has(".venv", "streamlit", "other", "pytest")
    assert marker.exists()


def test_without_a_network_an_environment_with_an_older_list_stays(project: Project) -> None:
    project.make("app")
    (project.folder / "requirements.lock").write_text("streamlit==1.1\n")
    fails = project.flag("pip-fails")
    for _ in range(2):
        assert "Is there a network" in project.make("app", fails=True)
    (project.folder / "requirements.lock").write_text(LISTS["requirements.lock"])
    assert project.make("app") == ""
    assert project.has(".venv", "streamlit")
    fails.unlink()


# -- Pythons -------------------------------------------------------------------------------------------


def reporting(version: str) -> str:
    """An interpreter of another version, which otherwise is `PYTHON`."""
    code = f"import sys; sys.version_info = ({version.replace('.', ', ')}); exec(sys.argv.pop(1))"
    return PYTHON.replace(
        "[",
        f"""[ "$1" != -V ] || exec echo "Python {version}"
[ "$1" != -I ] || exec "$bin/base" -I -S -c '{code}' "$4" "$5"
[""",
        1,
    )


@pytest.mark.parametrize(
    ("version", "admitted"),
    [
        ("3.11.1", False),
        ("3.11.2", True),
        ("3.12.0", False),
        ("3.12.1", True),
        ("3.13.0", True),
        ("3.14.0", False),
    ],
)
def test_only_the_pythons_that_pyproject_names_are_taken(
    project: Project, version: str, admitted: bool
) -> None:
    (project.tools / "bin" / "python3.13").unlink()
    project.python("python3", reporting(version))
    for setting in ("PYTHON=python3", "PYTHON="):
        printed = project.make("app", setting, fails=not admitted)
        if not admitted:
            assert f"and python3 is Python {version}. Install one" in printed
            assert "uv python install 3.13" in printed
            assert "make run PYTHON=python3.13" in printed
            assert not (project.folder / ".venv").exists()


@pytest.mark.parametrize("settings", [[], ["PYTHON=python3.12"]])
def test_without_a_python_the_message_names_how_to_get_one(project: Project, settings: list[str]) -> None:
    (project.tools / "bin" / "python3.13").unlink()
    name = "python3.12" if settings else "python3"
    assert f"and {name} is not there. Install one" in project.make("run", *settings, fails=True)


def test_a_python_that_cannot_make_environments_is_named_with_its_package(project: Project) -> None:
    project.python(
        "python3.13", PYTHON.replace("packages=", "echo 'ensurepip is not available'; exit 1\npackages=")
    )
    printed = project.make("setup", fails=True)
    assert "ensurepip is not available" in printed
    assert f"Debian: {VERSION}-venv" in printed
    assert not (project.folder / ".venv").exists()


def test_an_environment_of_a_python_that_is_no_longer_admitted_is_made_again(project: Project) -> None:
    project.make("app")
    python = project.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.write_text(reporting("3.10.9"))
    python.chmod(0o755)
    assert "made again" in project.make("app")
    assert project.has(".venv", "streamlit")


def test_another_python_that_is_given_by_hand_makes_it_again(project: Project) -> None:
    project.make("app")
    assert project.make("app", "PYTHON=python3.13") == ""
    other = "3.11.9" if sys.version_info[:2] != (3, 11) else "3.12.9"
    project.python("other", reporting(other))
    assert "made again" in project.make("app", "PYTHON=other")


# -- what the caller has set ---------------------------------------------------------------------------


def test_settings_that_install_elsewhere_are_not_passed_on_and_mirrors_are(project: Project) -> None:
    elsewhere = (
        "USER TARGET PREFIX ROOT NO_BINARY REQUIRE_VIRTUALENV CONSTRAINT DRY_RUN NO_DEPS UPGRADE".split()
    )
    mirror = "INDEX_URL EXTRA_INDEX_URL NO_INDEX FIND_LINKS CERT CLIENT_CERT PROXY TRUSTED_HOST".split()
    settings = {f"PIP_{name}": f"of {name}" for name in (*elsewhere, *mirror)}
    project.make("app", **settings)
    [[_, _, environment]] = project.journal()
    assert {name: value for name, value in environment.items() if name in settings} == {
        "PIP_USER": "0",
        **{f"PIP_{name}": f"of {name}" for name in mirror},
    }


@pytest.fixture
def real(project: Project) -> Project:
    """With the real pip, and a wheel on the disk."""
    spec = importlib.util.find_spec("pip")
    if spec is None or spec.origin is None:
        pytest.skip("This environment has no pip.")
    shutil.rmtree(project.tools / "pip")
    (project.tools / "pip").symlink_to(Path(spec.origin).parent)
    wheel = project.tools / "streamlit-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("streamlit.py", "")
        archive.writestr(
            "streamlit-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: streamlit\nVersion: 1.0\n"
        )
        archive.writestr(
            "streamlit-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("streamlit-1.0.dist-info/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (project.folder / "requirements.lock").write_text(f"streamlit==1.0 --hash=sha256:{digest}\n")
    (project.tools / "pip.conf").write_text("[install]\nuser = true\n")
    return project


def test_a_caller_s_variables_break_neither_the_set_up_nor_the_start(real: Project) -> None:
    shadow = real.tools / "shadow"
    shadow.mkdir()
    (shadow / "socket.py").write_text("raise SystemError\n")
    nowhere = str(real.tools / "nowhere")
    real.make(
        "run",
        "PORT=0",
        umask=0o077,
        PIP_CONFIG_FILE=str(real.tools / "pip.conf"),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(real.tools),
        PIP_USER="1",
        PIP_TARGET=nowhere,
        PIP_PREFIX=nowhere,
        PIP_NO_BINARY=":all:",
        PIP_REQUIRE_VIRTUALENV="1",
        PIP_CONSTRAINT=nowhere,
        PYTHONHOME=nowhere,
        PYTHONPATH=str(shadow),
        PYTHONOPTIMIZE="2",
        PYTHONUSERBASE=nowhere,
        PYTHONSAFEPATH="1",
        VIRTUAL_ENV=nowhere,
        CONDA_PREFIX=nowhere,
    )
    assert (real.packages(".venv") / "streamlit.py").exists()
    assert not Path(nowhere).exists()


def test_without_a_network_pip_s_reason_and_a_question_are_printed(real: Project) -> None:
    printed = real.make(
        "app", fails=True, PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0"
    )
    assert "Installing into .venv: 1 packages, 290 MB to download, 0.8 GB of disk" in printed
    assert "No matching distribution found for streamlit" in printed.partition("is not finished")[0]
    assert "Is there a network (HTTPS_PROXY, PIP_INDEX_URL for a mirror)" in printed
    assert "made again" in real.make(
        "app", PIP_CONFIG_FILE=os.devnull, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(real.tools)
    )


UV = """#!/bin/sh
echo "$@" > uv-journal
env | grep -E "^(UV_|SSL_|ALL_PROXY)" | sort > uv-settings
[ ! -e uv-fails ] || { echo "error: no such index" >&2; exit 1; }
"""


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize("source", ["PATH", "pip"])
def test_uv_installs_where_it_can_be_had_and_else_pip(project: Project, source: str, works: bool) -> None:
    if source == "PATH":
        project.python("uv", UV)
    else:
        (project.folder / "uv-wheel").write_text(UV)
    if not works:
        project.flag("uv-fails")
    printed = project.make("app")
    journal = (project.folder / "uv-journal").read_text()
    assert journal.startswith("pip install --quiet --python .venv/bin/python --no-deps --require-hashes -r ")
    assert (project.journal() == []) is works
    assert ("uv could not install this: error: no such index - pip does it" in printed) is not works


def test_without_uv_pip_installs_and_states_it(project: Project) -> None:
    assert "uv could not be installed: pip installs all" in project.make("app")
    assert project.has(".venv", "streamlit")


@pytest.mark.parametrize(
    ("settings", "variables", "more"),
    [
        ("", {}, []),
        ("global.index-url='https://mirror/simple'", {"UV_INDEX_URL": "https://mirror/simple"}, []),
        (
            "global.index-url='https://mirror/simple'\ninstall.index-url='https://other/simple'",
            {"UV_INDEX_URL": "https://other/simple"},
            [],
        ),
        (
            ":env:.index-url='https://own/simple'\nglobal.index-url='https://mirror/simple'",
            {"UV_INDEX_URL": "https://own/simple"},
            [],
        ),
        (
            "global.extra-index-url='file:///a/simple\\nfile:///b/simple'\nglobal.find-links='/c /d'",
            {"UV_EXTRA_INDEX_URL": "file:///a/simple file:///b/simple", "UV_FIND_LINKS": "/c,/d"},
            [],
        ),
        (
            "global.cert='/a.pem'\nglobal.client-cert='/b.pem'\nglobal.proxy='http://p:1'"
            "\nglobal.trusted-host='mirror'",
            {
                "SSL_CERT_FILE": "/a.pem",
                "SSL_CLIENT_CERT": "/b.pem",
                "ALL_PROXY": "http://p:1",
                "UV_INSECURE_HOST": "mirror",
            },
            [],
        ),
        ("global.no-index='true'\nglobal.user='true'", {}, ["--no-index"]),
    ],
)
def test_uv_has_the_mirrors_of_pip_s_settings(
    project: Project, settings: str, variables: dict[str, str], more: list[str]
) -> None:
    project.python("uv", UV)
    (project.folder / "pip-settings").write_text(settings)
    project.make("app", UV_TARGET="/nowhere", UV_NO_BINARY="1", UV_CACHE_DIR="/cache")
    lines = (project.folder / "uv-settings").read_text().splitlines()
    assert dict(line.split("=", 1) for line in lines) == {"UV_CACHE_DIR": "/cache", **variables}
    expected = ["--index-strategy", "unsafe-best-match", *more]
    assert (project.folder / "uv-journal").read_text().split()[-len(expected) :] == expected


# -- the start -----------------------------------------------------------------------------------------


def test_the_app_is_started_at_the_port_of_its_settings_or_at_one_that_is_given(project: Project) -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["server"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for arguments, expected in (
        ([f"PORT={port}"], port),
        ([], settings["port"]),
    ):
        printed = project.make("-n", "run", *arguments)
        assert f"streamlit run app.py --server.port {expected}" in printed
    assert f"run app.py --server.port {port}\n" in project.make("run", f"PORT={port}")
    assert f"run app.py --server.port {port}\n" in project.make("run", STREAMLIT_SERVER_PORT=str(port))


def test_a_port_that_is_taken_is_named_with_the_way_out(project: Project) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        printed = project.make("run", f"PORT={port}", fails=True)
    assert f"Port {port} is in use, perhaps by another Conductor Studio" in printed
    assert f"make run PORT={port + 1}" in printed
    assert "streamlit run" not in printed


def test_the_app_listens_where_no_name_is_needed() -> None:
    """A machine whose hosts file is empty knows no localhost."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["server"]
    assert settings["address"] == "127.0.0.1"


# -- what a change concerns ----------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("git") is None, reason="There is no git.")
def test_the_tests_that_mirror_a_change_are_run(project: Project) -> None:
    (project.tools / "bin" / "git").symlink_to(str(shutil.which("git")))
    shutil.copy(ROOT / "tests" / "changed.py", project.folder / "tests")
    files = (
        "conductor/runs/state.py conductor/runs/events.py conductor/text.py pages/list/list.js "
        "storage/rows.py tests/test_makefile.py tests/conductor/test_text.py "
        "tests/conductor/runs/test_state.py tests/conductor/runs/test_request.py "
        "tests/pages/list/test_list.py tests/pages/test_page.py tests/conductor/cases.py "
        "tests/conductor/conftest.py .gitignore"
    ).split()
    for name in files:
        path = project.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text({".gitignore": ".venv/\njournal\nshell\n"}.get(path.name, ""))
    (project.folder / "tests/conductor/runs/test_request.py").write_text("import cases\n")

    def git(*arguments: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@b.example")
        subprocess.run(["git", *names, *arguments], cwd=project.folder, check=True, capture_output=True)

    def tests(*changed: str) -> list[str]:
        for name in changed:
            with (project.folder / name).open("a") as file:
                file.write("# changed\n")
        printed = project.make("changed").splitlines()[-1]
        git("add", ".")
        git("commit", "--allow-empty", "-m", "Change")
        git("branch", "-f", "main")
        return printed.split("--hypothesis-profile=unit ")[-1].split()

    git("init", "-b", "work")
    git("add", ".")
    git("commit", "-m", "Begin")
    git("branch", "main")
    project.make("setup")
    assert tests() == "No test mirrors what changed since main.".split()
    assert tests("conductor/runs/state.py") == ["tests/conductor/runs/test_state.py"]
    assert tests("conductor/runs/events.py") == [
        "tests/conductor/runs/test_request.py",
        "tests/conductor/runs/test_state.py",
    ]
    assert tests("conductor/runs/new.py", "conductor/text.py") == [
        "tests/conductor/runs/test_request.py",
        "tests/conductor/runs/test_state.py",
        "tests/conductor/test_text.py",
    ]
    assert tests("pages/list/list.js") == ["tests/pages/list/test_list.py"]
    assert tests("tests/conductor/cases.py") == ["tests/conductor/runs/test_request.py"]
    assert tests("tests/conductor/conftest.py") == ["tests/conductor/test_text.py"]
    assert tests("tests/pages/test_page.py") == ["tests/pages/test_page.py"]
    assert tests("storage/rows.py", "Makefile") == ["tests/test_makefile.py"]
    (project.folder / "tests/pages/test_page.py").unlink()
    assert tests() == "No test mirrors what changed since main.".split()
    git("branch", "-D", "main")
    assert "main" in project.make("changed", fails=True)
