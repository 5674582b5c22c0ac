"""The workbench: what a person does with a session."""

from storage.workbench.workbench import Workbench

__all__ = ["Workbench"]
