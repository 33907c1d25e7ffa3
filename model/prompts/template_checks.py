"""This module checks a template of the operator's before anything is asked with it (pure).

Nothing here runs for the shipped templates. The tests hold them to the same rules.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import jinja2
from jinja2 import meta, nodes

from model.errors import TemplateError
from model.protocols import Message

VARIABLES = {
    "issue": "the issue's title and text",
    "patches": "a list of the patches, seat 1 first; an empty text is an empty seat",
    "trajectory": "what the agent did to write the patch, or an empty text",
    "code": "definitions of the base that the patches touch, or an empty text; only `r4p` and `pointwise` with --tree have them",
    "rubric": "the numbered lines of the issue's checklist (rubric only)",
    "paths": "a list of the files' paths (repairs only)",
    "files": "a list of the files' texts, in the order of the paths (repairs only)",
    "left_out": "the paths of located files that are too long, or an empty text (repairs only)",
    "hint": "the hint of a second attempt, or an empty text (agents only)",
    "tree": "the tree's source files, one folder a line (localisation only)",
    "most": "the most files that a localisation may name (localisation only)",
    "test_path": "the path of the shown test file (reproduction tests only)",
    "test_file": "the text of a test file of the repository, or an empty text (reproduction tests only)",
    "message": "the message of a commit (back-translation only)",
    "change": "the true patch (back-translation only)",
    "tests": "a list of the functions of failing tests (back-translation only)",
    "outputs": "a list of what the failing tests print, in the order of the tests (back-translation only)",
}
"""Every variable that a template may use, with its meaning."""

Values = Mapping[str, str | Sequence[str]]
Renderer = Callable[..., tuple[Message, ...]]

_SEATS = 64
"""Seats and files of the rendering in which delimiters are searched; above the number of rivals that any shipped setting allows."""
_GAP = "\ufffe"
"""Stands for every value while delimiters are searched. No file can hold this character."""
_FOREIGN = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
_ANGLE_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,60}>")
_SQUARE_TAGS = re.compile(r"^\s*(?:\[/?[A-Za-z][^\[\]\n]{0,60}\]\s*)+$", re.MULTILINE)
_SQUARE_TAG = re.compile(r"\[[^\[\]]+\]")
_RULE = re.compile(r"^(?:[-=*#~]{3,}|#{1,2} ) ?[^\W\d_].{0,60}$", re.MULTILINE)


def check_source(where: str, source: str) -> None:
    """Check the text of a template: no other file, and no unknown variable.

    `where` is the file, for messages. Raises TemplateError with file, line and fix, and jinja2.TemplateSyntaxError.
    """
    tree = jinja2.Environment().parse(source)  # noqa: S701 - parses only
    for node in tree.find_all(_FOREIGN):
        raise TemplateError(
            f"prompt {where}, line {node.lineno}: a prompt is one file; copy the other file's text into it"
        )
    unknown = meta.find_undeclared_variables(tree) - VARIABLES.keys()
    for name in tree.find_all(nodes.Name):
        if name.name in unknown:
            raise TemplateError(
                f"prompt {where}, line {name.lineno}: unknown variable {name.name!r}; there are {', '.join(VARIABLES)}"
            )


def find_delimiters(render: Renderer) -> frozenset[str]:
    """Return the tags and rules with which a template parts its values, such as `[PATCH 1]` or `=== END ===`.

    Untrusted text must not hold them. `render` is the template's; a template that does not render has none.
    """
    values: dict[str, str | Sequence[str]] = dict.fromkeys(VARIABLES, _GAP)
    values |= dict.fromkeys(("patches", "paths", "files"), (_GAP,) * _SEATS)
    try:
        messages = render(**values)
    except TemplateError:
        return frozenset()
    texts = [message.content.replace(_GAP, "") for message in messages]
    marks = (*_ANGLE_TAG.findall("\n".join(texts)), *_list_lines(texts[-1]))
    return frozenset(spelling for mark in marks for spelling in (mark, mark.upper(), mark.lower()))


def _list_lines(text: str) -> Iterator[str]:
    """Yield the tags in square brackets that fill lines of their own, and the headings and ruled lines."""
    for line in _SQUARE_TAGS.findall(text):
        yield from _SQUARE_TAG.findall(line)
    yield from (line.strip() for line in _RULE.findall(text))


def check_values_are_shown(where: str, source: str, render: Renderer, values: Values) -> None:
    """Check that a template shows each of `values` once and unchanged, and has the same words around an empty patch.

    `values` are sample texts by variable. Raises TemplateError with file, line and fix.
    """
    place = f"prompt {where}, line {_find_line(source)}"
    text = _join(render(**values))
    for label, sample in _list_samples(values):
        if (count := text.count(sample)) != 1:
            raise TemplateError(
                f"{place}: {label} is shown unchanged {count} times; show it once, without a filter"
            )
    empty = {**values, "patches": ("",) * len(values.get("patches", ()))}
    for _, sample in _list_samples({"patches": values.get("patches", ())}):
        text = text.replace(sample, "")
    if text.split() != _join(render(**empty)).split():
        raise TemplateError(
            f"{place}: an empty patch has other words around it; show an empty seat like the others"
        )


def _list_samples(values: Values) -> Iterator[tuple[str, str]]:
    """Yield each sample text with a label, such as `issue` or `patches[0]`."""
    for name, value in values.items():
        if isinstance(value, str):
            yield name, value
        else:
            yield from ((f"{name}[{place}]", item) for place, item in enumerate(value))


def _find_line(source: str) -> int:
    """Return the line of the block `user`."""
    blocks = jinja2.Environment().parse(source).find_all(nodes.Block)  # noqa: S701 - parses only
    return next((block.lineno for block in blocks if block.name == "user"), 1)


def _join(messages: Sequence[Message]) -> str:
    return "\n".join(message.content for message in messages)
