"""A project with three releases, of which the second resolves an issue, and the benchmark's files about it."""

import gzip
import io
import json
import tarfile

import pytest

from tests.model.execution.conftest import write_diff

RUN_TESTS = """\
import sys
import unittest

names = [name for name in sys.argv[1:] if not name.startswith("--")]
unittest.main(module=None, argv=["runtests", *names])
"""
OLD = "def double(number):\n    return number + number\n\n\ndef half(number):\n    return number\n"
NEW = OLD.replace("    return number\n", "    return number / 2\n")
LATER = "def square(number):\n    return number * number\n\n\n" + NEW
OLD_TESTS = """\
import unittest

from doubling import double


class DoublingTests(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(3), 6)
"""
NEW_TESTS = (
    OLD_TESTS.replace("import double\n", "import double, half\n")
    + '''
    def test_half(self):
        """
        Half of a number is
        computed.
        """
        self.assertEqual(half(3), 1.5)
'''
)
LATER_TESTS = NEW_TESTS.replace(
    "half(3), 1.5)", "half(3), 1.5)\n        self.assertEqual(half(0), 0)"
)
GOLD = write_diff("doubling.py", OLD, NEW)
RIGHT = write_diff(
    "doubling.py", OLD, OLD.replace("    return number\n", "    return 0.5 * number\n")
)
WRONG = write_diff(
    "doubling.py", OLD, OLD.replace("    return number\n", "    return number // 2\n")
)
BREAKING = write_diff("doubling.py", OLD, NEW.replace("number + number", "number ** 2"))
UNREADABLE = write_diff("doubling.py", OLD, NEW.replace("def half(", "def half(("))
STRANGE = write_diff(
    "doubling.py", OLD, NEW.replace("number / 2", "__import__('os') and number / 2")
)
LOST = write_diff("doubling.py", "def other():\n", "def another():\n")
CANDIDATES = [
    (RIGHT, True),
    (WRONG, False),
    (BREAKING, False),
    (UNREADABLE, False),
    (STRANGE, True),
    (LOST, False),
]
RELEASES = {"1.0": (OLD, OLD_TESTS), "2.0": (NEW, NEW_TESTS), "3.0": (LATER, LATER_TESTS)}
ISSUE = "maker__doubling-7"
INSTANCE = {
    "instance_id": ISSUE,
    "repo": "maker/doubling",
    "base_commit": "0" * 40,
    "gold_patch": GOLD,
    "test_patch": write_diff("tests/arithmetic/test_doubling.py", OLD_TESTS, NEW_TESTS),
    "FAIL_TO_PASS": ["Half of a number is"],
}


def pack_release(folder, version):
    """Write the source distribution of a release."""
    code, tests = RELEASES[version]
    files = {
        "doubling.py": code,
        "tests/runtests.py": RUN_TESTS,
        "tests/arithmetic/__init__.py": "",
        "tests/arithmetic/test_doubling.py": tests,
        "docs/index.txt": "no test reads it",
        "PKG-INFO": f"Version: {version}",
    }
    with tarfile.open(folder / f"doubling-{version}.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"doubling-{version}/{path}")
            member.size, member.mode = len(text.encode()), 0o644
            archive.addfile(member, io.BytesIO(text.encode()))


@pytest.fixture
def sources(tmp_path):
    """A folder with the source distributions."""
    (folder := tmp_path / "sources").mkdir()
    for version in RELEASES:
        pack_release(folder, version)
    return folder


@pytest.fixture
def benchmark(tmp_path):
    """The benchmark's two files: instances, and labelled patches."""
    patches = [
        {"patch": diff.removesuffix("\n"), "resolved": label, "source": "family/run"}
        for diff, label in CANDIDATES
    ]
    group = {
        "instance_id": ISSUE,
        "repo": "maker/doubling",
        "problem_statement": "half() halves nothing\nhalf(3) is 3.",
        "patches": patches,
    }
    paths = tmp_path / "instances.jsonl.gz", tmp_path / "patches.jsonl.gz"
    for path, row in zip(paths, (INSTANCE, group), strict=True):
        with gzip.open(path, "wt") as file:
            file.write(json.dumps(row) + "\n")
    return paths
