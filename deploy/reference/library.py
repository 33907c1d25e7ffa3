"""Describe the public names of `import model`: signature, first lines of the docstring, fields."""

import dataclasses
import enum
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import model
from deploy.reference.markdown import build_table

WITHOUT_DOCSTRING: Final[Mapping[str, str]] = {
    "PatchId": "A text that names a candidate among its rivals: `#12` for a pull request, a file name in a shell.",
}
"""Public names whose docstring the interpreter does not keep."""


def describe_library() -> Iterator[str]:
    """A section for each public name, functions first."""
    named = [(name, getattr(model, name)) for name in sorted(model.__all__)]
    for name, value in sorted(named, key=lambda pair: not inspect.isfunction(pair[1])):
        yield f"## `{name}`\n"
        if inspect.isfunction(value):
            yield f"```python\n{_sign(name, value)}\n```\n"
        yield f"{WITHOUT_DOCSTRING.get(name) or inspect.getdoc(value)}\n"
        yield from _describe_content(value)


def _sign(name: str, function: Any) -> str:
    """The signature with one parameter a line, without the modules of its types."""
    signature = inspect.signature(function)
    parameters = [f"    {_shorten(str(p))}," for p in signature.parameters.values()]
    keywords = (i for i, p in enumerate(signature.parameters.values()) if p.kind is p.KEYWORD_ONLY)
    first = next(keywords, None)
    if first is not None:
        parameters.insert(first, "    *,")
    result = _shorten(inspect.formatannotation(signature.return_annotation))
    return "\n".join([f"{name}(", *parameters, f") -> {result}"])


def _shorten(annotation: str) -> str:
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", annotation.replace("'", ""))


def _describe_content(value: Any) -> Iterator[str]:
    """The values of an enumeration, or the fields of a dataclass."""
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        yield f"Values: {', '.join(f'`{member.value}`' for member in value)}.\n"
    elif dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        rows = ((f"`{f.name}`", f"`{_type(f.type)}`", _default(f)) for f in fields)
        yield build_table(("field", "type", "default"), rows)


def _type(annotation: Any) -> str:
    is_text = isinstance(annotation, str)
    return _shorten(annotation if is_text else inspect.formatannotation(annotation))


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default is dataclasses.MISSING:
        return "required" if field.default_factory is dataclasses.MISSING else "empty"
    return "does nothing" if inspect.isfunction(field.default) else f"`{field.default!r}`"
