"""The gallery: workflows to start from, each a file, and recorded sessions to watch without a model."""

from studio.gallery.recorded import RECORDED, Recorded, open_recorded
from studio.gallery.workflows import GALLERY, GalleryEntry, entry_of, needs_models, workflow_for

__all__ = [
    "GALLERY",
    "RECORDED",
    "GalleryEntry",
    "Recorded",
    "entry_of",
    "needs_models",
    "open_recorded",
    "workflow_for",
]
