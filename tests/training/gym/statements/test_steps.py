"""A statement tells the steps that a failure depends on, and no others."""

from tests.training.gym.statements.samples import CONFTEST, print_failure, write

CACHE = """
from tinydb.utils import LRUCache


def test_lru_cache_set_update():
    cache = LRUCache(capacity=3)
    cache["a"] = 1
    cache["a"] = 2

    assert cache["a"] == 2
"""


def test_a_failed_comparison_has_its_steps_its_result_and_what_is_expected():
    error = print_failure(CACHE, 10, ["assert 1 == 2"])
    assert (
        write(CACHE, {"test_lru_cache_set_update": error})
        == """\
Lru cache set update (thing)

This case fails: "lru cache set update".

What I run:

1. Import `LRUCache` from `tinydb.utils`.
2. Set `cache` to `LRUCache(capacity=3)`.
3. Set `cache['a']` to `1`.
4. Set `cache['a']` to `2`.

What happens then: `cache['a']` is `1`.

I expect `2`.
"""
    )


DUPLICATE = """
import pytest
from tinydb.table import Document


def test_insert_with_duplicate_doc_id(db):
    db.drop_tables()
    assert db.insert({'int': 1, 'char': 'a'}) == 1

    with pytest.raises(AssertionError):
        db.insert(Document({'int': 1, 'char': 'a'}, 1))
"""


def test_a_missing_error_has_its_call_and_the_steps_of_the_fixture():
    error = print_failure(
        DUPLICATE, 10, ["Failed: DID NOT RAISE AssertionError"], head="db = <TinyDB>"
    )
    text = write(DUPLICATE, {"test_insert_with_duplicate_doc_id[memory]": error}, CONFTEST)
    assert (
        text.partition("What I run:\n\n")[2]
        == """\
1. Import `Document` from `tinydb.table`.
2. Import `TinyDB` from `tinydb`.
3. Import `MemoryStorage` from `tinydb.storages`.
4. Set `db` to `TinyDB(storage=MemoryStorage)`.
5. Call `db.drop_tables()`.
6. Call `db.insert_multiple(({'int': 1, 'char': c} for c in 'abc'))`.
7. Call `db.drop_tables()`.
8. Check that `db.insert({'int': 1, 'char': 'a'})` is `1`.
9. Call `db.insert` with `Document({'int': 1, 'char': 'a'}, 1)`.

What happens then: no error is raised.

I expect `AssertionError`.
"""
    )


REOPENED = """
from tinydb import TinyDB


def test_insert_on_existing_db(tmpdir):
    path = str(tmpdir.join('db.json'))
    db = TinyDB(path, ensure_ascii=False)
    db.insert({'foo': 'bar'})
    db.close()
    other = TinyDB(path + '2')
    number = 3

    db = TinyDB(path, ensure_ascii=False)
    db.insert({'foo': 'bar'})

    assert len(db) == 2
"""


def test_a_file_that_an_earlier_object_wrote_is_not_forgotten():
    text = write(
        REOPENED, {"test_insert_on_existing_db": print_failure(REOPENED, 16, ["assert 1 == 2"])}
    )
    assert "1. Import `TinyDB` from `tinydb`.\n2. Take an empty folder as `tmpdir`.\n" in text
    assert text.count("Set `db` to `TinyDB(path, ensure_ascii=False)`.") == 2
    assert "Call `db.close()`." in text
    assert "number" not in text


PARSED = """
import sqlparse
from sqlparse import sql, tokens as T


def test_grouping(sql):
    p = sqlparse.parse('first')[0]
    assert p.tokens[0].ttype == T.Keyword
    p = sqlparse.parse('foo(5) over win1')[0]
    assert isinstance(p.tokens[0].get_window(), str)
    p = sqlparse.parse('foo(5) over (a)')[0]
    assert len(p.tokens) == 1
    for token in p.tokens:
        assert token.ttype is not None
"""


def test_later_steps_are_what_should_work_after_an_error():
    error = print_failure(
        PARSED, 10, ["AttributeError: 'Function' object has no attribute 'get_window'"]
    )
    text = write(PARSED, {"test_grouping": error})
    assert (
        text.partition("What I run:\n\n")[2]
        == """\
1. Set `p` to `sqlparse.parse('foo(5) over win1')[0]`.
2. Evaluate `isinstance(p.tokens[0].get_window(), str)`.

What happens then:

    AttributeError: 'Function' object has no attribute 'get_window'

I expect no error: `p.tokens[0].get_window()` should be an instance of `str`.

After that, this should work:

- Set `p` to `sqlparse.parse('foo(5) over (a)')[0]`.
- `len(p.tokens)` is `1`.
- For each `token` of `p.tokens`, check that `token.ttype` is not `None`.
"""
    )


