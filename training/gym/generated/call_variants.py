"""Make new calls from the definitions that a commit changes and from calls that are there, by exchanging literals (pure)."""

import ast
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from training.gym.candidates.patch_blocks import parse_python

_USUAL: Final = (
    "''", "'a'", "'a b-c'", "'Ünï'", "'1.5'", "b'a'", "0", "1", "-1", "7", "2.5", "None", "True", "False",
    "[]", "[1, 2, 3]", "['a', 'b']", "{}", "{'a': 1}", "(1, 2)",
)  # fmt: skip
_MOST_LITERAL: Final = 80
"""Longest literal, in characters."""
_CALLS_OF_A_DEFINITION: Final = 40
_WORD_SHARE, _SAME_SHARE = 0.4, 0.8
"""How often a string gets a new word, and how often a literal is exchanged for one of its type."""


def list_literals(files: Iterable[bytes]) -> list[str]:
    """Return strings, bytes and numbers that files hold, each once, and a few usual values."""
    literals = dict.fromkeys(_USUAL)
    for content in files:
        for node in ast.walk(parse_python(content) or ast.Module([], [])):
            if isinstance(node, ast.Constant) and node.value is not ...:
                text = repr(node.value)
                if len(text) <= _MOST_LITERAL:
                    literals[text] = None
    return list(literals)


def list_definitions(before: bytes, after: bytes) -> Iterator[tuple[str | None, ast.FunctionDef]]:
    """Yield the public functions and methods of a module that a commit adds or edits, with the name of their class."""
    old = {key: ast.dump(node) for key, node in _read_definitions(before)}
    for (owner, name), node in _read_definitions(after):
        if old.get((owner, name)) != ast.dump(node) and (name == "__init__" or name[0] != "_"):
            yield owner, node


def _read_definitions(content: bytes) -> Iterator[tuple[tuple[str | None, str], ast.FunctionDef]]:
    for node in (parse_python(content) or ast.Module([], [])).body:
        if isinstance(node, ast.FunctionDef):
            yield (None, node.name), node
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield (node.name, part.name), part


def call_definition(
    module: str,
    owner: str | None,
    function: ast.FunctionDef,
    values: tuple[Sequence[str], Sequence[str]],
    choice: random.Random,
) -> Iterator[str]:
    """Yield calls of a function or method with random literals. `values` are literals and calls that are there."""
    literals, calls = values
    makers = [call for call in calls if owner and call.startswith(f"{module}.{owner}(")]
    for _ in range(_CALLS_OF_A_DEFINITION):
        arguments = _choose_arguments(function, literals, choice, skip=owner is not None)
        if owner is None:
            yield f"{module}.{function.name}({arguments})"
        elif function.name == "__init__":
            yield f"{module}.{owner}({arguments})"
        else:
            target = (
                choice.choice(makers) if makers else f"{module}.{owner}({choice.choice(literals)})"
            )
            is_property = any("property" in ast.unparse(item) for item in function.decorator_list)
            yield f"{target}.{function.name}" + ("" if is_property else f"({arguments})")


def _choose_arguments(
    function: ast.FunctionDef, literals: Sequence[str], choice: random.Random, *, skip: bool
) -> str:
    """Return the arguments of a call: all that have no default, and each of the others now and then."""
    names = [*function.args.posonlyargs, *function.args.args][skip:]
    required = len(names) - min(len(function.args.defaults), len(names))
    words = [choice.choice(literals) for _ in names[:required]]
    optional = [*names[required:], *function.args.kwonlyargs]
    words += [f"{name.arg}={choice.choice(literals)}" for name in optional if choice.random() < 0.5]
    return ", ".join(words)


def list_new_words(before: bytes, after: bytes) -> list[str]:
    """Return the words of strings that a commit adds to a module, such as a keyword that a parser learns."""
    old, new = (
        set(re.findall(r"[^\W\d_]{2,}", " ".join(_list_strings(text)))) for text in (before, after)
    )
    return sorted(new - old)


def _list_strings(content: bytes) -> Iterator[str]:
    for node in ast.walk(parse_python(content) or ast.Module([], [])):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def vary_call(
    call: str, literals: Sequence[str], words: Sequence[str], choice: random.Random
) -> str | None:
    """Return a call with one of its literals exchanged, mostly for one of the same type; None without a literal.

    A string may get one of `words` in the place of a word of its own instead.
    """
    tree = ast.parse(call, mode="eval")
    places = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    if not places:
        return None
    place = choice.choice(places)
    if words and isinstance(place.value, str) and choice.random() < _WORD_SHARE:
        own = place.value.split(" ")
        number = choice.randrange(len(own))
        own[number : number + choice.randrange(2)] = choice.sample(
            list(words), min(len(words), choice.choice((1, 1, 2)))
        )
        place.value = " ".join(own)
    else:
        same = [text for text in literals if type(ast.literal_eval(text)) is type(place.value)]
        place.value = ast.literal_eval(
            choice.choice(same if choice.random() < _SAME_SHARE and same else literals)
        )
    return ast.unparse(tree)


def add_option(
    call: str, options: dict[str, list[str]], literals: Sequence[str], choice: random.Random
) -> str | None:
    """Return a call with one more keyword argument; None if its function takes none. `options` are names by function."""
    tree = ast.parse(call, mode="eval")
    match tree.body:
        case ast.Call(func=ast.Attribute(attr=name)) if options.get(name):
            present = {keyword.arg for keyword in tree.body.keywords}
            free = [option for option in options[name] if option not in present]
            if free:
                tree.body.keywords.append(
                    ast.keyword(
                        choice.choice(free), ast.parse(choice.choice(literals), mode="eval").body
                    )
                )
                return ast.unparse(tree)
    return None


def reduce_to_behaviour(content: bytes) -> str:
    """Return the syntax tree of a module without docstrings, annotations and dunder names such as `__version__`."""
    tree = parse_python(content) or ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_inert(part)]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return ast.dump(tree)


def _is_inert(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name.startswith("__") and name != "__all__"
    return False
