"""Which broken tests does a patch rewrite itself?"""

import pytest

from model.errors import NoReader
from model.execution.regression import RegressionEvidence, describe_regression
from model.execution.screening import rewritten_tests
from model.execution.screening.rewritten_tests import list_rewritten, mark_rewritten
from model.execution.tree_changes import TreeChanges

OLD = b"""
import pytest


@pytest.mark.parametrize("number", [1, 2])
def test_double(number):
    assert double(number) == 2 * number


class TestMore:
    def test_zero(self):
        assert double(0) == 0

    def test_one(self):
        assert double(1) == 2


def test_last():
    pass
"""
PATH = "tests/test_double.py"
TESTS = (
    f"{PATH}::test_double[1]",
    f"{PATH}::test_double[2]",
    f"{PATH}::TestMore::test_zero",
    f"{PATH}::TestMore::test_one",
    f"{PATH}::test_last",
)
DOUBLE, ZERO = set(TESTS[:2]), {TESTS[2]}


def change(old, new):
    assert old in OLD
    return TreeChanges({PATH: OLD.replace(old, new)}, before={PATH: OLD})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (change(b"== 2 * number", b"== 3 * number"), DOUBLE),
        (change(b"[1, 2]", b"[1, 3]"), DOUBLE),
        (change(b"assert double(0) == 0", b"assert double(0) is None"), ZERO),
        (change(b"def test_zero", b"def test_nothing"), ZERO),
        (change(b"    pass\n", b"    pass\n\n\ndef test_new():\n    assert 0\n"), set()),
        (change(b"    pass", b"        pass"), set()),
        (change(b"import pytest\n", b"import pytest\nimport re\n"), set()),
        (change(b"    pass", b"    pass ("), set()),
        (TreeChanges({}, (PATH,), {PATH: OLD}), set(TESTS)),
        (TreeChanges({"tests/test_new.py": OLD}), set()),
        (TreeChanges({"other.py": b""}, before={"other.py": OLD}), set()),
        (TreeChanges({PATH: b"x" * 600_000}, before={PATH: OLD}), set()),
    ],
    ids=[
        *("assertion", "parameters", "method", "renamed", "added", "white space", "import"),
        *("broken syntax", "deleted file", "new file", "other file", "too large"),
    ],
)
def test_a_test_counts_as_rewritten_when_its_own_function_differs(changes, expected):
    assert set(list_rewritten(TESTS, changes)) == expected


