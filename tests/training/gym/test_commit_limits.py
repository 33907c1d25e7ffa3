"""A commit that is too large is refused by the first limit that it breaks."""

import pytest

from model.codegraph.definition_reader import read_definitions
from training.gym.commits.commit_limits import (
    PAPER_LIMITS,
    SIZE_LIMITS,
    SourceEdit,
    SourceVersion,
    explain_content_refusal,
    explain_refusal,
)
from training.gym.commits.history import ChangedFile, HistoryCommit


def commit(*files):
    """A commit that changes files, given as (path, lines)."""
    return HistoryCommit(
        "1" * 40, "0" * 40, "2026-01-01", "Fix", tuple(ChangedFile(*file) for file in files)
    )


def edit(before, after):
    """An edit of one Python file; None where it does not exist."""
    return SourceEdit(*(
        text if text is None else SourceVersion(text.encode(), read_definitions("python", text.encode()).rows)
        for text in (before, after)
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([("tests/test_a.py", 1), ("README.md", 1), ("docs/conf.py", 3)], "no source file"),
        ([("a.c", 1)], "no Python source"),
        ([("a.py", None)], "binary"),
        ([("a.py", 1), ("tests/data.bin", None)], "binary"),
        ([(f"{n}.py", 1) for n in range(6)], "more than 5 source files"),
        ([("a.py", 60), ("b.py", 41)], "more than 100 source lines"),
        ([("a.py", 100), ("tests/test_a.py", 900), ("CHANGELOG", 500)], None),
    ],
)
def test_files_and_lines_are_limited(files, reason):
    found = explain_refusal(commit(*files), SIZE_LIMITS)
    assert found is reason is None or reason in found


FUNCTIONS = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(6))


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (FUNCTIONS, FUNCTIONS, None),
        (FUNCTIONS, FUNCTIONS.replace("return 1", "return 2"), None),
        (FUNCTIONS, FUNCTIONS.replace("return", "yield"), "edited entities"),
        (FUNCTIONS, FUNCTIONS[FUNCTIONS.index("def f2") :], "deleted entities"),
        (None, FUNCTIONS, "added entities"),
        ("", "".join(f"x{n} = {n}\n" for n in range(11)), "changed statements"),
        ("x = (\n", "".join(f"x{n} = (\n" for n in range(11)), "changed statements"),
        (
            "class A:\n    pass\n",
            "class A:\n    'text'\n    def f(self): ...\n    def g(self): ...\n",
            None,
        ),
    ],
)
def test_entities_and_statements_are_limited(before, after, reason):
    found = explain_content_refusal("diff", [edit(before, after)], PAPER_LIMITS)
    assert found is reason is None or reason in found
    assert explain_content_refusal("diff", [edit(before, after)], SIZE_LIMITS) is None


def test_the_length_of_the_diff_is_limited():
    assert explain_content_refusal("x" * 2000, [], PAPER_LIMITS) is None
    assert "2,000 characters" in explain_content_refusal("x" * 2001, [], PAPER_LIMITS)


def test_an_edited_method_is_no_edit_of_its_class():
    before = "class A:\n    def f(self):\n        return 1\n    def g(self):\n        return 1\n"
    limits = type(PAPER_LIMITS)(edited_entities=1)
    assert explain_content_refusal("", [edit(before, before.replace("1", "2", 1))], limits) is None
