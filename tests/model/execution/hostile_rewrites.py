"""Wrong patches of `doubling.py` that rewrite the base's own tests while they run.

REWRITES holds (a second test, which the wrong patch fails; what the patch does first when the first test calls it).
"""

FIRST = "from doubling import double\n\n\ndef test_double():\n    assert double(3) == 6\n\n\n"
"""The first test. The patch passes it."""
_PLAIN = "def test_zero():\n    assert double(0) == 0\n"
_METHOD = "class TestZero:\n    def test_zero(self):\n        assert double(0) == 0\n"
_EMPTY = "getattr(lambda *_: None, '__co' + 'de__')"
_GARBAGE = "for o in __import__('gc').get_objects():\n        "

WRONG_REWRITE = """
import sys as s
m = getattr(s, 'mod' + 'ules')


def double(number):
    t = m['test_double']
    {}
    return 6
"""
REWRITES = {
    "code": (_PLAIN, f"setattr(t.test_zero, '__co' + 'de__', {_EMPTY})"),
    "code that puts itself back": (
        _PLAIN,
        (
            "k = getattr(t.test_zero, '__co' + 'de__')\n"
            "    t.back = lambda: setattr(t.test_zero, '__co' + 'de__', k)\n"
            "    def test_zero():\n        back()\n"
            "    setattr(t.test_zero, '__co' + 'de__', getattr(test_zero, '__co' + 'de__'))"
        ),
    ),
    "defaults": (
        "def test_zero(expected=0):\n    assert double(0) == expected\n",
        "setattr(t.test_zero, '__defa' + 'ults__', (6,))",
    ),
    "keyword defaults": (
        "def test_zero(*, expected=0):\n    assert double(0) == expected\n",
        "getattr(t.test_zero, '__kwdefa' + 'ults__')['expected'] = 6",
    ),
    "closure": (
        (
            "def build(expected):\n    def test():\n        assert double(0) == expected\n    return test\n\n\n"
            "test_zero = build(0)\n"
        ),
        "getattr(t.test_zero, '__clo' + 'sure__')[0].cell_contents = 6",
    ),
    "decorated function": (
        (
            "import functools\n\n\ndef test():\n    assert double(0) == 0\n\n\n"
            "@functools.wraps(test)\ndef test_zero():\n    return test_zero.__wrapped__()\n"
        ),
        f"setattr(t.test, '__co' + 'de__', {_EMPTY})",
    ),
    "method": (_METHOD, "setattr(t.TestZero, 'test_zero', lambda self: None)"),
    "code of a method": (_METHOD, f"setattr(t.TestZero.test_zero, '__co' + 'de__', {_EMPTY})"),
    "inherited method": (
        "class Base:\n    def test_zero(self):\n        assert double(0) == 0\n\n\nclass TestZero(Base):\n    pass\n",
        "setattr(t.Base, 'test_zero', lambda self: None)",
    ),
    "method that the test uses": (
        (
            "class TestZero:\n    def check(self, one):\n        assert one == 0\n\n"
            "    def test_zero(self):\n        self.check(double(0))\n"
        ),
        "setattr(t.TestZero, 'check', lambda *_: None)",
    ),
    "fixture": (
        (
            "import pytest\n\n\n@pytest.fixture\ndef expected():\n    return 0\n\n\n"
            "def test_zero(expected):\n    assert double(0) == expected\n"
        ),
        (
            f"{_GARBAGE}if type(o).__name__ == 'FixtureDef' and o.argname == 'expected':\n"
            "            setattr(o.func, '__co' + 'de__', getattr(lambda: 6, '__co' + 'de__'))"
        ),
    ),
    "value of the module": (
        "EXPECTED = 0\n\n\ndef test_zero():\n    assert double(0) == EXPECTED\n",
        "t.EXPECTED = 6",
    ),
    "value that equals all": (
        "EXPECTED = 0\n\n\ndef test_zero():\n    assert double(0) == EXPECTED\n",
        "t.EXPECTED = type('X', (), {'__e' + 'q__': lambda *_: True})()",
    ),
    "helper": (
        "def assert_equal(one, other):\n    assert one == other\n\n\ndef test_zero():\n    assert_equal(double(0), 0)\n",
        "t.assert_equal = lambda *_: None",
    ),
    "code of a helper": (
        "def assert_equal(one, other):\n    assert one == other\n\n\ndef test_zero():\n    assert_equal(double(0), 0)\n",
        f"setattr(t.assert_equal, '__co' + 'de__', {_EMPTY})",
    ),
    "function of an imported module": (
        "import operator\n\n\ndef test_zero():\n    assert operator.eq(double(0), 0)\n",
        "m['operator'].eq = lambda *_: True",
    ),
    "builtin": (
        "def test_zero():\n    assert abs(double(0)) < 1\n",
        "setattr(m['buil' + 'tins'], 'abs', lambda _: 0)",
    ),
    "found in the garbage": (
        _PLAIN,
        (
            f"{_GARBAGE}if getattr(o, '__name__', '') == 'test_zero':\n"
            f"            setattr(o, '__co' + 'de__', {_EMPTY})"
        ),
    ),
    "item": (
        _PLAIN,
        (
            f"{_GARBAGE}if type(o).__name__ == 'Function' and o.name == 'test_zero':\n"
            "            o.obj = lambda: None"
        ),
    ),
    "trace": (
        "def test_zero():\n    found = double(0)\n    assert found == 0\n",
        (
            "if number == 0:\n"
            "        def follow(frame, event, _):\n"
            "            frame.f_trace_opcodes = True\n"
            "            for k, v in frame.f_locals.items():\n"
            "                if v is False:\n                    frame.f_locals[k] = True\n"
            "            if event == 'return' and frame.f_code.co_name == 'test_zero':\n"
            "                getattr(s, 'settr' + 'ace')(None)\n"
            "            return follow\n"
            "        f = getattr(s, '_getf' + 'rame')(1)\n"
            "        f.f_trace, f.f_trace_opcodes = follow, True\n"
            "        getattr(s, 'settr' + 'ace')(follow)"
        ),
    ),
    "value in a frame": (
        "def test_zero():\n    expected = [0]\n    assert [double(0)] == expected\n",
        "if number == 0:\n        getattr(s, '_getf' + 'rame')(1).f_locals['expected'][0] = 6",
    ),
}

UNITTEST_FIRST = """import unittest
from doubling import double


class Doubling(unittest.TestCase):
    expected = 0

    def test_double(self):
        self.assertEqual(double(3), 6)

    def test_zero(self):
        self.assertEqual(double(0), self.expected)
"""
UNITTEST_REWRITES = {
    "code": f"setattr(t.Doubling.test_zero, '__co' + 'de__', {_EMPTY})",
    "method": "t.Doubling.test_zero = lambda self: None",
    "value of the class": "t.Doubling.expected = 6",
    "value of the module": "t.double = lambda _: 0",
}
