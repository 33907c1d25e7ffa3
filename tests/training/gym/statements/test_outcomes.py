"""A statement tells what happens and what is expected, and confuses neither."""

import pytest

from tests.training.gym.statements.samples import print_failure, write


def tell(condition, error, before="", decorator="", head="", name="test_it"):
    """What a statement says after the steps of a test that ends with a condition."""
    source = f"{decorator}def {name.partition('[')[0]}(sql):\n{before}    assert {condition}\n"
    failure = print_failure(source, len(source.splitlines()), error, head=head)
    text = write(source, {name: failure})
    return text.partition("What happens")[2].partition(":")[2].strip()


@pytest.mark.parametrize(
    ("condition", "error", "happens", "expected"),
    [
        ("'col' == ident.get_name()", "assert 'col' == 'schema'", "`ident.get_name()` is `'schema'`.", "I expect `'col'`."),
        ("f(1) is not None", "assert None is not None", "`f(1)` is `None`.", "I expect something other than `None`."),
        ("p.kind == T.Keyword", "assert None == Token.Keyword", "`p.kind` is `None`.", "I expect `T.Keyword`."),
        ("f(1) != {'a': 9}", "assert Dict(a=1) != {'a': 9}", "`f(1)` equals `{'a': 9}`.", "I expect the two to differ."),
        ("len(p) > 4", "assert 1 > 4", "`len(p)` is `1`.", "I expect it to be more than `4`."),
        ("4 < len(p)", "assert 4 < 1", "`len(p)` is `1`.", "I expect it to be more than `4`."),
        ("'--a' in result.output", "assert '--a' in 'b'", "`result.output` is `'b'`.", "I expect it to contain `'--a'`."),
        ("'--a' not in out", "assert '--a' not in 'x--a'", "`out` is `'x--a'`.", "I expect it not to contain `'--a'`."),
        ("'a' in out", "assert 'a' in 'b...c'", "`out` does not contain `'a'`.", "I expect it to contain `'a'`."),
        ("describe_value(f(1)) == ['A', 1]", "assert ['A', 2] == ['A', 1]", "the description of `f(1)` is `['A', 2]`.", "I expect `['A', 1]`."),
        ("p.is_group", "assert False", "`p.is_group` is `False`.", "I expect `True`."),
        ("re.match(a, b)", "assert None", "`re.match(a, b)` is `None`.", "I expect a true value."),
        ("not p.items", "assert not ['x']", "`p.items` is `['x']`.", "I expect a false value."),
        ("a and b", "assert (1 and 0)", "this is not true: `a and b`.", "I expect it to be true."),
        ("f('a == b') == 'c'", "assert 'a == b' == 'c'", "`f('a == b')` is `'a == b'`.", "I expect `'c'`."),
    ],
)  # fmt: skip
def test_a_failed_comparison(condition, error, happens, expected):
    assert tell(condition, [f"AssertionError: {error}"]) == f"{happens}\n\n{expected}"


def test_an_instance_of_another_class_is_told():
    where = (
        "+  where False = isinstance(<Function 'foo(c1)' at 0x7F38A2C726D0>, <class 'sql.Name'>)"
    )
    assert tell("isinstance(p.tokens[0], sql.Name)", ["AssertionError: assert False", f" {where}"]) == (
        "`p.tokens[0]` is `<Function 'foo(c1)' at 0x…>`.\n\nI expect an instance of `sql.Name`."
    )  # fmt: skip


def test_a_name_that_stands_for_a_literal_is_the_expected_value():
    before = "    res = ''\n"
    assert tell("res == format(sql)", ["assert '' == ';'"], before) == (
        "`format(sql)` is `';'`.\n\nI expect `''`."
    )
    before = "    res = []\n    fill(res)\n"
    assert tell("res == found(sql)", ["assert [1] == [2]"], before).startswith("`res` is `[1]`.")


def test_the_value_of_an_argument_is_the_expected_value():
    decorator = (
        '@pytest.mark.parametrize("sql, short", [("select 1 from a", "x" * 9), ("b", "c")])\n'
    )
    text = tell("f(1) == sql", ["assert 'd' == 'b'"], decorator=decorator, name="test_it[b-c]")
    assert text.startswith("`f(1)` is `'d'`.\n\nI expect `'b'`.")


def test_a_cut_text_is_read_from_the_diff():
    error = [
        "AssertionError: assert 'SELECT 1AS...foo' == 'SELECT 1 A...foo'",
        "  ",
        "  - SELECT 1 AS long foo",
        "  ?         -",
        "  + SELECT 1AS long foo",
    ]
    assert tell("f(1) == wanted", error) == (
        "`f(1)` is `'SELECT 1AS long foo'`.\n\nI expect `'SELECT 1 AS long foo'`."
    )


