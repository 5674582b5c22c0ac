"""The workbench: what a person does with a session."""

from storage.workbench.following import RECENT, Marks
from storage.workbench.workbench import Workbench

__all__ = ["RECENT", "Marks", "Workbench"]
