"""Tie a process to its parent, and keep its memory from other processes of the same user. Linux only."""

import ctypes
import os
import signal
import sys

from app.settings import ChildSettings, find_mistakes

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4


def end_with_parent() -> None:
    """Ask the kernel to send SIGTERM to this process when the thread that started it ends.

    Nothing happens unless `R4P_END_WITH_PARENT` holds the parent's process id. The kernel keeps the request across
    exec. It works on Linux only; elsewhere, children of a killed parent keep running.

    Warning: the signal follows the thread, not the parent's whole process. Start such a child in the main thread, or
    in a thread that outlives it.
    """
    # `load` would stop at the first mistake here. The command checks all its settings later and reports every mistake.
    if find_mistakes(ChildSettings) or (parent := ChildSettings().end_with_parent) is None:
        return
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    # The parent may have died before the request. In a container, process 1 may be a living parent.
    if os.getppid() != parent:
        sys.exit("r4p: the parent is gone already")


def hide_memory() -> None:
    """Keep this process's environment and memory from other processes of the same user, and write no core dumps.

    Children of a fork inherit this, and exec ends it. It works on Linux only. Root can read every process all the same.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
