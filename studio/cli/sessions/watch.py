"""`watch ID`: follows what another process plans and runs in a session, and prints the answer."""

from __future__ import annotations

import time
from contextlib import closing

from conductor.errors import StorageError
from conductor.runs.events import RunFinished
from storage import RunRecord, SessionStore
from studio.cli.opening import SessionId, session_of, stored
from studio.cli.options import App, Stored
from studio.cli.output.progress import ProgressPrinter
from studio.cli.output.run_end import END_WORDS, exit_code
from studio.cli.output.terminal import name_next, print_label, print_lines, print_remark

_PAUSE = 0.25
"""Seconds between two looks at the store."""

app = App()


@app.command()
def watch(id: SessionId, options: Stored) -> int:
    """Follow a run of another process, and print its answer.

    Ctrl+C ends the watching, not the run. The exit code is that of the run.
    """
    with stored(options) as store:
        session = session_of(store, id)
        run = store.runs.latest(session)
        if run is None:
            raise StorageError(f"The session {session[:8]} has no run; run it: run --session {session[:8]}")
        name_next(f"session {session[:8]}", f"watch {session[:8]}{options.again}", what="again")
        with closing(ProgressPrinter(stream=not options.json)) as progress:
            try:
                while run.status == "running":
                    run = _follow(store, run, progress)
            except KeyboardInterrupt:
                progress.close()
                print_remark("the run goes on; this only watched it.")
                return 130
            printed = progress.answer
        state = store.runs.state(run.id)
        name_next(f"session {session[:8]}", f"sessions show {session[:8]}{options.again}")
        if options.json:
            end = {"status": state.status, "answer": state.answer, "label": run.pool_label}
            options.show({"session": session, "run": run.id, **end})
        elif state.answer is None:
            print_remark(f"{END_WORDS[state.status]}; there is no answer.")
        elif state.answer != printed:
            print_lines(state.answer)
        if state.answer is not None:
            print_label(run.pool_label)
    return exit_code(state)


def _follow(store: SessionStore, run: RunRecord, progress: ProgressPrinter) -> RunRecord:
    """Print the run's events to its end; the session's newest run then, which may be the next round."""
    last = -1
    while True:
        for event in store.runs.events(run.id, after=last):
            progress(event)
            last = event.seq
            if isinstance(event, RunFinished):
                return store.runs.latest(run.session) or run
        time.sleep(_PAUSE)
