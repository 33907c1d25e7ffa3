"""Find changed files and added lines that could alter how the tests run (pure).

A patch is judged by the tests of its base. So the base's own copy of whatever runs the tests is used, and a patch whose
code reaches for the test runner or for its own process gets no result at all.
"""

import re
import unicodedata
from dataclasses import replace
from typing import Final

from model.execution.tree_changes import TreeChanges

_RUNNER_FILES: Final = frozenset(
    [
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini"),
        *("setup.cfg", "pyproject.toml", "sitecustomize.py", "usercustomize.py", "noxfile.py"),
        *("runtests.py", "manage.py"),
    ]
)
"""Files that configure a test run, in any folder."""
_TEST_FILE: Final = re.compile(
    r"(?:^|/)(?:tests?/|testing/|test_[^/]*\.py$|[^/]*_tests?\.py$|tests?\.py$)"
)
_METADATA: Final = re.compile(r"\.(?:dist|egg)-info(?:/|$)|(?:^|/)entry_points\.txt$")
"""Metadata of an installed package, which may name plugins of pytest."""
_BINARY_SUFFIXES: Final = (".so", ".pyd", ".pyc", ".pth", ".dll", ".egg", ".zip")
"""Suffixes of files that Python may run and nobody can read."""
_FORBIDDEN: Final = re.compile(
    r"\b(?:_?pytest|pytest_\w+|pluggy|pluginmanager|unittest|doctest|tamper_evidence|function_watch|run_pytest|run_unittest|run_script)\b"
    r"|\b(?:ctypes|gc|runpy|SkipTest|SystemExit|faulthandler|atexit|importlib|__import__|__builtins__|builtins)\b"
    r"|\bsys\s*\.\s*(?:modules|_getframe|settrace|setprofile|monitoring|exit|meta_path|path_hooks)\b"
    r"|\bos\s*\.\s*(?:_exit|abort|kill|fork|dup2?|write|fdopen|exec\w*)\b"
    r"|\bfrom\s+(?:sys|os|signal|inspect)\s+import\b|\b__main__\s*\.|\bimport\s+__main__\b"
    r"|\bmock\s*\.\s*ANY\b|\bfrom\s+mock\s+import\b"
    r"|\b_exit\b|\binspect\s*\.\s*(?:currentframe|stack)\b|\bsettrace\b|\bsetprofile\b"
    r"|\bsignal\s*\.\s*(?:raise_signal|signal|alarm|setitimer|pthread_kill)\b"
    r"|\b(?:tb_frame|f_back|gi_frame|cr_frame|__subclasses__|__globals__|__code__|__closure__|__defaults__)\b"
    r"|/proc/|(?<![.\w])(?:exec|eval)\b|(?<![.\w])compile\s*\(|\bcoding[:=]\s*(?!utf-?8\b)[-\w]",
)
"""Common ways to forge a result or to end a run. This is a filter for honest results, and no boundary for hostile code."""

_STEERING_FILE: Final = re.compile(
    r"(?i:(?:^|/)(?:(?:gnu)?makefile|justfile|rakefile|gemfile|package\.json|composer\.json|pom\.xml|go\.mod|cargo\.toml"
    r"|cmakelists\.txt|build\.(?:gradle|xml|sbt)|\.[^/]*rc)(?:\.\w+)?$|\.(?:config|setup)\.\w+$"
    r"|\.(?:sh|bat|cmd|mk|cmake|csproj)$|(?:^|/)(?:__tests__|specs?|e2e)/|[._-](?:test|spec)s?\.\w+$)"
    r"|(?:Tests?|Spec)\.\w+$"
)
"""Tests of any language, and files that decide what a build tool or a shell runs."""
_REPORT: Final = re.compile(r"\btest_?(?:case|suite)s?\b|junit", re.IGNORECASE)
"""Words of JUnit XML."""


def is_test_file(path: str) -> bool:
    """Return whether a path is a test, or configures a test run."""
    name = path.rpartition("/")[2]
    return name in _RUNNER_FILES or bool(_TEST_FILE.search(path) or _METADATA.search(path))


def keep_code(changes: TreeChanges, protected: frozenset[str] = frozenset()) -> TreeChanges:
    """Return the changes without those to tests and to what runs them: there the base's own copy is used.

    `protected` holds further paths of tests.
    """

    def keep(path: str) -> bool:
        return path not in protected and not is_test_file(path)

    return replace(
        changes,
        written={path: content for path, content in changes.written.items() if keep(path)},
        deleted=tuple(filter(keep, changes.deleted)),
    )


def find_forbidden_code(changes: TreeChanges) -> str | None:
    """Return the first piece of new code that reaches for the test runner or its process; None without one.

    A changed binary that Python would load counts as such a piece. `changes` come from `keep_code`.
    """
    for path, content in changes.written.items():
        if path.endswith(_BINARY_SUFFIXES):
            return path
        old = frozenset(_split(changes.before.get(path, b"")))
        hits = (_FORBIDDEN.search(line) for line in _split(content) if line not in old)
        if hit := next(filter(None, hits), None):
            return hit[0]
    return None


def find_forged_report(changes: TreeChanges, report: str) -> str | None:
    """Return what lets a patch decide about the JUnit XML of its own run, beside `find_forbidden_code`; None without.

    `report` is the path of that file. A patch that hides its intent is not found here.
    """
    if steering := next(filter(_STEERING_FILE.search, changes.paths), None):
        return steering
    words = re.compile(f"{re.escape(report.rpartition('/')[2])}|{_REPORT.pattern}", re.IGNORECASE)
    for path, content in changes.written.items():
        old = frozenset(_split(changes.before.get(path, b"")))
        hits = (words.search(line) for line in _split(content) if line not in old)
        if hit := next(filter(None, hits), None):
            return hit[0]
    return None


def _split(content: bytes) -> list[str]:
    """Return the lines of a file, with each letter in the form in which Python reads names."""
    return unicodedata.normalize("NFKC", content.decode(errors="replace")).splitlines()
