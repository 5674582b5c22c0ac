"""What fails outside of the program under test gives no verdict, and what the program does is its own."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from errno import EAGAIN, ENOENT, ENOMEM, ENOSPC
from pathlib import Path

import pytest

from conductor.errors import LimitedProcessError, WorkerError
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.scorers import score
from conductor.evaluation.scorers.accepted_answer import check_accepted
from conductor.evaluation.scorers.latex_formula import COMMAND, LIMITS, mathematics
from conductor.evaluation.scorers.program import code
from conductor.evaluation.sets.programs import livecodebench
from conductor.limited import supervisor
from conductor.limited.command import limited, python
from conductor.limited.supervisor import Limits
from conductor.limited.warm import WarmProcesses
from conductor.values.accepted import Accepted
from tests.support.processes.limited_supervisor import NO_NAMESPACES, changed_supervisor

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

TARGETS: dict[str, tuple[str, str]] = {
    "code": ("def f(x): return 2 * x", "assert f(2) == 4"),
    "mathematics": ("Answer: $(x+1)^2$", "x^2 + 2x + 1"),
}
"""A right answer and its target."""

SLOW = ("/bin/sh", "-c", 'sleep 2; exec "$@"', "sh")
"""What makes the start of an interpreter take two seconds."""


@pytest.fixture
def supervised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces the supervisor by itself after some lines of Python, its module `supervisor`."""
    return lambda lines: monkeypatch.setattr(supervisor, "__file__", changed_supervisor(tmp_path, lines))


