"""Failing tests of real repositories, with what pytest printed of them before the fix."""

from training.gym.statement import write_statement

CONFTEST = """
import pytest
from tinydb import TinyDB
from tinydb.storages import MemoryStorage, JSONStorage


@pytest.fixture(params=['memory', 'json'])
def db(request, tmp_path):
    if request.param == 'json':
        db_ = TinyDB(tmp_path / 'test.db', storage=JSONStorage)
    else:
        db_ = TinyDB(storage=MemoryStorage)

    db_.drop_tables()
    db_.insert_multiple({'int': 1, 'char': c} for c in 'abc')

    yield db_
"""
PATCH = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"


def add_file(path, text):
    """The diff that adds a file."""
    lines = text.splitlines()
    body = "".join(f"+{line}\n" for line in lines)
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n{body}"


def print_failure(source, line, error, path="tests/test_it.py", head=""):
    """What pytest prints of a test that fails at a line of its module: the test up to there, and the error.

    `error` holds the lines that pytest marks; its first word is the type of the error.
    """
    lines = source.splitlines()
    start = max(i for i in range(line) if "def test" in lines[i])
    shown = [f"    {text}" if text else "" for text in lines[start : line - 1]]
    marked = "\n".join(f"E       {text}" for text in error)
    return "\n".join(
        [*([head, ""] if head else []), *shown, f">   {lines[line - 1]}", marked, "", f"{path}:{line}: {error[0].partition(':')[0]}"]
    )  # fmt: skip


def write(source, failures, conftest="", path="tests/test_it.py", test_patch=None):
    """The statement of tests of one module, which the test patch adds. `failures` are the texts of the failures by test."""
    errors = {f"{path}::{name}": text for name, text in failures.items()}
    sources = {path: source} | ({"tests/conftest.py": conftest} if conftest else {})
    diff = add_file(path, source) if test_patch is None else test_patch
    return write_statement("a/thing", list(errors), errors, PATCH, diff, sources)


def list_steps(source, conftest=""):
    """The steps of a test that ends with a failed comparison, as its statement numbers them."""
    error = print_failure(source, len(source.splitlines()), ["assert 404 == 200"])
    text = write(source, {"test_it": error}, conftest)
    run = text.partition("What I run:\n\n")[2].partition("\n\n")[0]
    return [line.partition(" ")[2] for line in run.splitlines()]