DATA = b"""
from shop import price

CASES = [
    (1, 2),
    (3, 4),
]
NAMES: dict[str, int] = {"a": 1}
TEXT = '''first
second
'''


@pytest.mark.parametrize(("count", "expected"), CASES)
def test_price(count, expected):
    assert price(count) == expected


def test_names():
    assert price(NAMES["a"]) == 1


def test_text():
    assert price(TEXT) == TEXT.CASES_MORE
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"(3, 4)", b"(3, 5)", {"test_price[1]"}),
        (b"    (3, 4),\n", b"", {"test_price[1]"}),
        (b"(1, 2),\n    (3, 4)", b"(1, 2), (3, 4)", set()),
        (b"from shop", b"# the shop\nfrom shop", set()),
        (b'{"a": 1}', b'{"a": 2}', {"test_names"}),
        (b"TEXT = '''first", b"TEXT = '''last", {"test_text"}),
        (b"import price", b"import price, cost", set()),
    ],
    ids=["case", "removed case", "white space", "comment", "annotated", "text", "import"],
)
def test_a_test_counts_as_rewritten_when_its_module_gives_it_other_data(old, new, expected):
    tests = [f"test_shop.py::{name}" for name in ("test_price[1]", "test_names", "test_text")]
    assert old in DATA
    changes = TreeChanges({"test_shop.py": DATA.replace(old, new)}, before={"test_shop.py": DATA})
    assert set(list_rewritten(tests, changes)) == {f"test_shop.py::{name}" for name in expected}


def test_added_cases_count_too():
    text = b"CASES = []\nCASES += [1]\n\n\ndef test_all():\n    assert CASES\n"
    changes = TreeChanges({"t.py": text.replace(b"[1]", b"[2]")}, before={"t.py": text})
    assert list(list_rewritten(["t.py::test_all"], changes)) == ["t.py::test_all"]


def test_the_exact_path_of_a_test_counts_before_a_longer_one(tmp_path):
    path, longer = "tests/test_x.py", "plugins/a/tests/test_x.py"
    old, new = b"def test_y():\n    assert 1\n", b"def test_y():\n    assert 2\n"
    ids = [f"{path}::test_y", "tests.test_x.test_y", "tests.test_x::test_y"]
    changes = TreeChanges({longer: new}, before={longer: old})
    assert list(list_rewritten(ids, changes, tmp_path)) == ids
    both = TreeChanges({longer: new, path: old + b"\n"}, before={longer: old, path: old})
    assert list(list_rewritten(ids, both)) == []
    (tmp_path / "tests").mkdir()
    (tmp_path / path).write_bytes(old)
    assert list(list_rewritten(ids, changes, tmp_path)) == []
    assert list(list_rewritten([f"{longer}::test_y"], changes, tmp_path)) == [f"{longer}::test_y"]
    evidence = RegressionEvidence(tuple(ids), 9)
    assert mark_rewritten(evidence, changes, tmp_path) == evidence
    assert list(list_rewritten([f"{'x' * 5000}/test_x.py::test_y"], changes, tmp_path)) == []


def test_only_files_that_the_tests_name_are_read():
    sources = {f"src/a{number}.py": b"a = 1\n" for number in range(60)}
    changes = change(b"== 2 * number", b"== 3 * number")
    written = dict.fromkeys(sources, b"a = 2\n")
    many = TreeChanges({**written, **changes.written}, before={**sources, **changes.before})
    assert set(list_rewritten(TESTS, many)) == DOUBLE


HOSTILE = {
    "nested deeply": b"x = " + b"-" * 7_000 + b"1\n",
    "long sum": b"x = 1" + b"+1" * 30_000 + b"\n",
    "long number": b"x = 0x" + b"f" * 9_000 + b"\n",
    "large": b"x = 1\n" * 40_000,
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_module_without_readable_syntax_is_compared_by_its_words(hostile):
    before, after = (
        OLD.replace(b"== 2 * number", text) + hostile for text in (b"== 2 * number", b"== 3")
    )
    changes = TreeChanges({PATH: after}, before={PATH: before})
    assert set(list_rewritten(TESTS, changes)) == DOUBLE


def test_modules_beyond_the_limit_in_all_are_compared_by_their_words(monkeypatch):
    text = b"def test_all():\n    assert 1\n"
    after = text.replace(b"assert 1", b"# hi\n    assert 1")
    monkeypatch.setattr(rewritten_tests, "_SYNTAX_BYTES", 2 * len(text + after))
    paths = ["t1.py", "t2.py", "t3.py"]
    changes = TreeChanges(dict.fromkeys(paths, after), before=dict.fromkeys(paths, text))
    # A comment counts where words are compared.
    assert list(list_rewritten([f"{path}::test_all" for path in paths], changes)) == [
        "t3.py::test_all"
    ]


def test_without_a_reader_the_evidence_stays_as_it_is(monkeypatch, caplog):
    def refuse(*_):
        raise NoReader("no process starts")

    monkeypatch.setattr(rewritten_tests, "read_all", refuse)
    evidence = RegressionEvidence(TESTS[1:3], 9)
    assert mark_rewritten(evidence, change(b"    pass", b"    pass (")) == evidence
    assert "no process starts" in caplog.text


def test_ids_of_unittest_may_begin_in_a_folder_of_the_tree():
    tests = ("test_double.TestMore.test_zero", "tests.test_double.TestMore.test_one", "test_zero")
    changes = change(b"assert double(0) == 0", b"assert double(0) is None")
    assert list(list_rewritten(tests, changes)) == [tests[0]]


def test_a_patch_that_breaks_only_what_it_rewrites_is_neither_right_nor_wrong():
    evidence = RegressionEvidence(TESTS[1:3], 9)
    assert evidence.passes is False
    part = mark_rewritten(evidence, change(b"assert double(0) == 0", b"assert double(0) is None"))
    assert (part.rewritten, part.is_disputed, part.passes) == ((TESTS[2],), False, False)
    assert describe_regression(part) == (
        "breaks 2 of 9 tests that pass on the base, and rewrites or removes 1 of them itself: "
        f"{TESTS[1]}, {TESTS[2]}"
    )
    whole = mark_rewritten(part, change(b"== 2 * number", b"== 3 * number"))
    assert (set(whole.rewritten), whole.is_disputed, whole.passes) == (set(TESTS[1:3]), True, None)
    assert whole.broken == evidence.broken
