"""What stands in one file of Python: every kind of definition, and as Python's own parser sees it."""

import ast
import sysconfig
from pathlib import Path
from textwrap import dedent

import pytest

from model.codegraph.definition_reader import FILE_BYTES, read_definitions
from tests.model.codegraph.builders import list_definitions

STANDARD = Path(sysconfig.get_path("stdlib"))
SHIPPED = ["argparse", "typing", "dataclasses", "enum", "asyncio/tasks"]
if (STANDARD / "test" / "test_typing.py").exists():  # distributions leave Python's own tests out
    SHIPPED.append("test/test_typing")
PYTHON = dedent(
    '''\
    if TYPE_CHECKING:
        class Late: ...

    @overload
    def load(x: int) -> int: ...
    @overload
    def load(x: str) -> str: ...

    @cache
    @(lambda f: f)
    async def run(
        a, b=":",  # the last
    ) -> None:  # says why
        def inner():
            class Deep(Base, metaclass=Meta):
                def method(self): pass
        return lambda: inner

    class Outer:
        """def in_a_string(): pass"""
        class Inner:
            @property
            def value(self): return 1
        if True:
            def conditional(self): pass
        def last(self):
            pass
            # a comment that belongs to it
    # one that doesn't
    '''
)


def test_reader_lists_every_kind_of_python_definition():
    assert list_definitions("python", PYTHON) == [
        ("class", "Late", 2, 2),
        ("function", "load", 4, 5),
        ("function", "load", 6, 7),
        ("function", "run", 9, 17),
        ("function", "run.inner", 14, 16),
        ("class", "run.inner.Deep", 15, 16),
        ("class_method", "run.inner.Deep.method", 16, 16),
        ("class", "Outer", 19, 28),
        ("class", "Outer.Inner", 21, 23),
        ("class_method", "Outer.Inner.value", 22, 23),
        ("class_method", "Outer.conditional", 25, 25),
        ("class_method", "Outer.last", 26, 28),
    ]


def test_signature_is_the_text_before_the_body_on_one_line():
    signatures = {
        row.name: row.signature for row in read_definitions("python", PYTHON.encode()).rows
    }
    assert signatures["run"] == 'async def run( a, b=":", # the last ) -> None'
    assert signatures["Deep"] == "class Deep(Base, metaclass=Meta)"
    assert signatures["value"] == "def value(self)"


def test_byte_ranges_cut_the_source_with_its_decorators():
    content = "ä = 'ö'\n@one\ndef f():\n    return 'ü'\n\nx = 1\n".encode()
    (row,) = read_definitions("python", content).rows
    assert content[row.start_byte : row.end_byte].decode() == "@one\ndef f():\n    return 'ü'"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
def test_line_ends_and_byte_order_mark_keep_positions(start, end):
    content = start + f"class A:{end}    def f(self):{end}        pass{end}".encode()
    rows = read_definitions("python", content).rows
    assert [(row.name, row.start_line, row.end_line) for row in rows] == [("A", 1, 3), ("f", 2, 3)]
    assert content[rows[1].start_byte : rows[1].end_byte].startswith(b"def f(self):")


@pytest.mark.parametrize("module", SHIPPED)
def test_reader_agrees_with_pythons_parser(module):
    content = (STANDARD / f"{module}.py").read_bytes()
    expected = list(list_by_ast(ast.parse(content), "", in_class=False))
    reading = read_definitions("python", content)
    assert not reading.broken
    assert [
        (row.construct, row.scope, row.name, row.start_line) for row in reading.rows
    ] == expected


def list_by_ast(node, scope, *, in_class):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            is_class = isinstance(child, ast.ClassDef)
            construct = "class" if is_class else "class_method" if in_class else "function"
            first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
            yield construct, scope, child.name, first
            inner = f"{scope}.{child.name}".lstrip(".")
            yield from list_by_ast(child, inner, in_class=is_class)
        else:
            yield from list_by_ast(child, scope, in_class=in_class)


def test_broken_file_keeps_its_readable_definitions():
    reading = read_definitions(
        "python", b"def good():\n    pass\n\ndef bad(:\n    x = (\n\nclass After:\n    pass\n"
    )
    assert reading.broken
    assert "good" in {row.name for row in reading.rows}


def test_bytes_outside_utf_8_are_skipped():
    reading = read_definitions(
        "python", "def f():\n    return 'é'\n\ndef g(): pass\n".encode("latin-1")
    )
    assert {row.name for row in reading.rows} == {"f", "g"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"x" * (FILE_BYTES + 1), "524,289 bytes, more than 524,288"),
        (
            "def f(): pass".encode("utf-16"),
            "holds NUL bytes: binary or UTF-16, not source in UTF-8",
        ),
    ],
    ids=["large", "UTF-16"],
)
def test_large_or_utf_16_file_is_skipped_with_the_reason(content, reason):
    reading = read_definitions("python", content)
    assert (reading.rows, reading.reason, reading.size) == ([], reason, len(content))


def test_no_definition_of_a_large_file_is_lost():
    rows = read_definitions("python", b"def f(): pass\n" * 30_000).rows
    assert len(rows) == 30_000
    assert rows[-1].start_line == 30_000


def test_template_arguments_are_not_part_of_a_name():
    text = b"void shop::Shelf<" + b"Map<" * 5_000 + b"A::B" + b">" * 5_000 + b">::put<C::D>() {}"
    (row,) = read_definitions("cpp", text).rows
    assert (row.scope, row.name) == ("shop.Shelf", "put")


def test_keywords_in_comments_and_strings_define_nothing():
    text = "# class A\ndef f():  # def g():\n    'class B'\n    return defer.klass\n@one\nclass (\n"
    assert list_definitions("python", text) == [("function", "f", 2, 4)]
