"""The test file that is nearest to an issue is the example that the model sees."""

import math

import pytest

from model.errors import WorkspaceError
from model.reproduction.example_search import find_example, score_files

FILES = {
    "tests/test_parser.py": "def test_comments():\n    parse('-- a comment')\n",
    "tests/test_format.py": "def test_indent():\n    format('select')\n",
    "tests/conftest.py": "comment comment comment parser\n",
    "src/parser.py": "def comment(): pass\n",
    "tests/data.txt": "comment parser",
}


def find(issue, files=FILES):
    def read(path):
        if files[path] is None:
            raise WorkspaceError("gone")
        return files[path].encode()

    example = find_example(files, issue, read)
    return example and example.path


@pytest.mark.parametrize(
    ("issue", "path"),
    [
        ("Comments are lost by the parser", "tests/test_parser.py"),
        ("`format` should indent", "tests/test_format.py"),
        ("Nothing here is alike", None),
        ("", None),
    ],
)
def test_the_nearest_test_file_is_chosen(issue, path):
    assert find(issue) == path


def test_files_that_cannot_be_shown_are_passed_over():
    bad = {
        "tests/test_a.py": None,
        "tests/test_b.py": "parser" * 60_000,
        "tests/test_c.py": "parser\0",
    }
    assert find("parser", bad) is None
    assert find("parser", bad | {"tests/test_d.py": "parser"}) == "tests/test_d.py"


def test_the_scores_are_those_of_bm25():
    """Two files of 4 and 2 words; `half` stands in one, twice: ln(1 + 1.5/1.5) · 2·2.5 / (2 + 1.5·(.25 + .75·4/3))."""
    scores = score_files(["half"], {"aaa": "half half pie", "bbb": "pie"})
    expected = math.log(2) * 5 / (2 + 1.5 * (0.25 + 0.75 * 4 / 3))
    assert scores == {"aaa": pytest.approx(expected), "bbb": 0.0}
