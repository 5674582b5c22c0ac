"""The workbench: what a person does with a session."""

from studio.workbench.change_marks import RECENT, Marks, marks
from studio.workbench.changing import Proposal
from studio.workbench.comparison.racing import Contender
from studio.workbench.running import Outlook
from studio.workbench.workbench import ViewOnlyWorkbench, Workbench

__all__ = ["RECENT", "Contender", "Marks", "Outlook", "Proposal", "ViewOnlyWorkbench", "Workbench", "marks"]
