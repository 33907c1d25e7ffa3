"""Which tests does a changed value or function rewrite, by the syntax of their module?"""

import re
import time

import pytest

from model.execution.screening.module_syntax import read_syntax
from model.execution.screening.rewritten_tests import list_rewritten
from model.execution.tree_changes import TreeChanges

VALUES = b"""
A, B = 1, 2
C = D = [1]
E = {"a": 1}
E["b"] = 2
F.limit = 3
G, H = pair()
if A:
    NESTED = 1


def test_a():
    '''It is about B.'''
    assert A


def test_b():
    assert B


def test_c(H):
    for D in range(2):
        assert [F for F in [D]]
    assert C


def test_d():
    assert all(D for A in [1])


class TestE:
    def test_e(self):
        assert check(lambda B: B, E)


def test_f(limit=F):
    def inner(A):
        return A

    assert inner(limit)


def test_g():
    assert G


@mark(NESTED)
def test_nested():
    pass
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"A, B = 1, 2", b"A, B = 1, 3", {"test_b"}),
        (b"A, B = 1, 2", b"A, B = 0, 2", {"test_a"}),
        (b"C = D = [1]", b"C = D = [2]", {"test_c", "test_d"}),
        (b'E["b"] = 2', b'E["b"] = 3', {"TestE::test_e"}),
        (b'E["b"] = 2', b'E["c"] = 2', {"TestE::test_e"}),
        (b"F.limit = 3", b"F.limit = 4", {"test_f"}),
        (b"G, H = pair()", b"H, G = pair()", {"test_g"}),
        (b"NESTED = 1", b"NESTED = 2", {"test_nested"}),
        (b"It is about B", b"It is about A", set()),
        (b"    assert B", b"    # hi\n    assert B", set()),
    ],
    ids=[
        *("second of a pair", "first of a pair", "two targets", "item", "key", "attribute"),
        *("unpacked", "in a block", "docstring", "comment"),
    ],
)
def test_a_value_counts_for_the_tests_that_read_it_from_the_module(old, new, expected):
    names = re.findall("test_[a-z]+", VALUES.decode())
    tests = [f"t.py::{'TestE::' * (name == 'test_e')}{name}" for name in names]
    assert old in VALUES
    changes = TreeChanges({"t.py": VALUES.replace(old, new)}, before={"t.py": VALUES})
    assert set(list_rewritten(tests, changes)) == {f"t.py::{name}" for name in expected}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    assert f() == "a b"', '    assert f() == "a  b"'),
        ("    for x in []:\n        assert x", "    for x in []:\n        pass\n    assert x"),
        (
            "    for x in y:\n        f(x)\n        assert x",
            "    for x in y:\n        f(x)\n    assert x",
        ),
    ],
    ids=["space in a text", "moved", "dedented"],
)
def test_white_space_that_changes_behaviour_counts(old, new):
    before, after = (f"def test_all():\n{body}\n".encode() for body in (old, new))
    changes = TreeChanges({"t.py": after}, before={"t.py": before})
    assert list(list_rewritten(["t.py::test_all"], changes)) == ["t.py::test_all"]


def test_a_name_that_the_test_binds_itself_is_no_value_of_the_module():
    bindings = (
        *("x = 1", "import x", "import x.y", "from y import z as x", "def x(): pass", "class x: 0"),
        *("with y as x: pass", "for x in y: pass", "x += 1", "(x := 1)", "del x"),
        "try: pass\n    except OSError as x: pass",
        *(f"match y:\n        case {case}: pass" for case in ("x", "[*x]", "{**x}", "[1] as x")),
    )
    for binding in bindings:
        before = f"x = 1\n\n\ndef test_all():\n    {binding}\n    assert x\n".encode()
        changes = TreeChanges(
            {"t.py": before.replace(b"x = 1", b"x = 2", 1)}, before={"t.py": before}
        )
        assert list(list_rewritten(["t.py::test_all"], changes)) == [], binding
    stated = before.replace(b"    match", b"    global x\n    match")
    changes = TreeChanges({"t.py": stated.replace(b"x = 1", b"x = 2", 1)}, before={"t.py": stated})
    assert list(list_rewritten(["t.py::test_all"], changes)) == ["t.py::test_all"]


@pytest.mark.parametrize(
    "text",
    [
        b"x = (",
        b"x = " + b"-" * 7_000 + b"1",
        b"x = 1" + b"+1" * 5_000,
        b"x = 0x" + b"f" * 9_000,
        b"\0",
    ],
    ids=["broken", "nested deeply", "long sum", "long number", "binary"],
)
def test_a_module_that_cannot_be_read_has_no_syntax(text):
    assert read_syntax(text, frozenset()) is None


@pytest.mark.parametrize(
    "hostile",
    [
        b"=".join(b"x%d" % number for number in range(8_000)) + b"=[" + b"1," * 20_000 + b"]\n",
        b"def test_all():\n  " + b"lambda:" * 200 + b"f(" + b"y," * 40_000 + b")\n",
        b"def test_all(): return " + b"[y for x in " * 80 + b"y" + b"]" * 80 + b"\n",
        b"def test_all():\n" + b" x = lambda: y\n" * 4_000,
        b"class C:\n" + b" def test_all(self): y\n" * 2_500,
    ],
    ids=["targets", "lambdas", "comprehensions", "scopes", "methods"],
)
def test_a_hostile_module_takes_little_time(hostile):
    started = time.process_time()
    before = b"y = 1\n" + hostile
    changes = TreeChanges({"t.py": before.replace(b"y = 1", b"y = 2")}, before={"t.py": before})
    list(list_rewritten(["t.py::test_all", "t.py::C::test_all"], changes))
    assert time.process_time() - started < 20
