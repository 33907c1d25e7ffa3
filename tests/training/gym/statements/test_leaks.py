"""A statement holds no added line of the test patch, and still tells what it can."""

from tests.training.gym.statements.samples import PATCH, add_file, print_failure, write
from training.gym.leak_check import find_leaks
from training.gym.statement import read_sources

SPLIT = '''
import sqlparse

EXPECTED = [
    {"first": "a value of some length"},
    {"second": "another value of some length"},
]


def test_split(load_file):
    sql = """BEGIN TRANSACTION;
DELETE FROM "schema"."table_a" USING "table_a_temp";
END TRANSACTION;"""
    other = load_file("data_of_test.sql")
    db.insert({'foo': 'bar', 'int': 1})
    formatted = sqlparse.format(sql, other,
                                keyword_case='upper')
    def make_it(number):
        """What it makes."""
        return number * 10 + number * 100

    make_it(formatted)
    assert formatted == EXPECTED
'''
PATH = "tests/test_it.py"


def tell(*more):
    patch = "".join([add_file(PATH, SPLIT), add_file("tests/data_of_test.sql", "x"), *more])
    text = write(
        SPLIT,
        {"test_split": print_failure(SPLIT, 23, ["assert [] == [{'a...}]"])},
        test_patch=patch,
    )
    assert find_leaks(text, PATCH, patch) == ()
    return text


def test_lines_of_the_test_are_told_in_other_words():
    text = tell()
    for step in (
        'Set `sql` to a text of 3 lines (`BEGIN TRANSACTION;`, `DELETE FROM "schema"."tabl…` and `END TRANSACTION;`).',
        "Set `other` to `load_file(...)`.",
        "Call `db.insert` with `{'foo': 'bar', 'int': 1}`.",
        "Set `formatted` to the result of `sqlparse.format` with `sql`, `other` and `keyword_case='upper'`.",
        "Define `make_it(number)` (return `number * 10 + number * 100`).",
    ):  # fmt: skip
        assert step in text


def test_what_cannot_be_told_is_named():
    """The lines of these files are each way to say a step."""
    assert "Define `make_it(number)`, whose steps are left out here." in tell(
        add_file("tests/more.txt", "number * 10 + number * 100")
    )
    assert "Make `other` (I leave out how)." in tell(
        add_file("tests/more.txt", "Set `other` to `load_file")
    )


def test_the_kind_of_quotes_does_not_hide_a_leak():
    patch = add_file(PATH, 'db.table("persisted", persist_empty=True)')
    assert find_leaks("db.table('persisted',  persist_empty=True)", PATCH, patch)
    source = 'def test_it():\n    db.table("persisted", persist_empty=True)\n'
    text = write(source, {"test_it": print_failure(source, 2, ["TypeError: no"])})
    assert "Call `db.table` with `'persisted'` and `persist_empty=True`." in text


def test_sources_are_modules_and_what_may_hold_their_fixtures():
    files = {"tests/conftest.py": b"near", "tests/test_old.py": b"old", "src/conftest.py": b"far"}
    tests = ["tests/deep/test_new.py::test_a", "tests/test_old.py::test_b[x]", "gone.py::test_c"]
    assert read_sources(tests, {"tests/deep/test_new.py": b"new\xff"}, files.get) == {
        "tests/deep/test_new.py": "new\ufffd",
        "tests/conftest.py": "near",
        "tests/test_old.py": "old",
    }
    large = {"tests/test_old.py": b"x" * 3_000_000}
    assert read_sources(tests[1:2], large, files.get) == {"tests/conftest.py": "near"}


LEAKY = """\
def test_it(client):
    for some_long_name in client.list_names("persisted"):
        assert client.read(some_long_name, "persisted") == some_long_name
        client.drop_table("persisted", some_long_name)
"""


def test_lines_of_a_loop_are_told_in_other_words():
    told = [
        "For each `some_long_name` of `client.list_names('persisted')`:",
        "Check that `client.read(some_long_name, 'persisted')` equals `some_long_name`",
        "- Call `client.drop_table('persisted', some_long_name)`.",
    ]
    patch = add_file("tests/test_it.py", LEAKY) + add_file("more.txt", "\n".join(told))
    error = print_failure(LEAKY, 3, ["AssertionError: assert 1 == 2"])
    text = write(LEAKY, {"test_it": error}, test_patch=patch)
    assert find_leaks(text, PATCH, patch) == ()
    assert (
        "1. For each `some_long_name` of the result of `client.list_names` with `'persisted'`:\n"
        in text
    )
    assert "this goes wrong in one of the rounds.\n" in text
    assert "    - Call `client.drop_table` with `'persisted'` and `some_long_name`.\n" in text
