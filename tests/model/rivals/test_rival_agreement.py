"""Edits with the same content share an opinion, and each edit gets its panel."""

import pytest

from model.patches import edits
from model.rivals.rival_agreement import build_opinion_key, build_panels
from tests.model.builders import build_diff


def read_edits(*added, path="a.py"):
    return [edits.read_edit(build_diff(line, path=path)) for line in added]


@pytest.mark.parametrize(
    ("left", "right", "same"),
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
def test_names_spaces_and_comments_do_not_change_the_opinion(left, right, same):
    first, second = map(build_opinion_key, read_edits(left, right))
    assert (first == second) is same


def test_same_edit_of_another_file_is_another_opinion():
    assert build_opinion_key(*read_edits("x = 1")) != build_opinion_key(
        *read_edits("x = 1", path="b.py")
    )


def test_comments_in_javascript_do_not_change_the_opinion():
    first, second = map(build_opinion_key, read_edits("x = 1;", "x = 1; // it's fine", path="a.js"))
    assert first == second
    plain, note = build_diff("x = 1"), build_diff("// it's fine", path="b.js", removed="//")
    keys = [build_opinion_key(edits.read_edit(text)) for text in (plain, plain + note)]
    assert keys[0] == keys[1]


def test_panel_holds_the_first_edit_of_each_other_opinion():
    rivals = read_edits("x = 1", "y = 1", "wait()", "x = 1", "go()")
    assert build_panels(rivals) == [(0, (0, 2)), (1, (1, 2)), (2, (0, 2)), (0, (0, 2)), (4, (0, 4))]
    assert build_panels([]) == []
