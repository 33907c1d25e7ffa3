"""Tie a process to its parent, and keep its memory from other processes of the same user. Linux only."""

import ctypes
import os
import signal
import sys

from app.settings import ChildSettings, find_mistakes

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4


def end_with_parent() -> None:
    """Make the kernel end this process when its parent dies, if `R4P_END_WITH_PARENT` is set.

    The kernel keeps this across exec. It works on Linux only; elsewhere, children of a killed parent keep running.
    """
    # Not by `load`: it would end the command at a mistake before all settings of the command are checked.
    if find_mistakes(ChildSettings) or not ChildSettings().end_with_parent:
        return
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        sys.exit("r4p: the parent is gone already")


def hide_memory() -> None:
    """Keep this process's environment and memory from other processes of the same user, and write no core dumps.

    Children of a fork inherit this, and exec ends it. It works on Linux only. Root can read every process all the same.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
