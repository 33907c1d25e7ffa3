"""Which files and which added lines of a patch could decide about the tests instead of passing them (pure).

A patch is judged by the tests of its base. So the base's own copy of whatever runs the tests is used, and a patch whose
code reaches for the test runner or for its own process gets no result at all.
"""

import re
from typing import Final

from model.execution.tree_changes import TreeChanges

_RUNNER_FILES: Final = frozenset(
    [
        *("conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"),
        *("sitecustomize.py", "usercustomize.py", "noxfile.py", "runtests.py", "manage.py"),
    ]
)
"""Files that configure a test run, in any folder."""
_TEST_FILE: Final = re.compile(
    r"(?:^|/)(?:tests?/|testing/|test_[^/]*\.py$|[^/]*_tests?\.py$|tests?\.py$)"
)
_REACHES: Final = re.compile(
    r"\b(?:_?pytest|pluggy|unittest|doctest|tamper_evidence|run_pytest|run_unittest|ctypes|gc|SkipTest)\b"
    r"|\bsys\s*\.\s*(?:modules|_getframe|settrace|setprofile|monitoring|exit|meta_path|path_hooks)\b"
    r"|\bos\s*\.\s*(?:_exit|abort|kill|fork|dup2?|write|fdopen|exec\w*)\b"
    r"|\b_exit\b|\binspect\s*\.\s*(?:currentframe|stack)\b|\bsettrace\b|\bsetprofile\b|\batexit\b"
    r"|\b__builtins__\b|\bbuiltins\b|/proc/|\b__import__\b|\bimportlib\b|\bexec\s*\(|\beval\s*\("
    r"|\b(?:tb_frame|f_back|gi_frame|cr_frame|__subclasses__|__globals__|__code__|__closure__)\b"
    r"|\bSystemExit\b|\bfaulthandler\b|\bsignal\s*\.",
)
"""What ordinary fixes rarely need and what every known way to forge a result needs."""

_LOADED: Final = (".so", ".pyd", ".pyc", ".pth", ".dll", ".egg", ".zip")
"""Suffixes of files that Python may run and nobody can read."""


def is_test_file(path: str) -> bool:
    """Return whether a path is a test, or configures a test run."""
    return path.rpartition("/")[2] in _RUNNER_FILES or bool(_TEST_FILE.search(path))


def keep_code(changes: TreeChanges) -> TreeChanges:
    """Return the changes without those to tests and to what runs them: there the base's own copy is used."""
    return TreeChanges(
        {path: content for path, content in changes.written.items() if not is_test_file(path)},
        tuple(path for path in changes.deleted if not is_test_file(path)),
        changes.before,
    )


def find_reach(changes: TreeChanges) -> str | None:
    """Return the first piece of new code that reaches for the test runner or its process; None without one.

    A changed binary that Python would load counts as such a piece. `changes` come from `keep_code`.
    """
    for path, content in changes.written.items():
        if path.endswith(_LOADED):
            return path
        old = frozenset(_split(changes.before.get(path, b"")))
        hits = (_REACHES.search(line) for line in _split(content) if line not in old)
        if hit := next(filter(None, hits), None):
            return hit[0]
    return None


def _split(content: bytes) -> list[str]:
    return content.decode(errors="replace").splitlines()