@pytest.fixture(autouse=True)
def unused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process of another test is asked."""
    module = sys.modules[mathematics.__module__]
    monkeypatch.setattr(module, "_PROCESSES", WarmProcesses(COMMAND, limits=LIMITS))


def scored(scorer: str, response: str | None = None) -> Score:
    right, target = TARGETS[scorer]
    item = Item(id="q", input="Why?", target=(target,), scorer=scorer)
    return asyncio.run(score(right if response is None else response, item, allow_code=True))


def refuse(name: str, error: str) -> str:
    """Lines after which a function raises an error the first time that it is called."""
    return f"real = {name}\ndef refused(*_, **__):\n    {name} = real\n    raise {error}\n{name} = refused"


FAILURES = {
    "no room for its process": (refuse("subprocess.Popen", "BlockingIOError(11, 'no room')"), "no room"),
    "no room for its folder": (refuse("supervisor.Path.mkdir", "OSError(28, 'no space')"), "no space"),
    "no memory for its process": (refuse("subprocess.Popen", "OSError(12, 'no memory')"), "no memory"),
    "its limits cannot be set": (refuse("supervisor._take_limits", "ValueError"), "preexec_fn"),
    "its process is lost": (refuse("os.waitpid", "ChildProcessError(10, 'lost')"), "lost"),
    "the supervisor is no program": ("(", "SyntaxError"),
    "the supervisor is killed at once": ("os.kill(os.getpid(), 9)", "without a report"),
    "the supervisor is killed": (refuse("os.waitpid", "real(os.kill(os.getpid(), 9))"), "without a report"),
    "the supervisor is ended": (
        "real = os.waitpid\nos.waitpid = lambda *given: os.kill(os.getpid(), 15) or real(*given)",
        "ended from outside",
    ),
    "its interpreter is not there": (
        "start = subprocess.Popen\nsubprocess.Popen = lambda _, **named: start(['/no/python'], **named)",
        "/no/python",
    ),
    "its interpreter cannot start": (
        "start = subprocess.Popen\n"
        "subprocess.Popen = lambda _, **named: start(['/bin/sh', '-c', 'echo no library; exit 3'], **named)",
        "exit code 3 before the program began",
    ),
    "its interpreter takes too long": (
        "start, limits = subprocess.Popen, supervisor.Limits\n"
        "supervisor.Limits = lambda **raw: limits(**{**raw, 'start': 0.5})\n"
        "subprocess.Popen = lambda _, **named: start(['/bin/sleep', '100'], **named)",
        "did not start within 0.5 s",
    ),
}  # fmt: skip


@pytest.mark.parametrize("scorer", TARGETS)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_of_the_supervisor_gives_no_verdict(
    supervised: Callable[[str], None], scorer: str, failure: str
) -> None:
    lines, reason = FAILURES[failure]
    supervised(lines)
    outcome = scored(scorer)
    assert (outcome.verdict, outcome.is_known, outcome.right) == ("unjudged", False, False)
    assert reason in outcome.reason


@pytest.mark.parametrize("scorer", TARGETS)
@pytest.mark.parametrize(
    ("where", "name", "error"),
    [
        (subprocess, "Popen", BlockingIOError(EAGAIN, "no room")),
        (subprocess, "Popen", OSError(ENOMEM, "no memory")),
        (subprocess, "Popen", RuntimeError("can't start new thread")),
        (tempfile, "gettempdir", FileNotFoundError(ENOENT, "no usable folder")),
        (os, "pipe", OSError(24, "too many open files")),
    ],
)
def test_what_the_machine_refuses_gives_no_verdict(
    monkeypatch: pytest.MonkeyPatch, scorer: str, where: object, name: str, error: Exception
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise error

    async def judge_answer() -> Score:
        # Once the loop runs, which takes such things, too.
        monkeypatch.setattr(where, name, refused)
        right, target = TARGETS[scorer]
        item = Item(id="q", input="Why?", target=(target,), scorer=scorer)
        return await score(right, item, allow_code=True)

    outcome = asyncio.run(judge_answer())
    assert outcome.verdict == "unjudged"
    assert str(error) in outcome.reason


def test_without_a_verdict_a_formula_is_not_called_unreadable(supervised: Callable[[str], None]) -> None:
    supervised("os.kill(os.getpid(), 9)")
    with pytest.raises(WorkerError, match="without a report"):
        asyncio.run(check_accepted(Accepted(target=("x^2 + 1",), check="mathematics")))


def test_a_full_disk_gives_no_verdict_and_one_that_is_only_named_gives_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = f"raise OSError({ENOSPC}, {os.strerror(ENOSPC)!r})"
    assert scored("code", program).verdict == "wrong"

    def full(**_: object) -> None:
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert scored("code", program).verdict == "unjudged"
    assert scored("code", "f = None").verdict == "wrong"


@pytest.mark.parametrize(
    "program",
    [
        "import sys\nsys.exit(124)",
        "import os\nos._exit(125)",
        "import ctypes\nctypes.string_at(0)",
        "import os\nos.abort()",
        "f = [0] * 10**10",
        "raise BlockingIOError(11, 'Resource temporarily unavailable')",
        'import sys\nprint(\'{"failure": "no room"}\')\nsys.exit(1)',
        "import os\nfor each in range(3, 64):\n    try: os.write(each, b'{}')\n    except OSError: pass",
        "import os\nos.environ['CONDUCTOR_READY']",
        "while True: pass",
    ],
)
def test_whatever_a_program_does_itself_is_wrong(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(sys.modules[code.__module__], "LIMITS", Limits(seconds=3))
    assert scored("code", program).verdict == "wrong"


DELAYED = """
import select, time
clock, wait, jump = time.monotonic, select.select, []
time.monotonic = lambda: clock() + (SECONDS if jump else 0)
select.select = lambda *given: jump.append(1) or wait(*given)
"""
"""What lets SECONDS pass by the clock of a supervisor before its command starts."""


@pytest.mark.parametrize("scorer", TARGETS)
@pytest.mark.parametrize("seconds", [30, 100])
def test_a_start_takes_no_second_of_an_answer(
    supervised: Callable[[str], None], scorer: str, seconds: int
) -> None:
    supervised(DELAYED.replace("SECONDS", str(seconds)))
    assert scored(scorer).verdict == "right"


def test_a_start_of_thirty_seconds_changes_no_verdict(supervised: Callable[[str], None]) -> None:
    supervised(
        "start = subprocess.Popen\nsubprocess.Popen = lambda command, **named: start("
        "['/bin/sh', '-c', 'sleep 30; exec \"$@\"', 'sh', *command], **named)"
    )

    async def verdicts() -> list[str]:
        items = {
            name: Item(id="q", input="Why?", target=(TARGETS[name][1],), scorer=name) for name in TARGETS
        }
        cases = [(TARGETS[name][0], item) for name, item in items.items()]
        cases += [("def f(x): return x", items["code"]), ("Answer: $x$", items["mathematics"])]
        return [
            each.verdict for each in await asyncio.gather(*(score(*one, allow_code=True) for one in cases))
        ]

    assert asyncio.run(verdicts()) == ["right", "right", "wrong", "wrong"]


STARVED = "supervisor._used = lambda: (0.0, True)"
"""A machine that gives the command nothing of a core, while it has work."""


def test_a_busy_machine_takes_no_second_of_a_program(supervised: Callable[[str], None]) -> None:
    waits = "import time\ntime.sleep(1.5)\nprint('there')"
    assert asyncio.run(limited(python(waits), limits=Limits(seconds=0.5))).stopped == "stopped after 0.5 s"
    supervised(STARVED)
    assert asyncio.run(limited(python(waits), limits=Limits(seconds=0.5))).output == "there\n"
    with pytest.raises(LimitedProcessError, match=r"gave it 0\.0 of 0\.5 s within 1\.5 s"):
        asyncio.run(limited(python("import time\ntime.sleep(100)"), limits=Limits(seconds=0.5, start=1)))


def test_a_test_that_starves_gives_no_verdict_and_one_that_waits_gives_wrong(
    supervised: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In LiveCodeBench's form each of many inputs has seconds of its own, and so has each call."""
    limits = Limits(seconds=2.5, start=1, wait=2)
    monkeypatch.setattr(sys.modules[code.__module__], "STARTED_LIMITS", limits)
    cases = json.dumps([{"input": "2", "output": "4"}])
    row = {
        "question_id": "a", "question_content": "Double it.", "difficulty": "easy", "platform": "atcoder",
        "public_test_cases": cases, "private_test_cases": "[]",
    }  # fmt: skip
    calls = {"starter_code": "def f(x):", "metadata": json.dumps({"func_name": "f"})}
    kinds = (
        (row, "import time\ntime.sleep(100)"),
        ({**row, **calls}, "import time\ndef f(x): time.sleep(100)"),
    )
    items = [(Item.model_validate({**livecodebench(each), "scorer": "code"}), text) for each, text in kinds]

    def scores() -> list[Score]:
        return [asyncio.run(score(text, item, allow_code=True)) for item, text in items]

    assert [(each.verdict, each.reason) for each in scores()] == [
        ("wrong", "stopped after it had waited for 2 s")
    ] * 2
    supervised(STARVED)
    assert [each.verdict for each in scores()] == ["unjudged"] * 2


