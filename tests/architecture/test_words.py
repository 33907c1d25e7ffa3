"""How code is worded: a function is a verb, a parameter a noun, and hard code says why."""

import ast
import io
import re
import tokenize

import pytest

from tests.architecture.source import (
    MODULES,
    REVISIONS,
    ROOT,
    list_functions,
    list_modules,
    parse,
    relative,
)

FILES = (*MODULES, *REVISIONS, *sorted((ROOT / "tests").rglob("*.py")))
"""The shipped code, the schema's revisions and the tests: one rule for all."""

BANNED = frozenset(
    {
        "one", "other", "told", "said", "found", "made", "known", "of", "by", "at", "ours", "theirs"
    }
)  # fmt: skip
"""Names of values that say nothing about the value."""

IRREGULAR = frozenset(
    {
        "built", "drawn", "heard", "told", "kept", "laid", "known", "shown", "taken", "given",
        "written", "seen", "said", "found", "made", "held", "sent", "left", "lost", "learnt",
        "chosen", "grown", "thrown", "gone", "done", "begun", "broken", "spoken", "asked",
    }
)  # fmt: skip
VERBS = frozenset({"need", "feed", "embed", "seed", "exceed", "proceed", "speed", "shed"})
"""Words that end like a participle and are verbs or nouns."""


def _is_participle(name: str) -> bool:
    head = name.lstrip("_").split("_")[0]
    ends = re.fullmatch(r"[a-z]{3,}ed", head) is not None and head not in VERBS
    return ends or head in IRREGULAR


def test_no_parameter_has_a_name_that_says_nothing():
    bad = [
        f"{relative(path)}:{argument.lineno}: {argument.arg}"
        for path in FILES
        for argument in ast.walk(parse(path))
        if isinstance(argument, ast.arg) and argument.arg in BANNED
    ]
    assert bad == []


def test_no_variable_or_field_has_a_name_that_says_nothing():
    """Keys of files and database columns may keep such a name: give the field `metadata={"key": …}`."""
    bad = [
        f"{relative(path)}:{node.lineno} {name}"
        for path in (*MODULES, *REVISIONS)
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
        for name in [node.id if isinstance(node, ast.Name) else node.attr]
        if name.lstrip("_") in BANNED
    ]
    assert bad == []


def test_no_function_is_named_by_a_participle():
    bad = [
        f"{relative(path)}:{function.name}"
        for path in FILES
        for function in list_functions(path)
        if _is_participle(function.name)
    ]
    assert bad == []


COMMENTED_ROOMS = ("training/objective", "training/trl", "model/engines")
"""Rooms of numerical code, or of code that overrides a framework's."""


def _count_comments(text: str) -> int:
    """Count the comments that explain something: not those that address a tool."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = (token.string for token in tokens if token.type == tokenize.COMMENT)
    return sum(not re.match(r"#\s*(noqa|type:|pragma|fmt:)", comment) for comment in comments)


@pytest.mark.parametrize("room", COMMENTED_ROOMS)
def test_hard_code_has_five_comments_for_each_hundred_lines(room):
    texts = [path.read_text(encoding="utf-8") for path in list_modules(ROOT / room)]
    lines = sum(len(text.splitlines()) for text in texts)
    assert sum(map(_count_comments, texts)) >= 0.05 * lines
