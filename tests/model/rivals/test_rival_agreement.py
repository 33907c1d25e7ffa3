"""Edits with the same content share an opinion, and each edit gets its panel."""

import pytest

from model.patches import edits
from model.rivals.rival_agreement import build_opinion_key, build_panels
from tests.model.builders import build_diff


def read(*added, path="a.py"):
    return [edits.read_edit(build_diff(line, path=path)) for line in added]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = 1", "x = 1  # better", True),
        ("x = 1", "x = 1  # it's fine", True),
        ("x = 1", "x = 1;", True),
        ("x = 1", "x  =  1", True),
        ("x = f(y)", "z = g(y_2)", True),
        ("x = f(self, safe=True)", "x = f(this, safe=True_2)", True),
        ("x = 1", "x = 2", False),
        ("x = y or z", "x = y and z", False),
        ("return x", "yield x", False),
        ("x = y", "x = y.z", False),
    ],
)
def test_names_spaces_and_comments_make_no_other_opinion(one, other, same):
    first, second = map(build_opinion_key, read(one, other))
    assert (first == second) is same


def test_the_same_edit_of_another_file_is_another_opinion():
    assert build_opinion_key(*read("x = 1")) != build_opinion_key(*read("x = 1", path="b.py"))


def test_comments_in_any_language_make_no_other_opinion():
    first, second = map(build_opinion_key, read("x = 1;", "x = 1; // it's fine", path="a.js"))
    assert first == second
    plain, note = build_diff("x = 1"), build_diff("// it's fine", path="b.js", removed="//")
    assert build_opinion_key(edits.read_edit(plain)) == build_opinion_key(
        edits.read_edit(plain + note)
    )


def test_panel_holds_the_first_edit_of_each_other_opinion():
    rivals = read("x = 1", "y = 1", "wait()", "x = 1", "go()")
    assert build_panels(rivals) == [(0, (0, 2)), (1, (1, 2)), (2, (0, 2)), (0, (0, 2)), (4, (0, 4))]
    assert build_panels([]) == []