def test_a_program_with_work_has_its_seconds_of_a_core() -> None:
    spins = "import time\nwhile time.process_time() < 1.6: pass\nprint('there')"
    assert asyncio.run(limited(python(spins), limits=Limits(seconds=3))).output == "there\n"
    assert asyncio.run(limited(python("while True: pass"), limits=Limits(seconds=1))).stopped


def test_the_seconds_of_a_program_begin_once_its_interpreter_runs() -> None:
    start = time.monotonic()
    ended = asyncio.run(limited((*SLOW, *python("print('there')")), limits=Limits(seconds=1)))
    assert (ended.code, ended.output) == (0, "there\n")
    assert ended.seconds < time.monotonic() - start - 2
    late = asyncio.run(limited((*SLOW, *python("while True: pass")), limits=Limits(seconds=1)))
    assert (late.code, late.stopped) == (None, "stopped after 1 s")


def test_the_seconds_of_a_run_begin_after_what_every_program_imports() -> None:
    """LiveCodeBench's programs are started once for each input, with a limit for each."""
    cases = json.dumps([{"input": "2", "output": "4"}])
    row = {
        "question_id": "a", "question_content": "Double it.", "difficulty": "easy", "platform": "atcoder",
        "public_test_cases": cases, "private_test_cases": "[]",
    }  # fmt: skip
    item = Item.model_validate({**livecodebench(row), "scorer": "code"})
    (tests,) = item.target
    slow = tests.replace("PRELUDE = '", "PRELUDE = 'import time; time.sleep(2)\\n")
    slow = slow.replace("setitimer(2, 6)", "setitimer(2, 1)")
    assert (slow.count("sleep(2)"), slow.count("setitimer(2, 1)")) == (1, 1)

    def verdict(program: str) -> tuple[str, str]:
        case = item.model_copy(update={"target": (slow,)})
        outcome = asyncio.run(score(program, case, allow_code=True))
        return outcome.verdict, outcome.reason

    assert verdict("print(2 * int(input()))") == ("right", "")
    assert verdict("while True: pass") == ("wrong", "AssertionError: test 1: timed out after 6 s")


def test_the_seconds_of_a_core_begin_there_too() -> None:
    busy = "import os, sys, time\nwhile time.process_time() < 3: pass\nos.execv(sys.argv[1], sys.argv[1:])"
    source = "import resource, time\nprint(resource.getrlimit(resource.RLIMIT_CPU)[0], time.process_time())"
    ended = asyncio.run(limited((sys.executable, "-c", busy, *python(source)), limits=Limits(seconds=1)))
    most, used = map(float, ended.output.split())
    assert used > 3
    assert 1 <= most - used <= 3


def test_the_seconds_of_a_line_begin_once_its_process_has_imported_what_it_needs() -> None:
    command = (
        *SLOW,
        *python(
            "import os\nfor line in sys.stdin: print(os.getpid(), flush=True)",
            first="import sys, time\ntime.sleep(1)",
        ),
    )
    processes = WarmProcesses(command, limits=Limits(seconds=2))

    async def two() -> tuple[str, str]:
        return await processes.ask("one"), await processes.ask("two")

    try:
        first, second = asyncio.run(two())
    finally:
        processes.close()
    assert first == second
    assert first.strip().isdecimal()


