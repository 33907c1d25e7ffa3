"""Which new methods can compare equal without a look at both values?"""

import pytest

from model.domain import Patch, PatchId
from model.execution import candidate_tests
from model.execution.screening.equality_screening import find_blind_equality
from model.execution.screening.patch_screening import keep_code
from model.execution.tree_changes import TreeChanges
from tests.model.execution.conftest import CODE, write_diff
from tests.model.execution.hostile_patches import EQUAL, HIDDEN_EQUAL

HONEST = {
    "value": "class A:\n    def __eq__(self, other):\n        return self.x == other.x\n",
    "type first": (
        "class A:\n    def __eq__(self, other):\n        if not isinstance(other, A):\n            return NotImplemented\n"
        "        return True\n"
    ),
    "all of one class": (
        "class A:\n    def __eq__(self, other):\n        return isinstance(other, A)\n"
        "    def __ne__(self, other):\n        return not isinstance(other, A)\n"
    ),
    "looks elsewhere": "class A:\n    def __contains__(self, item):\n        return item in REGISTRY\n",
    "identity": "class A:\n    def __eq__(self, other):\n        return other is self\n",
    "never": "class A:\n    def __eq__(self, other):\n        return False\n",
    "never, other word": "class A:\n    def __ne__(self, other):\n        return True\n",
    "not implemented": "class A:\n    def __eq__(self, other):\n        return NotImplemented\n",
    "refused": "class A:\n    def __eq__(self, other):\n        raise TypeError('no')\n",
    "refused membership": "class A:\n    def __contains__(self, item):\n        raise TypeError\n",
    "abstract": "class A:\n    def __eq__(self, other): ...\n",
    "unequal": "class A:\n    def __ne__(self, other):\n        return not self == other\n",
    "search": (
        "class A:\n    def __contains__(self, item):\n        for one in self:\n            if one == item:\n"
        "                return True\n        return False\n"
    ),
    "attempt": (
        "class A:\n    def __contains__(self, key):\n        try:\n            self[key]\n"
        "        except KeyError:\n            return False\n        return True\n"
    ),
    "half": "class A:\n    def __eq__(self, other):\n        if other.x == self.x:\n            return True\n",
    "passed on": "class A(int):\n    def __eq__(self, *rest):\n        return super().__eq__(*rest)\n",
    "lambda": "class A:\n    __eq__ = lambda self, other: self.x == other.x\n",
    "function beside a blind method of its name": (
        "def same(one, other):\n    return one.x == other.x\nclass A:\n    __eq__ = same\n"
        "class B:\n    def same(self, other):\n        return True\n"
    ),
    "of the parent": "class A(B):\n    __eq__ = B.__eq__\n",
    "no hash": "class A:\n    __eq__ = _compare(lambda a, b: a == b)\n    __hash__ = None\n",
    "ordering": (
        "import functools\n@functools.total_ordering\nclass A:\n    def __eq__(self, other):\n        return self.x == other.x\n"
        "    def __lt__(self, other):\n        return self.x < other.x\n"
    ),
    "greatest": "class A:\n    def __gt__(self, other):\n        return True\n    def __lt__(self, other):\n        return False\n",
    "data class": "from dataclasses import dataclass\n@dataclass(eq=True)\nclass A:\n    x: int\n",
    "other language": "class A { __eq__ }",
}
ANY = "class Any:\n    def __eq__(self, other):\n        return True\n"


def find(module, before="", path="doubling.py"):
    old = {path: before.encode()} if before else {}
    return find_blind_equality(keep_code(TreeChanges({path: module.encode()}, before=old)))


@pytest.mark.parametrize("name", EQUAL)
def test_a_method_that_calls_everything_equal_is_found(name):
    assert find(EQUAL[name])


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_method_is_not_found(name):
    assert find(HONEST[name], path="a.txt" if name == "other language" else "a.py") is None


@pytest.mark.parametrize("name", HIDDEN_EQUAL)
def test_a_method_that_hides_is_a_known_limit(name):
    assert find(HIDDEN_EQUAL[name]) is None


def test_the_class_and_the_method_are_named():
    assert find(ANY) == "Any.__eq__"


def test_a_class_of_the_base_is_not_found_wherever_it_stands():
    assert find(f"{ANY}    def __repr__(self):\n        return '*'\n\nx = 1\n", ANY) is None
    moved = TreeChanges({"new.py": ANY.encode()}, ("old.py",), {"old.py": ANY.encode()})
    assert find_blind_equality(moved) is None


def test_a_method_of_the_base_that_becomes_blind_is_found():
    assert find(ANY, HONEST["value"].replace("class A", "class Any")) == "Any.__eq__"


def test_a_changed_test_is_not_looked_at():
    assert find(ANY, path="tests/test_new.py") is None
    assert find(ANY, path="tests/objects.py") is None


@pytest.mark.parametrize("text", ["class A(\n", f"x = '{'x' * 2**21}'\n"], ids=["broken", "large"])
def test_a_file_that_cannot_be_read_is_found_where_a_new_line_names_a_method(text):
    assert find(text + ANY) == "doubling.py"
    assert find(text + ANY, text + ANY + "x = 1\n") is None
    assert find(text) is None


def test_deep_code_is_not_read_for_ever():
    assert find(f"__eq__ = {'(' * 10_000}\n") == "doubling.py"
    assert find(f"__eq__ = {'-' * 50_000}1\n") == "doubling.py"
    assert find(f"def __eq__(self, other):\n    return {'-' * 2_000}1\n") == "doubling.py"


def test_a_key_that_is_no_text_is_no_method():
    assert find("x = {1: lambda: 1, None: lambda: 2, **{}}  # __eq__\nx[0] = lambda: 1\n") is None


@pytest.mark.parametrize("name", EQUAL)
def test_what_the_tests_say_of_such_a_patch_is_unknown(tree, name):
    patch = Patch(PatchId("#1"), write_diff("doubling.py", CODE, EQUAL[name]))
    reason = candidate_tests.prepare_changes(tree, patch)
    assert isinstance(reason, str)
    assert "new code compares equal without a look at both values: " in reason


def test_files_that_take_long_to_parse_are_unknown_and_not_parsed():
    """Python's parser takes quadratic time for an f-string: these would take half an hour."""
    slow = f'{ANY}x = f"{"{a}" * 350_000}"\n'.encode()
    written = {f"a{number}.py": slow for number in range(8)}
    assert find_blind_equality(TreeChanges(written)) == "a0.py"
    many = {f"a{number}.py": HONEST["value"].encode() + b"#" * 120_000 for number in range(5)}
    assert find_blind_equality(TreeChanges(many)) == "a4.py"


def test_a_function_of_many_methods_is_described_once():
    """Describing it for each of them would take minutes and gigabytes."""
    function = (
        "def same(one, other):\n    if one: return one.x == other.x\n" + "    one = other\n" * 3_000
    )
    code = f"{function}    return one is other\n" + "a.__eq__ = same\n" * 4_000
    assert find(code) is None
