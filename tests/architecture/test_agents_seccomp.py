"""The profile of system calls of the agents' container: an agent starts under it, and dangerous calls fail."""

import ctypes
import ctypes.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.sandbox import check_sandbox

PROFILE = Path(__file__).parents[2] / "deploy" / "agents-seccomp.json"
FORBIDDEN = (
    *("bpf", "perf_event_open", "userfaultfd", "ptrace", "process_vm_readv", "process_vm_writev"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "add_key", "keyctl", "request_key"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot"),
    *("unshare", "setns", "chroot", "open_by_handle_at", "pidfd_getfd", "kcmp", "syslog", "swapon"),
    *("move_mount", "open_tree", "fsopen", "fsmount", "mount_setattr", "quotactl", "settimeofday"),
)
COMPARE = {"SCMP_CMP_NE": 1, "SCMP_CMP_EQ": 4}
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


class _Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp` of libseccomp."""

    _fields_ = (
        ("index", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("more", ctypes.c_uint64),
    )


def load_profile(library: ctypes.CDLL) -> None:
    """Apply the profile to this process, as Docker applies it to a container."""
    library.seccomp_init.restype = ctypes.c_void_p
    profile = json.loads(PROFILE.read_text())
    context = ctypes.c_void_p(library.seccomp_init(ERRNO | profile["defaultErrnoRet"]))
    for rule in profile["syscalls"]:
        action = ERRNO | rule["errnoRet"] if rule["action"] == "SCMP_ACT_ERRNO" else ALLOW
        tests = rule.get("args", [])
        array = (_Comparison * len(tests))(
            *(_Comparison(test["index"], COMPARE[test["op"]], test["value"], 0) for test in tests)
        )
        for name in rule["names"]:
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number != -1:  # a newer kernel knows it
                assert not library.seccomp_rule_add_array(
                    context, action, number, len(tests), array
                )
    assert not library.seccomp_load(context)


def main() -> None:
    """Load the profile, start an agent's process, and print what became of each forbidden call."""
    library = ctypes.CDLL(ctypes.util.find_library("seccomp"))
    numbers = {
        name: library.seccomp_syscall_resolve_name(name.encode())
        for name in FORBIDDEN
        if name != "reboot"  # nobody may try this one
    }
    load_profile(library)
    libc = ctypes.CDLL(None, use_errno=True)
    errors = {}
    for name, number in numbers.items():
        ctypes.set_errno(0)
        libc.syscall(number, -1, -1, -1, -1, -1)
        errors[name] = ctypes.get_errno()
    sys.stdout.write(json.dumps({"sandbox": check_sandbox(), "errors": errors}))


def test_an_agent_starts_under_the_profile_and_dangerous_calls_fail(bubblewrap):
    if not ctypes.util.find_library("seccomp"):
        pytest.skip("libseccomp is not installed: apt install libseccomp2")
    module = "tests.architecture.test_agents_seccomp"
    done = subprocess.run(
        [sys.executable, "-m", module], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["sandbox"] is None
    assert {name for name, error in report["errors"].items() if error != 1} == set()


def test_the_profile_refuses_unknown_calls_and_names_no_dangerous_one():
    profile = json.loads(PROFILE.read_text())
    allowed = [
        name
        for rule in profile["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW"
        for name in rule["names"]
    ]
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {entry["architecture"] for entry in profile["archMap"]} == {
        "SCMP_ARCH_X86_64",
        "SCMP_ARCH_AARCH64",
    }
    assert not {*FORBIDDEN} & {*allowed}
    assert {"clone", "mount", "pivot_root", "sethostname", "umount2"} <= {*allowed}


if __name__ == "__main__":
    main()
