"""A thread, or a command, to which file permissions apply, also under root.

`python -m tests.support.processes.privileges ...` is `python -m conductor ...` without privileges.
"""

from __future__ import annotations

import ctypes
import runpy
import sys


def give_up_privileges() -> None:
    """Make of this thread, and of those it starts, one without privileges.

    On Linux a thread has privileges of its own, and none may always be had: `capset`, version 3, all zero.
    """
    if sys.platform == "linux":
        header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        assert ctypes.CDLL(None).capset(header, sets) == 0


if __name__ == "__main__":
    give_up_privileges()
    runpy.run_module("conductor", run_name="__main__")
