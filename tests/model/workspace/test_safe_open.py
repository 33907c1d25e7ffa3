"""The opener by itself, by the kernel's call and step by step: the second wall behind the rules of names."""

import os

import pytest

from model.workspace import Workspace, safe_open
from tests.model.workspace.conftest import SECRET
from tests.model.workspace.test_workspace_escapes import BY_LINK


@pytest.mark.parametrize("path", ["..", "../outside/secret", "package/../..", "/etc", "", "a//b"])
def test_the_second_wall_stands_by_itself(trapped, way, path):
    """Were a name let through by mistake, opening it would still not leave the tree."""
    root = os.open(trapped.root, safe_open.FOLDER)
    try:
        with (
            pytest.raises(OSError, match=r".") as raised,
            safe_open.open_below(root, path, os.O_RDONLY),
        ):
            pass
    finally:
        os.close(root)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY])
@pytest.mark.parametrize("path", [one for one in BY_LINK if one != "to_itself/x"])
def test_no_link_is_opened_for_reading_or_writing(trapped, way, path, flags):
    before = trapped.world()
    root = os.open(trapped.root, safe_open.FOLDER)
    try:
        with pytest.raises(OSError, match=r"."), safe_open.open_below(root, path, flags, 0o600):
            pass
    finally:
        os.close(root)
    assert trapped.world() == before


def test_both_ways_open_the_same_files(trapped, way):
    root = os.open(trapped.root, safe_open.FOLDER)
    try:
        assert safe_open.read_file(root, "package/module.py", 100) == (b"one = 1\n", False)
        with safe_open.open_below(root, "package/made", os.O_WRONLY | os.O_CREAT, 0o640) as handle:
            os.write(handle, b"x")
    finally:
        os.close(root)
    assert (trapped.root / "package" / "made").read_bytes() == b"x"


@pytest.mark.parametrize("lacking", ["another system", "a call that this kernel does not know"])
def test_without_the_kernels_call_it_goes_step_by_step(trapped, monkeypatch, lacking):
    if lacking == "another system":
        monkeypatch.setattr("sys.platform", "darwin")
    else:
        monkeypatch.setattr(safe_open, "_OPENAT2", 99_999)
    safe_open.has_openat2.cache_clear()
    try:
        assert not safe_open.has_openat2()
        with Workspace.open(trapped.root) as workspace:
            assert workspace.read("package/module.py") == b"one = 1\n"
    finally:
        safe_open.has_openat2.cache_clear()
