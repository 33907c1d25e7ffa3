"""The opener by itself, by the kernel's call and step by step: the second wall behind the rules of names."""

import os

import pytest

from model.workspace import Workspace, safe_open
from tests.model.workspace.conftest import SECRET
from tests.model.workspace.test_workspace_escapes import BY_LINK


@pytest.fixture
def root(trap):
    """A handle of the tree."""
    handle = os.open(trap.root, safe_open.FOLDER)
    yield handle
    os.close(handle)


@pytest.mark.parametrize("path", ["..", "../outside/secret", "package/../..", "/etc", "", "a//b"])
def test_open_below_never_leaves_the_tree(root, way, path):
    """Opening stays in the tree also when a name was let through by mistake."""
    with (
        pytest.raises(OSError, match=r".") as raised,
        safe_open.open_below(root, path, os.O_RDONLY),
    ):
        pass
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY])
@pytest.mark.parametrize("path", [one for one in BY_LINK if one != "to_itself/x"])
def test_no_link_is_opened(trap, root, way, path, flags):
    before = trap.snapshot()
    with pytest.raises(OSError, match=r"."), safe_open.open_below(root, path, flags, 0o600):
        pass
    assert trap.snapshot() == before


def test_both_ways_open_the_same_files(trap, root, way):
    assert safe_open.read_file(root, "package/module.py", 100) == (b"one = 1\n", False)
    with safe_open.open_below(root, "package/new", os.O_WRONLY | os.O_CREAT, 0o640) as handle:
        os.write(handle, b"x")
    assert (trap.root / "package" / "new").read_bytes() == b"x"


@pytest.mark.parametrize("lacking", ["another system", "a call that this kernel does not know"])
def test_opening_goes_step_by_step_without_openat2(trap, monkeypatch, lacking):
    if lacking == "another system":
        monkeypatch.setattr("sys.platform", "darwin")
    else:
        monkeypatch.setattr(safe_open, "_OPENAT2", 99_999)
    safe_open.has_openat2.cache_clear()
    try:
        assert not safe_open.has_openat2()
        with Workspace.open(trap.root) as workspace:
            assert workspace.read("package/module.py") == b"one = 1\n"
    finally:
        safe_open.has_openat2.cache_clear()
