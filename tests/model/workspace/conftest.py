"""A tree with traps in it, beside a folder that nobody may reach from there; and both ways of opening a path."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from model.workspace import Workspace, safe_open

SECRET = "the contents of a file that is not theirs"


@dataclass(frozen=True)
class Trapped:
    """A tree, and what lies outside it."""

    root: Path
    outside: Path

    def snapshot(self):
        """Return all that is on disk, inside and outside: kind, mode, size or content, and when it changed."""
        seen = {}
        for top in (self.root, self.outside):
            for folder, folders, files in os.walk(top):
                for path in [Path(folder, name) for name in (*folders, *files)]:
                    about = path.lstat()
                    content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                    seen[path] = (about.st_mode, about.st_mtime_ns, about.st_nlink, content)
        return seen


@pytest.fixture
def trap(tmp_path) -> Trapped:
    """Plain files, and links of every kind to a secret."""
    root, outside = tmp_path / "tree", tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    (outside / "folder").mkdir()
    (outside / "folder" / "secret").write_text(SECRET)
    for folder in ("package", ".git/hooks", "sub/.git"):
        (root / folder).mkdir(parents=True)
    (root / "package" / "module.py").write_text("one = 1\n")
    (root / ".git" / "config").write_text(SECRET)
    (root / "sub" / ".git" / "config").write_text(SECRET)
    _links(root, outside)
    _special(root)
    return Trapped(root, outside)


def _links(root, outside):
    links = {
        "to_file": outside / "secret",
        "to_file_relative": "../outside/secret",
        "to_folder": outside / "folder",
        "to_folder_relative": "../outside/folder",
        "to_above": "..",
        "to_root": "/",
        "to_nothing": outside / "new",
        "to_inside": "package/module.py",
        "to_folder_inside": "package",
        "to_git": ".git",
        "to_itself": "to_itself",
        "to_environment": "/proc/self/environ",
        "to_handle": "/proc/self/fd/0",
        "to_process_root": "/proc/self/root",
        "package/up": "../../outside",
        "package/chain": "up",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)


def _special(root):
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(root)  # a socket's address has to be short
        try:
            one.bind("socket")
        finally:
            os.chdir(here)


@pytest.fixture(params=["kernel", "steps"])
def way(request, monkeypatch):
    """Each of the two ways of opening a path without following a link."""
    if request.param == "steps":
        monkeypatch.setattr(safe_open, "has_openat2", lambda: False)
    elif not safe_open.has_openat2():
        pytest.skip("this kernel has no openat2")
    return request.param


@pytest.fixture
def workspace(trap, way):
    """A view of the tree with traps."""
    with Workspace.open(trap.root) as opened:
        yield opened
