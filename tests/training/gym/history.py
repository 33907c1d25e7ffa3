"""A small git repository whose commits have a known fate."""

import subprocess

TESTS = "from doubling import double\n\n\ndef test_three():\n    assert double(3) == 6\n"
WRONG = 'def double(number):\n    """Double a number."""\n    return number + 1\n'
RIGHT = WRONG.replace("number + 1", "number * 2")
HALF = "\n\ndef halve(number):\n    half = number / 2\n    return half\n"
TWO_HUNKS = RIGHT.replace("Double a number.", "Return twice the number.") + HALF.replace(
    "/ 2", "/ 2.0"
)
HALF_TESTS = (
    TESTS.replace("import double", "import double, halve")
    + "\n\ndef test_half():\n    assert halve(3) == 1.5\n"
)
ENDS = HALF_TESTS + "\n\ndef test_end():\n    import os\n    os._exit(0)\n"

COMMITS = (
    ("Begin", {"doubling.py": WRONG, "tests/test_three.py": "def test_nothing():\n    pass\n", "LICENSE": "Permission is hereby granted, free of charge"}),
    ("Describe", {"README.md": "Doubling\n"}),
    ("Fix doubling", {"doubling.py": RIGHT, "tests/test_three.py": TESTS, "CHANGELOG": "Fixed\n"}),
    ("Rename", {"doubling.py": RIGHT.replace("number", "value")}),
    ("Test more", {"doubling.py": RIGHT, "tests/test_three.py": TESTS + "\n\ndef test_zero():\n    assert double(0) == 0\n"}),
    ("Grow", {"doubling.py": RIGHT, "more.py": "x = 1\n" * 101, "tests/test_three.py": TESTS}),
    ("Add halves", {"doubling.py": TWO_HUNKS, "tests/test_three.py": HALF_TESTS}),
    ("End early", {"doubling.py": TWO_HUNKS + "\nx = 1\n", "tests/test_three.py": ENDS}),
)  # fmt: skip
"""Subject and written files of each commit, the oldest first."""
FATES = {
    "changes no source file": 1,
    "changes no Python test": 1,
    "changes more than 100 source lines": 1,
    "no test fails before and passes after": 1,
    "its tests do not run: the tests ended without a report": 1,
}


def build_repository(folder):
    """Make the repository in a new folder."""
    folder.mkdir()
    run(folder, "init", "-q", "-b", "main")
    for number, (subject, files) in enumerate(COMMITS):
        for path, text in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        commit_all(folder, subject, date=f"2026-01-{number + 1:02}T00:00:00Z")
    return folder


def commit_all(folder, subject, date="2026-02-01T00:00:00Z"):
    """Commit everything that changed in the repository."""
    run(folder, "add", "-A")
    run(folder, "commit", "-q", "-m", subject, date=date)


def run(folder, *arguments, date="2026-01-01T00:00:00Z"):
    """Run git with a fixed author and date."""
    who = {
        f"GIT_{role}_{name}": "a@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for name in ("NAME", "EMAIL")
    }
    environment = {
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
        "PATH": "/usr/bin:/bin",
        **who,
    }
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout
