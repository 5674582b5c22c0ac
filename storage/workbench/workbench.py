"""What a person does with a session: ask, plan, edit, run, stop, export. The app and the command line
both stand on this.

Knows the store and the core; knows no page and prints nothing. Every change is durable before a
method returns; a run's events are written behind it.
"""

from __future__ import annotations

from storage.workbench.asking import Asking
from storage.workbench.editing import Editing
from storage.workbench.following import Following
from storage.workbench.forking import Forking
from storage.workbench.running import Running
from storage.workbench.trying import Trying


class Workbench(Asking, Editing, Forking, Running, Trying, Following):
    """One store, what goes on in its sessions, and who plans and answers there."""
