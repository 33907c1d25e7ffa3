"""What continuous integration stands on: its script brings each program, and a group of proofs stays on one worker."""

import re
import subprocess
import sys

from tests.architecture.source import ROOT

SCRIPT = ROOT / ".ci" / "run"
SKIPPED = re.compile(
    r'(?:pytest\.skip\(|^NO_\w+ = )"[^"]*apt(?:-get)? install ([\w-]+)', re.MULTILINE
)
"""A message of a test that skips, with the Debian package that it asks for."""


def test_the_script_has_no_mistake_of_syntax():
    assert subprocess.run(["bash", "-n", SCRIPT], check=False).returncode == 0


def test_no_test_skips_for_want_of_a_debian_package():
    tests = (ROOT / "tests").rglob("*.py")
    asked = {name for path in tests for name in SKIPPED.findall(path.read_text())}
    brought = set(
        re.findall(r"apt-get [^\n]*(?:install|download)[^\n&]* ([\w-]+)", SCRIPT.read_text())
    )
    assert {"chromium", "prometheus", "systemd"} <= asked
    assert asked <= brought


def test_the_proofs_of_one_group_run_on_one_worker(tmp_path):
    # pytest-xdist 3.8 drops the groups under pytest 9.2 without a word (its issue 1386). Two servers of vLLM would then run at a time.
    (tmp_path / "test_group.py").write_text(
        "import pytest\n"
        "@pytest.mark.xdist_group('one')\n"
        "@pytest.mark.parametrize('number', range(4))\n"
        "def test_worker(number, worker_id):\n"
        "    open(worker_id, 'a').close()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len([path for path in tmp_path.iterdir() if path.name.startswith("gw")]) == 1
