"""Every way out of a tree that we know of, tried by every verb: nothing outside is read, written or made."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.errors import NoSuchFile, PathRefused, WorkspaceError
from model.workspace import Workspace
from tests.model.workspace.conftest import SECRET

OUT_BY_NAME = [
    "..", "../outside/secret", "package/../../outside/secret", "package/..", "package/./module.py",
    "./../outside/secret", "././package/module.py", "", ".", "./", "package//module.py",
    "package/", "/", "/etc/passwd", "//etc/passwd", "/proc/self/environ", "C:/Windows/win.ini",
    "c:secret", "..\\outside\\secret", "package\\module.py", "\\\\server\\share",
    ".. /outside/secret", "../ ../outside/secret", ".../secret", ". ./secret", " /secret",
]  # fmt: skip
GIT_BY_NAME = [
    ".git", ".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".GIT/config",
    ".Git/config", ".gIt/hooks/post-checkout", ".git./config", ".git /config", ".git. . /config",
    " .git/config", ".git:x/config", ".git::$INDEX_ALLOCATION/config",
    ".git./::$INDEX_ALLOCATION/config", "GIT~1/config", "git~1", "sub/Git~2/config",
    "git~1./config", ".g\u200cit/config", ".git\u200d/config", "\ufeff.git/config",
    ".gi\u2060t/config", ".\u206agit/config", ".git\u034f/config", "\uff0egit/config",
    ".\uff47\uff49\uff54/config", ".\U0001d420\U0001d422\U0001d42d/config",
    ".\u24b6\u24bet/../.git/config", ".g\u0131t/config", ".G\u0130T/config",
]  # fmt: skip
NO_TEXT = [
    "package/module.py\0.txt",
    "\0",
    "secret\n",
    "a\rb",
    "a\tb",
    "a\x1b[2Jb",
    "a\x7fb",
    "a\x85b",
    "a\u2028b",
    "a\u202eyp.b",
    "a\U000e0041b",
    "a\ud800b",
    "a\udcffb",
    "x" * 256,
    "ü" * 128,
    "d/" * 600 + "x",
]
BY_LINK = [
    "to_file", "to_file_relative", "to_folder", "to_folder/secret", "to_folder_relative/secret",
    "to_folder/new", "to_above/outside/secret", "to_above/outside/new", "to_root/etc/passwd",
    "to_nothing", "to_inside", "to_folder_inside/module.py", "to_folder_inside/new.py",
    "to_git/config", "to_itself", "to_itself/x", "to_environment", "to_handle",
    "to_process_root/etc/passwd", "package/up/secret", "package/chain/secret",
    "package/chain/folder/new",
]  # fmt: skip
NOT_PLAIN = ["package", "pipe", "socket", "package/module.py/x", "pipe/x"]
REFUSED = [*OUT_BY_NAME, *GIT_BY_NAME, *NO_TEXT, *BY_LINK, *NOT_PLAIN]

VERBS = {
    "read": lambda workspace, path: workspace.read(path),
    "original": lambda workspace, path: workspace.read_original(path),
    "write": lambda workspace, path: workspace.write(path, b"theirs"),
}


@pytest.mark.parametrize("path", REFUSED, ids=ascii)
def test_no_verb_accepts_a_path_that_leads_out(workspace, trap, path):
    before = trap.snapshot()
    for verb in VERBS.values():
        with pytest.raises(PathRefused) as raised:
            verb(workspace, path)
        assert SECRET not in str(raised.value)
        assert str(raised.value).isprintable()
    assert workspace.list_changed() == ()
    assert workspace.diff() == ""
    assert trap.snapshot() == before


@pytest.mark.parametrize(
    "path",
    [
        "%2e%2e/outside/secret", "~/secret", "$HOME/secret", "..a/secret", ".gitignore",
        ".githooks/workflows/x.yml", ".gitx/config", "git/config", "ab:c", "digit~1", "*", "-rf",
    ],
)  # fmt: skip
def test_name_that_looks_like_an_escape_is_inside(workspace, trap, path):
    before = trap.snapshot()
    with pytest.raises(NoSuchFile):
        workspace.read(path)
    workspace.write(path, b"new\n")
    assert workspace.list_changed() == (path,)
    assert workspace.read(path) == b"new\n"
    assert trap.snapshot() == before


@pytest.fixture
def device(trap):
    try:
        os.mknod(trap.root / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


def test_device_is_not_opened(workspace, device):
    for verb in VERBS.values():
        with pytest.raises(PathRefused, match="a device"):
            verb(workspace, "device")


@pytest.fixture
def unreadable_file(workspace, trap):
    """A file that nobody but its owner could open; root could, so it is somebody else meanwhile."""
    (trap.root / "closed").write_text(SECRET)
    (trap.root / "closed").chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65_534)
    yield
    if is_root:
        os.seteuid(0)


def test_unreadable_file_is_refused(workspace, unreadable_file):
    with pytest.raises(PathRefused, match="may not be read"):
        workspace.read("closed")


def test_hard_link_is_not_written_through(workspace, trap):
    os.link(trap.outside / "secret", trap.root / "hard")
    before = trap.snapshot()
    workspace.write("hard", b"theirs\n")
    assert "+theirs" in workspace.diff()
    assert trap.snapshot() == before


def test_folder_replaced_by_a_link_is_not_followed(workspace, trap):
    assert workspace.read("package/module.py")
    (trap.root / "package").rename(trap.root / "was")
    (trap.root / "package").symlink_to(trap.outside)
    with pytest.raises(PathRefused):
        workspace.read("package/secret")


def test_workspace_keeps_the_opened_tree(workspace, trap):
    trap.root.rename(trap.root.with_name("moved"))
    trap.root.symlink_to(trap.outside)
    assert workspace.read("package/module.py") == b"one = 1\n"
    with pytest.raises(NoSuchFile):
        workspace.read("secret")


PARTS = st.sampled_from(
    [
        "..", ".", "package", "module.py", "to_folder", "to_above", "to_root", "up", "outside",
        "secret", "new", "proc", "self", "environ", ".git", ".GIT", "config", "\x00", "//",
    ]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.lists(PARTS, min_size=1, max_size=6).map("/".join))
def test_no_mixture_of_path_parts_leads_out(workspace, trap, path):
    with suppress(WorkspaceError):
        assert workspace.read(path) == b"one = 1\n"
    with Workspace.open(trap.root) as fresh, suppress(WorkspaceError):
        fresh.write(path, b"x")
        (changed,) = fresh.list_changed()
        assert (trap.root / changed).resolve().is_relative_to(trap.root)
        assert ".git" not in changed.lower().split("/")


def test_no_file_handle_is_left_open(workspace, trap):
    handles = Path("/proc/self/fd")
    before = len(list(handles.iterdir()))
    for path in REFUSED:
        with suppress(WorkspaceError):
            workspace.read(path)
    workspace.read("package/module.py")
    assert len(list(handles.iterdir())) == before
