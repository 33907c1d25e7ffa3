"""What an agent's process can reach from behind real walls: nothing that is not its own."""

import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import model
from app.sandbox import build_command
from model.sandbox.seccomp_filter import install_filter

CHECKOUT = Path(__file__).parents[2]
CLONE, KEYCTL = (220, 219) if platform.machine() == "aarch64" else (56, 250)
INSIDE = """
import ctypes, json, os, resource, signal, socket, sys
if BOUND:
    from model.agents.process.child_process import limit_resources
    limit_resources(int(sys.argv[1]))
libc = ctypes.CDLL(None, use_errno=True)

def tried(probe):
    try:
        return repr(probe())
    except (OSError, MemoryError, ValueError) as error:
        return type(error).__name__ + (f" {os.strerror(error.errno)}" if getattr(error, "errno", 0) else "")

def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)

def connect(address, family=socket.AF_INET):
    with socket.socket(family) as one:
        one.settimeout(2)
        one.connect(address)

def written(path):
    with open(path, "a") as file:
        file.write("x")

def size(path, most):
    with open(path, "w") as file:
        os.truncate(file.fileno(), most)

print(json.dumps({name: tried(probe) for name, probe in PROBES.items()}))
"""


@pytest.fixture
def probe_sandbox(bubblewrap, tmp_path):
    """`probed(name="expression")`: what each came to, behind the walls around `tmp_path / "tree"`.

    `bound=False`: in a process that took nothing from itself, so that it is the walls that hold.
    """
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "code.py").write_text("print(1)\n")

    def run(*, bound=True, **probes):
        lambdas = ", ".join(f"{name!r}: lambda: {probe}" for name, probe in probes.items())
        code = INSIDE.replace("PROBES", f"{{{lambdas}}}").replace("BOUND", str(bound))
        done = subprocess.run(
            build_command(tree, ("-c", code)),
            env={},
            cwd="/",
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return run


def test_its_own_tree_can_be_read_and_its_own_folder_written(probe_sandbox):
    found = probe_sandbox(
        tree='sorted(os.listdir("/tree"))',
        code='open("/tree/code.py").read()',
        scratch='written("/tmp/x")',
        device='len(open("/dev/urandom", "rb").read(4))',
    )
    assert found == {
        "tree": "['code.py']",
        "code": repr("print(1)\n"),
        "scratch": "None",
        "device": "4",
    }


def test_nothing_of_the_environment_comes_along(probe_sandbox, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", "postgresql://r4p:secret@localhost/r4p")
    found = probe_sandbox(
        names="sorted(os.environ)", host="socket.gethostname()", user="os.getuid()"
    )
    assert set(eval(found["names"])) <= {"LC_CTYPE", "OLDPWD", "PWD", "SHLVL", "_"}
    assert found["host"] == "'agent'"
    assert found["user"] == "65534"


HOSTS = [
    *("/proc", "/proc/self/environ", "/sys", "/run", "/var", "/home", "/mnt"),
    *("/etc/passwd", "/etc/shadow"),
    *("/etc/hosts", "/etc/ssl", "/dev/tty", "/dev/shm", "/dev/mem", "/dev/kmsg"),
    *(str(Path.home() / name) for name in (".bashrc", ".ssh", ".cache", ".config")),
    str(Path(__file__)),
    *(str(CHECKOUT / name) for name in ("pyproject.toml", ".git", "app/settings", "worker")),
]


def test_files_of_the_host_are_absent_in_the_sandbox(probe_sandbox):
    found = probe_sandbox(**{path: f"os.stat({path!r})" for path in HOSTS})
    assert set(found.values()) == {"FileNotFoundError No such file or directory"}


def test_files_beside_the_tree_are_absent_in_the_sandbox(probe_sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("token")
    found = probe_sandbox(
        there=f"open({str(secret)!r}).read()",
        above='sorted(os.listdir("/tree/.."))',
        tmp='os.listdir("/tmp")',
    )
    assert found["there"] == "FileNotFoundError No such file or directory"
    pythons = {path.split("/")[1] for path in (sys.prefix, sys.base_prefix, model.__file__)}
    known = {"bin", "dev", "etc", "lib", "lib64", "tmp", "tree", "usr"}
    assert {*eval(found["above"])} <= known | pythons
    own = {Path(path).parts for path in (sys.prefix, sys.base_prefix, model.__file__)}
    assert {*eval(found["tmp"])} <= {parts[2] for parts in own if parts[1] == "tmp"}


def test_no_socket_leads_anywhere(probe_sandbox, tmp_path):
    with (
        socket.socket() as web,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        web.bind(("127.0.0.1", 0))
        named.bind(str(tmp_path / "socket"))
        abstract.bind(f"\0r4p-{os.getpid()}")
        for one in (web, named, abstract):
            one.listen()
        web.settimeout(0.1)
        probes = {
            "loopback": f'connect(("127.0.0.1", {web.getsockname()[1]}))',
            "loopback6": f'connect(("::1", {web.getsockname()[1]}), socket.AF_INET6)',
            "internet": 'connect(("192.0.2.1", 443))',
            "named": f"connect({str(tmp_path / 'socket')!r}, socket.AF_UNIX)",
            "abstract": f"connect({f'{chr(0)}r4p-{os.getpid()}'!r}, socket.AF_UNIX)",
            "names": 'socket.gethostbyname("example.com")',
        }
        walls = probe_sandbox(bound=False, **probes)
        filtered = probe_sandbox(**probes)
        with pytest.raises(TimeoutError):
            web.accept()
    assert [how.split()[0] for how in walls.values()] == [
        "ConnectionRefusedError",
        "ConnectionRefusedError",
        "OSError",
        "FileNotFoundError",
        "ConnectionRefusedError",
        "gaierror",
    ]
    assert filtered.pop("names").startswith("gaierror")
    assert set(filtered.values()) == {"PermissionError Operation not permitted"}


def test_nothing_but_its_folder_can_be_written(probe_sandbox):
    ours = [f"{sys.prefix}/bin/new", f"{sys.base_prefix}/lib/new", model.__file__]
    places = ["/tree/new", "/tree/code.py", "/new", "/usr/new", "/etc/new", "/dev/new", *ours]
    found = probe_sandbox(**{path: f"written({path!r})" for path in places})
    # an ordinary user is refused root's files first
    refusals = {"OSError Read-only file system", "PermissionError Permission denied"}
    assert set(found.values()) <= refusals


def test_memory_disk_and_processes_have_an_end(probe_sandbox):
    found = probe_sandbox(
        memory="len(bytearray(5 * 1024**3))",
        file='size("/tmp/large", 600 * 1024**2)',
        disk='(lambda told: told.f_blocks * told.f_frsize)(os.statvfs("/tmp"))',
        full='[os.posix_fallocate(os.open(f"/tmp/{n}", os.O_CREAT | os.O_WRONLY), 0, 400 * 1024**2) for n in "ab"]',
        handles="[os.dup(0) for _ in range(300)]",
        processes="resource.getrlimit(resource.RLIMIT_NPROC)",
        core="resource.getrlimit(resource.RLIMIT_CORE)",
        more="resource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40))",
    )
    assert found == {
        "memory": "MemoryError",
        "file": "OSError File too large",
        "disk": str(512 * 1024**2),
        "full": "OSError No space left on device",
        "handles": "OSError Too many open files",
        "processes": "(128, 128)",
        "core": "(0, 0)",
        "more": "ValueError",
    }


@pytest.mark.parametrize("bound", [False, True])
def test_no_right_and_no_namespace_can_be_had(probe_sandbox, bound):
    found = probe_sandbox(
        bound=bound,
        root="os.setuid(0)",
        mount='call("mount", b"/tmp", b"/tree", b"", 4096, None)',
        remount='call("mount", b"", b"/tree", b"", 32 | 4096, None)',
        unmount='call("umount2", b"/tree", 2)',
        network="call('unshare', 0x40000000)",
        out='os.chroot("/tmp")',
        device='os.mknod("/tmp/disk", 0o60666, os.makedev(8, 0))',
    )
    assert {name: how.split()[0] for name, how in found.items()} == {
        "root": "OSError",
        "mount": "PermissionError",
        "remount": "PermissionError",
        "unmount": "PermissionError",
        "network": "PermissionError",
        "out": "PermissionError",
        "device": "PermissionError",
    }


def test_the_sandbox_refuses_dangerous_system_calls(probe_sandbox):
    found = probe_sandbox(
        user="call('unshare', 0x10000000)",
        child=f"call('syscall', {CLONE}, 0x10000011, 0, 0, 0, 0)",
        trace="call('ptrace', 16, os.getppid(), 0, 0)",
        rings="call('syscall', 425, 8, None)",
        clone="call('syscall', 435, None, 0)",
        keys=f"call('syscall', {KEYCTL}, 0, 0)",
        terminal="__import__('fcntl').ioctl(0, 0x5412, b'x')",
        others="os.kill(-1, 0)",
        handle="os.pidfd_open(os.getpid())",
        aborted="call('raise', 0)",
        pair="len(socket.socketpair())",
        thread="__import__('threading').Thread(target=print).start()",
        program="os.posix_spawn('/bin/true', ['true'], {}) > 1",
    )
    refused = "PermissionError Operation not permitted"
    assert found == {
        "user": refused,
        "child": refused,
        "trace": refused,
        "rings": refused,
        "clone": "OSError Function not implemented",
        "keys": refused,
        "terminal": refused,
        "others": refused,
        "handle": refused,
        "aborted": refused,
        "pair": "2",
        "thread": "None",
        "program": "True",
    }


def test_a_sandboxed_process_cannot_leave_its_process_group(probe_sandbox):
    found = probe_sandbox(
        before="os.getpgid(0)",
        session="os.setsid()",
        group="os.setpgid(0, 0)",
        after="os.getpgid(0)",
    )
    assert (found["session"], found["group"]) == ("None", "None")
    assert found["after"] == found["before"]


def test_an_unknown_machine_has_no_seccomp_filter(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    assert not install_filter()


def test_no_process_of_the_host_can_be_seen_or_signalled(probe_sandbox):
    found = probe_sandbox(
        environment=f'open("/proc/{os.getpid()}/environ").read()',
        memory=f'os.open("/proc/{os.getpid()}/mem", os.O_RDWR)',
        parent=f"os.kill({os.getpid()}, 0)",
        own="os.getpid() < 20",
        group=f"os.getpgid({os.getpid()})",
        terminal='os.open("/dev/tty", os.O_RDWR)',
    )
    assert found == {
        "environment": "FileNotFoundError No such file or directory",
        "memory": "FileNotFoundError No such file or directory",
        "parent": "ProcessLookupError No such process",
        "own": "True",
        "group": "ProcessLookupError No such process",
        "terminal": "FileNotFoundError No such file or directory",
    }
