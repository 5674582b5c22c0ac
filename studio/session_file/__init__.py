"""Sessions as files: written whole, shown before they are imported, imported as new sessions."""

from studio.session_file.importing import import_sessions
from studio.session_file.one_file import newest_run, run_page
from studio.session_file.preview import ImportPreview, PlanPreview, SessionPreview, holds_sessions, look_into
from studio.session_file.writing import write_sessions

__all__ = [
    "ImportPreview",
    "PlanPreview",
    "SessionPreview",
    "holds_sessions",
    "import_sessions",
    "look_into",
    "newest_run",
    "run_page",
    "write_sessions",
]
