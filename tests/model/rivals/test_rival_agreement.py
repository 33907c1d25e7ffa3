"""Which rivals say the same, and whom each is compared with."""

import pytest

from model.patches import edits
from model.rivals.rival_agreement import opinion, panels
from tests.model.builders import diff_of


def read(*added, path="a.py"):
    return [edits.read(diff_of(line, path=path)) for line in added]


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
    first, second = map(opinion, read(one, other))
    assert (first == second) is same


def test_the_same_edit_of_another_file_is_another_opinion():
    assert opinion(*read("x = 1")) != opinion(*read("x = 1", path="b.py"))


def test_comments_in_any_language_make_no_other_opinion():
    first, second = map(opinion, read("x = 1;", "x = 1; // it's fine", path="a.js"))
    assert first == second
    plain, note = diff_of("x = 1"), diff_of("// it's fine", path="b.js", removed="//")
    assert opinion(edits.read(plain)) == opinion(edits.read(plain + note))


def test_each_is_compared_with_the_first_of_every_other_opinion():
    rivals = read("x = 1", "y = 1", "wait()", "x = 1", "go()")
    assert panels(rivals) == [(0, (0, 2)), (1, (1, 2)), (2, (0, 2)), (0, (0, 2)), (4, (0, 4))]
    assert panels([]) == []
