"""Forbid system calls to a sandboxed process: sockets, foreign memory, signals, mounts, namespaces, kernel modules.

The process installs the filter on itself before it reads anything, and its children inherit it. The filter is the
second layer behind the sandbox.
"""

import ctypes
import errno
import platform
import struct
from dataclasses import dataclass
from typing import Final

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`: call number, architecture, lower halves of the first two arguments."""
_NAMESPACES: Final = 0x7E020000
"""Flags of `clone` that create a namespace of any kind."""
_TIOCSTI: Final = 0x5412
"""`TIOCSTI`, the `ioctl` that types characters into a terminal."""
_CLONE3: Final = 435
"""`clone3` takes its flags by pointer, which a filter cannot read. After ENOSYS, libc falls back to `clone`."""
_NEGATIVE: Final = 0x80000000
"""`kill` with a negative number signals a group or every process. An agent ends only single children."""
_X32: Final = 0x40000000
"""Call numbers from here on belong to the unused x32 table."""
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


@dataclass(frozen=True, slots=True)
class _Machine:
    """Call numbers of one architecture, from its `asm/unistd.h`."""

    audit: int
    clone: int
    ioctl: int
    kill: int
    sockets: tuple[int, ...]
    """socket, connect, accept, bind, listen, accept4"""
    own_group: tuple[int, ...]
    """setpgid and setsid succeed without effect: the parent ends all processes by their process group."""
    forbidden: tuple[int, ...]


_NEWER: Final = (424, 425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 440, 442, 447)
"""Same number on every architecture: pidfd_send_signal, io_uring_*, open_tree, move_mount, fsopen, fsconfig, fsmount,
fspick, pidfd_open, pidfd_getfd, process_madvise, mount_setattr, memfd_secret.
"""
_MACHINES: Final = {
    "x86_64": _Machine(
        0xC000003E,
        clone=56,
        ioctl=16,
        kill=62,
        sockets=(41, 42, 43, 49, 50, 288),
        own_group=(109, 112),
        forbidden=(
            *(101, 310, 311, 312),  # ptrace, process_vm_readv, process_vm_writev, kcmp
            *(155, 161, 165, 166, 272, 308),  # pivot_root, chroot, mount, umount2, unshare, setns
            *(248, 249, 250),  # add_key, request_key, keyctl
            *(298, 321, 323),  # perf_event_open, bpf, userfaultfd
            *(
                175,
                176,
                246,
                313,
                320,
            ),  # init_module, delete_module, kexec_load, finit_module, kexec_file_load
            *(200, 234, 129, 297),  # tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo
            *(303, 304),  # name_to_handle_at, open_by_handle_at
            *(319, 29),  # memfd_create, shmget: memory that no process maps, which no limit counts
            *(103, 135, 163, 167, 168, 169, 172, 173, 179),  # syslog … quotactl: a system's own
        ),
    ),
    "aarch64": _Machine(
        0xC00000B7,
        clone=220,
        ioctl=29,
        kill=129,
        sockets=(198, 203, 202, 200, 201, 242),
        own_group=(154, 157),
        forbidden=(
            *(117, 270, 271, 272),
            *(41, 51, 40, 39, 97, 268),
            *(217, 218, 219),
            *(241, 280, 282),
            *(105, 106, 104, 273, 294),
            *(130, 131, 138, 240),
            *(264, 265),
            *(279, 194),
            *(116, 92, 89, 224, 225, 142, 60),
        ),
    ),
}


def install_filter() -> bool:
    """Forbid dangerous system calls to this thread and its children, permanently, and return True.
    Returns False on a machine that the filter does not support, and forbids nothing there. Raises OSError when the
    kernel does not support such filters.
    """
    code = build_filter()
    if code is None:
        return False
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(held))
    kernel = ctypes.CDLL(None, use_errno=True)
    for call in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, program, 0, 0)):
        if kernel.prctl(*call):
            raise OSError(ctypes.get_errno(), "cannot install a filter on system calls")
    return True


def build_filter(*, has_sockets: bool = False) -> bytes | None:
    """Return the filter as bubblewrap's `--seccomp` reads it; None on a machine that it does not support.

    `has_sockets` allows sockets, which tests of servers need. Without a network they reach only the sandbox itself.
    """
    machine = _get_machine()
    if machine is None:
        return None
    return _build_program(machine, () if has_sockets else machine.sockets)


def _get_machine() -> _Machine | None:
    return _MACHINES.get(platform.machine()) if platform.system() == "Linux" else None


def _build_program(machine: _Machine, sockets: tuple[int, ...]) -> bytes:
    """Build the filter as classic BPF instructions."""
    refused, unknown = _FAIL | errno.EPERM, _FAIL | errno.ENOSYS
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, unknown),
    ]
    for number in (*sockets, *machine.forbidden, *_NEWER):
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refused)]
    for number in machine.own_group:
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _FAIL)]
    lines += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, unknown)]
    lines += _refuse_argument(machine.clone, _FIRST, _ANY_BIT, _NAMESPACES)
    lines += _refuse_argument(machine.kill, _FIRST, _AT_LEAST, _NEGATIVE)
    lines += _refuse_argument(machine.ioctl, _SECOND, _EQUAL, _TIOCSTI)
    return b"".join(struct.pack("HBBI", *line) for line in [*lines, (_RETURN, 0, 0, _ALLOW)])


def _refuse_argument(
    call: int, argument: int, test: int, value: int
) -> list[tuple[int, int, int, int]]:
    """Refuse a call when its argument matches. No later instruction checks this call again."""
    return [
        (_EQUAL, 0, 4, call),
        (_LOAD, 0, 0, argument),
        (test, 0, 1, value),
        (_RETURN, 0, 0, _FAIL | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
