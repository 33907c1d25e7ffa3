"""What tells rivals apart is stated only where their diffs prove it."""

import ast
import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.domain import ChangedPlace, DifferenceKind, Patch, PatchId, RivalDifference
from model.rivals.difference_text import write_sentences
from model.rivals.differences import MOST_DIFFERENCES, find_differences
from tests.model.builders import build_diff

MODULE = """\
import re

LIMIT = 10


def parse_header(text):
    name, _, value = text.partition(":")
    name = name.strip()
    value = value.strip()
    return name, value


def parse_body(text):
    lines = text.split("\\n")
    lines = [line.rstrip() for line in lines]
    return lines


class Reader:
    limit = LIMIT

    def read(self):
        line = self.file.readline()
        line = line.strip()
        return line

    def close(self):
        self.file.close()
        self.file = None
""".splitlines(keepends=True)


def build_patches(*texts, path="src/parser.py"):
    """Patches #1, #2, … that change MODULE to each of the texts, one text a patch."""
    return [
        Patch(
            PatchId(f"#{number}"),
            "".join(difflib.unified_diff(MODULE, text, f"a/{path}", f"b/{path}")),
        )
        for number, text in enumerate(texts, 1)
    ]


def edit(*changes):
    """MODULE with lines replaced; each change is (line from 1, its new text)."""
    lines = list(MODULE)
    for number, text in changes:
        lines[number - 1] = text
    return "".join(lines).splitlines(keepends=True)


def tell(*patches):
    return list(write_sentences(find_differences(patches), str, "`{}`".format))


def test_copies_places_and_tests_are_told_in_few_words():
    tested = build_diff("assert x", path="tests/test_parser.py")
    one, two, three, four = build_patches(
        edit((16, "    return list(lines)\n")),
        edit((9, "    value = value.lstrip()\n")),
        edit((16, "    return list(lines)\n")),
        edit((16, "    return tuple(lines)\n")),
    )
    four = Patch(four.id, four.diff + tested)
    assert tell(one, two, three, four) == [
        "#1 and #3 make the same edit.",
        "Only #2 changes `parse_header()` in `parser.py`.",
        "All but #2 change `parse_body()` in `parser.py`.",
        "Only #4 touches tests.",
    ]


def test_files_and_new_functions_tell_rivals_apart():
    helper = "\n\ndef strip_all(lines):\n    return [line.strip() for line in lines]\n"
    one, two = build_patches(
        [*MODULE, *helper.splitlines(keepends=True)], edit((16, "    return escape_all(lines)\n"))
    )
    three = Patch(PatchId("#3"), build_diff("new", path="lib/other/__init__.py"))
    assert tell(one, two, three) == [
        "Only #3 changes `other/__init__.py`.",
        "All but #3 change `parser.py`.",
        "Only #1 adds `strip_all()` in `parser.py`.",
        "Only #2 changes `parse_body()` in `parser.py`.",
    ]


def test_calls_tell_apart_what_changes_the_same_function():
    patches = build_patches(
        edit((16, "    return escape_all(lines)\n")),
        edit((16, "    return unescape(len(lines))\n")),
    )
    assert tell(*patches) == [
        "All change `parse_body()` in `parser.py`.",
        "Only #1 adds calls of `escape_all()`.",
        "Only #2 adds calls of `unescape()`.",
    ]


def test_far_longer_patch_is_named():
    long = edit((16, "".join(f"    x{n} = {n}\n" for n in range(40))))
    short = edit((16, "    return 1\n"))
    sentences = tell(*build_patches(long, short, edit((16, "    return 2\n"))))
    assert sentences[-1] == "Only #1 edits 41 lines, far more than the others."


@pytest.mark.parametrize(
    ("texts", "sentences"),
    [
        ((16, 16), ["All change `parse_body()` in `parser.py`, each in its own way."]),
        ((16,), []),
        ((), []),
    ],
)
def test_little_to_tell(texts, sentences):
    changed = [edit((line, f"    return {n}\n")) for n, line in enumerate(texts)]
    assert tell(*build_patches(*changed)) == sentences


def test_equal_edits_are_all_there_is_to_tell():
    same = edit((16, "    return 1\n"))
    assert tell(*build_patches(same, same, same)) == ["#1, #2 and #3 make the same edit."]
    renamed = [edit((9, f"    {name} = value\n")) for name in ("first", "second")]
    assert tell(*build_patches(*renamed))[0] == "#1 and #2 make the same edit but for names."


