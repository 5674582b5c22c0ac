"""The gallery: workflows to start from, each a file, and recorded sessions to watch without a model."""

from studio.gallery.recorded import (
    RECORDED,
    TAG,
    Recorded,
    RecordedRun,
    import_recorded,
    open_recorded,
    recorded_run,
    release,
    with_recorded_pins,
)
from studio.gallery.workflows import (
    GALLERY,
    GalleryEntry,
    able_workers,
    entry_of,
    needs_models,
    workers_for,
    workflow_for,
)

__all__ = [
    "GALLERY",
    "RECORDED",
    "TAG",
    "GalleryEntry",
    "Recorded",
    "RecordedRun",
    "able_workers",
    "entry_of",
    "import_recorded",
    "needs_models",
    "open_recorded",
    "recorded_run",
    "release",
    "with_recorded_pins",
    "workers_for",
    "workflow_for",
]