COMMAND = """
import click
import pytest

TYPES = ["a"]


def double(number):
    return number * 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("--opt", TYPES, id="first"),
        pytest.param("--other", double(2), id="second"),
        ("--third", 3),
    ],
)
def test_command(runner, monkeypatch, name, value):
    monkeypatch.setattr(click, "isatty", lambda _: True)

    @click.command()
    @click.option(name, "chosen_value", default=value)
    def cli(chosen_value):
        if chosen_value:
            click.echo("it is chosen")
            return
        click.echo("it is not chosen")

    with click.open() as file:
        file.write("text")
    while True:
        break
    try:
        result = runner.invoke(cli, [])
    except (ValueError, KeyError):
        raise
    assert result.exit_code == 0
"""


def test_blocks_decorators_and_values_of_arguments_are_told():
    errors = {
        f"test_command[{name}]": print_failure(COMMAND, 39, ["assert 1 == 0"], head="name = '...'")
        for name in ("first", "second")
    }
    text = write(COMMAND, errors)
    steps = text.partition("What I run:\n\n")[2].partition("\n\n")[0].splitlines()
    assert steps == [
        "1. Set `TYPES` to `['a']`.",
        "2. Set `name` to `'--opt'`.",
        "3. Set `value` to `TYPES`.",
        "4. Call `monkeypatch.setattr` with `click`, `'isatty'` and `lambda _: True`.",
        (
            "5. Define `cli(chosen_value)` decorated by `click.command()` and "
            "`click.option(name, 'chosen_value', default=value)` "
            "(if `chosen_value` is true (call `click.echo` with `'it is chosen'`; return nothing); "
            "call `click.echo` with `'it is not chosen'`)."
        ),
        "6. Enter the context `click.open()` as `file`, call `file.write('text')`.",
        "7. Try this (set `result` to `runner.invoke(cli, [])`); if it raises `(ValueError, KeyError)`, raise the error again.",
    ]
    assert (
        "It fails in the same way with:\n\n- `name` as `'--other'`, `value` as `double(2)`" in text
    )


CONSTANTS = """
import os
import thing

FOLDER = os.path.dirname(__file__)
PATH = FOLDER + '/data.txt'


def test_only():
    item, = thing.read(PATH)
    assert item.name == 'a'
"""


def test_definitions_bring_those_that_they_need():
    error = print_failure(CONSTANTS, 11, ["assert 'b' == 'a'"])
    text = write(CONSTANTS, {"test_only": error})
    assert (
        text.partition("What I run:\n\n")[2].partition("\n\n")[0]
        == """\
1. Set `FOLDER` to `os.path.dirname(__file__)`.
2. Set `PATH` to `FOLDER + '/data.txt'`.
3. Set `item` to the only item of `thing.read(PATH)`."""
    )


UNITTEST = """
import unittest
from thing import Box


class TestBox(unittest.TestCase):
    def setUp(self):
        self.box = Box()

    def test_size(self):
        self.box.add(3)
        self.assertEqual(self.box.size, 1)
        self.assertTrue(self.box.is_full)
"""


def test_methods_of_unittest_are_told_without_self():
    error = print_failure(UNITTEST, 12, ["AssertionError: 0 != 1"])
    text = write(UNITTEST, {"TestBox::test_size": error})
    assert "2. Set `box` to `Box()`.\n3. Call `box.add(3)`.\n" in text
    assert "I expect no error: `box.size` should be `1`." in text
    assert "- `box.is_full` is true." in text


def test_a_test_whose_source_is_unknown_has_the_call_of_its_failure():
    error = "    print 'x'\n>       thing.run(1)\nE       ValueError: no\n\ntests/test_it.py:2: ValueError"
    text = write("print 'x'\n", {"test_old": error})
    assert "1. Call `thing.run(1)`." in text
    assert "ValueError: no" in text


def test_a_long_test_keeps_its_beginning_and_its_end():
    body = "".join(f"    things.append({number})\n" for number in range(30))
    source = f"def test_long():\n    things = []\n{body}    assert things == 1\n"
    text = write(source, {"test_long": print_failure(source, 33, ["assert [0] == 1"])})
    assert "1. Set `things` to `[]`.\n" in text
    assert "7. More steps of this kind follow; 19 are left out here.\n" in text
    assert "13. Call `things.append(29)`.\n" in text