def test_unreadable_and_huge_patches_are_left_out():
    one, two = build_patches(edit((16, "    return 1\n")), edit((9, "    value = 2\n")))
    bad = Patch(PatchId("#3"), "no diff")
    huge = Patch(PatchId("#4"), build_diff("x" * 400_000, path="src/other.py"))
    assert tell(one, two, bad, huge) == tell(one, two)


def test_change_that_may_be_in_a_function_keeps_silent_about_it():
    lines = [f"    x{n} = {n}\n" for n in range(60)]
    base = ["def long():\n", *lines]
    texts = ["".join([*base[:at], "    y = 1\n", *base[at + 1 :]]) for at in (2, 40)]
    one, two = (
        Patch(
            PatchId(f"#{number}"),
            "".join(difflib.unified_diff(base, text.splitlines(keepends=True), "a/f.py", "b/f.py")),
        )
        for number, text in enumerate(texts, 1)
    )
    assert "def long" not in two.diff
    assert tell(one, two) == ["All change `f.py`, each in its own way."]


def test_names_are_quoted_and_bounded():
    name = "x" * 300
    one = Patch(PatchId("#1"), build_diff("new", path=f"a/{name}.py"))
    two = Patch(PatchId("#2"), build_diff("new", path="b.py"))
    sentences = write_sentences(find_differences([one, two]), str, lambda text: f"<{text}>")
    assert sentences == (f"Only #1 changes <…{'x' * 56}.py>.", "Only #2 changes <b.py>.")


def test_many_patches_and_places_are_counted():
    fact = RivalDifference(
        DifferenceKind.ONLY,
        tuple(PatchId(f"#{n}") for n in range(9)),
        tuple(ChangedPlace(f"f{n}.py") for n in range(5)),
    )
    assert write_sentences([fact], str, str) == (
        "Only #0, #1, #2, #3, #4, #5 and 3 more change f0.py, f1.py and 3 more.",
    )


def list_functions(source):
    """The name of the innermost function of each line, by number."""
    names = {}

    def visit(node, name):
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.FunctionDef):
                inner = child.name
            if isinstance(child, ast.ClassDef):
                inner = None
            if isinstance(child, ast.stmt):
                for line in range(child.lineno, child.end_lineno + 1):
                    names[line] = inner
            visit(child, inner)

    visit(ast.parse(source), None)
    return names


@st.composite
def draw_module(draw):
    """Lines of a module of functions, methods and statements, some with equal names."""
    lines = []
    for block in range(draw(st.integers(2, 6))):
        name = draw(st.sampled_from(["run", "load", f"f{block}", f"g{block}"]))
        size = draw(st.integers(1, 25))
        match draw(st.sampled_from(["function", "class", "statement", "nested"])):
            case "function":
                lines += [f"def {name}():", *(f"    a{n} = {n}" for n in range(size)), ""]
            case "class":
                lines += [f"class C{block}:", *(f"    a{n} = {n}" for n in range(size % 5))]
                lines += [f"    def {name}(self):", *(f"        b{n} = {n}" for n in range(size))]
                lines += [f"    c{n} = {n}" for n in range(size % 4)]
            case "nested":
                lines += [f"def {name}():", "    def inner():"]
                lines += [*(f"        a{n} = {n}" for n in range(size)), "    return inner"]
            case _:
                lines += [f"top{n} = {n}" for n in range(size)]
    return [f"{line}\n" for line in lines]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_statement_about_a_function_is_true(data):
    base = data.draw(draw_module())
    functions = list_functions("".join(base))
    bodies = [n for n, line in enumerate(base, 1) if " = " in line]
    patches, truth = [], {}
    for number in range(1, data.draw(st.integers(2, 4)) + 1):
        changed = data.draw(st.lists(st.sampled_from(bodies), min_size=1, max_size=3))
        text = [
            line.replace(" = ", f" = {number}0") if n in changed else line
            for n, line in enumerate(base, 1)
        ]
        diff = "".join(difflib.unified_diff(base, text, "a/f.py", "b/f.py"))
        patches.append(Patch(PatchId(f"#{number}"), diff))
        truth[f"#{number}"] = {functions[n] for n in changed}
    for fact in find_differences(patches):
        for place in fact.places:
            if place.function is None:
                continue
            changing = {patch for patch, names in truth.items() if place.function in names}
            named = set(fact.patches)
            expected = set(truth) - named if fact.kind is DifferenceKind.ALL_BUT else named
            assert changing == expected


def test_facts_are_few_and_the_same_again():
    patches = [Patch(PatchId(f"#{n}"), build_diff("new", path=f"f{n}.py")) for n in range(9)]
    facts = find_differences(patches)
    assert len(facts) == MOST_DIFFERENCES
    assert find_differences(patches) == facts