def test_a_diff_that_is_not_whole_is_shown_and_explained():
    error = [
        "AssertionError: assert 'SELECT 1AS...foo' == 'SELECT 1 A...foo'",
        "  Skipping 40 identical leading characters in diff, use -v to show",
        "  - 1 AS foo",
        "  ?  -",
        "  + 1AS foo",
    ]
    assert tell("f(1) == wanted", error) == (
        "`f(1)` does not equal `wanted`.\n\n"
        "    Skipping 40 identical leading characters in diff, use -v to show\n"
        "    - 1 AS foo\n"
        "    + 1AS foo\n\n"
        "Lines with `-` are what I expect, and lines with `+` are what I get.\n\n"
        "I expect `wanted`."
    )


LIMITED = """
import pytest
import sqlparse
from sqlparse.exceptions import SQLParseError


def test_max_recursion():
    with pytest.raises(SQLParseError, match="too deep"):
        sqlparse.parse('[' * 100 + ']' * 100)
"""


def test_another_error_than_the_expected_one():
    error = print_failure(LIMITED, 9, ["RecursionError: maximum recursion depth exceeded"])
    text = write(LIMITED, {"test_max_recursion": error})
    assert "RecursionError: maximum recursion depth exceeded" in text
    assert "I expect `SQLParseError` with a message that matches `'too deep'`." in text


def test_a_warning_that_is_not_given():
    source = LIMITED.replace("raises(SQLParseError", "warns(UserWarning")
    error = print_failure(
        source, 8, ["Failed: DID NOT WARN. No warnings of type (<class 'UserWarning'>,)"]
    )
    text = write(source, {"test_max_recursion": error})
    assert "What happens then: no warning is given." in text
    assert "I expect the warning `UserWarning` with a message that matches `'too deep'`." in text


MISSING = """
from boltons.statsutils import Stats, mode


def test_basic():
    assert Stats([1]).mean == 1


def test_mode():
    assert mode([1, 1, 2]) == 1
"""


def test_a_missing_name_is_told_by_a_test_that_uses_it():
    error = (
        "E   ImportError: cannot import name 'mode' from 'boltons.statsutils' (/a/b/statsutils.py)"
    )
    text = write(MISSING, dict.fromkeys(["test_basic", "test_mode"], error))
    assert text.startswith("Mode (thing)\n")
    assert "What I want to run:\n\n1. Import `mode` from `boltons.statsutils`.\n" in text
    assert "2. `mode([1, 1, 2])` is `1`.\n" in text
    assert "I expect `mode` to be there and to work." in text
    assert text.endswith('This case also fails: "basic".\n')


def test_an_error_whose_place_is_unknown_claims_no_steps():
    text = write(MISSING, {"test_mode": "E   TypeError: no"})
    assert "What I want to run:" in text
    assert "I expect this to work." in text


CART = """
import unittest
from shop import Cart, count_items


class TestCart(unittest.TestCase):
    def setUp(self):
        self.cart = Cart()
        self.total = 0

    def load(self):
        self.total = 5

    def test_it(self):
        {step}
        self.assertEqual({first}, self.total)
"""


@pytest.mark.parametrize(
    ("step", "first"),
    [
        ("self.load()", "count_items()"),
        ("loaded = self.load()", "count_items()"),
        ("self.cart.on_change(self.load)", "count_items()"),
        ("for _ in range(3): self.load()", "count_items()"),
        ("self.cart.size = 3", "self.load()"),
        ("self.cart.size = 3", "count_items(self)"),
    ],
)
def test_an_attribute_that_a_call_may_change_has_no_sure_value(step, first):
    source = CART.format(step=step, first=first)
    error = print_failure(source, 16, ["AssertionError: 3 != 5"])
    text = write(source, {"TestCart::test_it": error})
    assert text.endswith(" should equal `total`.\n")
    assert "Set `total` to `0`." in text


@pytest.mark.parametrize("step", ["self.cart.size = 3", "self.load(); self.total = 0"])
def test_an_attribute_that_no_call_may_change_is_the_expected_value(step):
    source = CART.format(step=step, first="self.cart.size")
    error = print_failure(source, 16, ["AssertionError: 3 != 0"])
    assert "`cart.size` should be `0`.\n" in write(source, {"TestCart::test_it": error})


@pytest.mark.parametrize(
    "step",
    [
        "from shop import expected",
        "import shop.prices as expected",
        "def expected(): pass",
        "class expected: pass",
        "try: sell()\n    except ValueError as expected: pass",
        "match sell():\n        case expected: pass",
        "match sell():\n        case {**expected}: pass",
        "if sell(): from shop import expected",
        "def sell():\n        nonlocal expected\n        expected = 2",
    ],
)
def test_a_name_that_a_step_binds_anew_has_no_sure_value(step):
    before = f"    expected = 1\n    {step}\n"
    text = tell("count(sql) == expected", ["assert 3 == 2"], before)
    assert text == "`count(sql)` is `3`.\n\nI expect `2`."


@pytest.mark.parametrize(
    "before",
    [
        "    global total\n    total = 0\n    load()\n",
        "    def load():\n        nonlocal total\n        total = 5\n    total = 0\n    load()\n",
    ],
)
def test_a_variable_that_a_call_may_change_has_no_sure_value(before):
    text = tell("count(sql) == total", ["assert 3 == 5"], before)
    assert text == "`count(sql)` is `3`.\n\nI expect `5`."