def test_no_order_to_end_is_lost(supervised: Callable[[str], None]) -> None:
    """It comes while the processes are counted, where errors of the system are passed over."""
    supervised(
        NO_NAMESPACES + "import pathlib\nread, sent = pathlib.Path.read_text, []\n"
        "def signalled(*given, **named):\n"
        "    if not sent:\n        sent.append(os.kill(os.getpid(), 15))\n"
        "    return read(*given, **named)\n"
        "pathlib.Path.read_text = signalled"
    )
    with pytest.raises(LimitedProcessError, match="ended from outside"):
        asyncio.run(limited(python("import time\ntime.sleep(100)"), limits=Limits(seconds=20)))


def test_processes_that_have_ended_do_not_count_for_the_limit(supervised: Callable[[str], None]) -> None:
    supervised(NO_NAMESPACES)
    program = """
import os, time
for _ in range(100):
    if os.fork() == 0:
        if os.fork():
            os._exit(0)
        os._exit(0)
    os.wait()
time.sleep(0.6)
"""
    assert asyncio.run(limited(python(program))).code == 0
    many = "import os, time\nfor _ in range(70):\n    if not os.fork(): time.sleep(100)\ntime.sleep(100)"
    ended = asyncio.run(limited(python(many)))
    assert "processes" in ended.stopped or "unavailable" in ended.output


def test_a_process_that_ends_as_its_children_are_counted_is_passed_over(
    supervised: Callable[[str], None],
) -> None:
    supervised(
        NO_NAMESPACES + "ended = []\n"
        "def ending(reading):\n"
        "    def read(folder='.'):\n"
        "        named = str(folder)\n"
        "        if named.endswith('/task') and named != f'/proc/{os.getpid()}/task' and not ended:\n"
        "            ended.append(named)\n            raise FileNotFoundError(2, 'No such file', named)\n"
        "        return reading(folder)\n"
        "    return read\n"
        "os.scandir = ending(os.scandir)"
    )
    assert asyncio.run(limited(python("import time\ntime.sleep(0.6)"))).code == 0


_ORDINARY = """
import asyncio, json, os, sys, tempfile, threading
from conductor.evaluation.items import Item
from conductor.evaluation.scorers import score
from conductor.limited import supervisor
file = tempfile.NamedTemporaryFile("w")
file.write(sys.argv[1])
file.flush()
supervisor.__file__ = file.name
over = threading.Event()
for _ in range(80):
    threading.Thread(target=over.wait).start()
starts = "import threading\\nthreading.Thread(target=print).start()\\nf = lambda x: 2 * x"
runs = "import subprocess\\nsubprocess.run(['true'], check=True)\\nassert eval(PROGRAM)(2) == 4"
many = "import os, time\\nfor _ in range(70):\\n    if not os.fork(): time.sleep(100)\\ntime.sleep(100)"
report = '''
import glob, os
for each in glob.glob(f"/proc/{os.getppid() or '[0-9]*'}/fd/*"):
    try:
        if "pipe" in os.readlink(each):
            os.write(os.open(each, os.O_WRONLY | os.O_NONBLOCK), b'{"failure": "x"}')
    except OSError:
        pass
raise SystemExit(1)
'''
found = []
for program, tests in ((starts, "assert f(2) == 4"), ("lambda x: 2 * x", runs), (many, ""), (report, "")):
    item = Item(id="q", input="Why?", target=(tests or "pass",), scorer="code")
    one = asyncio.run(score(program, item, allow_code=True))
    found.append((one.verdict, one.reason))
over.set()
print(json.dumps([os.getuid(), *found]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
@pytest.mark.parametrize("namespaces", [False, True])
def test_what_else_a_user_runs_does_not_count_for_a_program(
    supervised: Callable[[str], None], namespaces: bool
) -> None:
    """An ordinary user with 80 threads, with and without namespaces: the kernel counts all of the user."""
    supervised("" if namespaces else NO_NAMESPACES)
    as_user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    starts_itself = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''], check=True)"
    probe = (*as_user, sys.executable, "-c", starts_itself)
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        if namespaces:
            pytest.skip("another user cannot run this interpreter, in namespaces in no way")
        as_user += ("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")
    ran = subprocess.run(
        (*as_user, sys.executable, "-c", _ORDINARY, Path(supervisor.__file__).read_text(encoding="utf-8")),
        capture_output=True, text=True, timeout=200, check=False, cwd=tempfile.gettempdir(),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])},
    )  # fmt: skip
    if "setpriv:" in ran.stderr:
        pytest.skip(f"this system refuses another user: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
    user, starts, runs, many, report = json.loads(ran.stdout)
    assert user == 65534
    assert starts == ["right", ""]
    assert runs == ["right", ""]
    assert many[0] == "wrong"
    assert "64 processes" in many[1] or "unavailable" in many[1]
    assert report[0] == "wrong"
