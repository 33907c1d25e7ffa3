"""The script for continuous integration brings each program whose absence lets a test skip."""

import re
import subprocess

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
