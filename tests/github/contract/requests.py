"""Parameters and bodies of the bot's own requests against what an operation accepts (pure)."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.github.contract.headers import media_type
from tests.github.contract.routes import Operation
from tests.github.contract.strict_json import NotJson, parse
from tests.github.contract.validators import Validators

_MAX_PER_PAGE = 100
"""GitHub quietly returns 100 where more are asked for."""


def parameter_problems(
    validators: Validators, operation: Operation, query: Mapping[str, str]
) -> Iterator[str]:
    """Wrong, missing and undeclared parameters in path and query."""
    declared = {(item["in"], item["name"]): item for item in operation.definition["parameters"]}
    given = {("query", name): value for name, value in query.items()}
    given |= {("path", name): value for name, value in operation.path_params.items()}
    for (place, name), value in given.items():
        parameter = declared.get((place, name))
        if parameter is None:
            yield f"{place} parameter {name!r} is not declared"
            continue
        key = f"{operation.id} {place} {name}"
        schema = parameter["schema"]
        for error in validators.errors(key, schema, _convert(schema, value)):
            yield f"{place} parameter {name!r} {error}"
    per_page = query.get("per_page", "")
    if per_page.isdecimal() and not 1 <= int(per_page) <= _MAX_PER_PAGE:
        yield f"per_page is {per_page}, outside 1..{_MAX_PER_PAGE}"


def body_problems(
    validators: Validators, operation: Operation, sent: Mapping[str, str], body: bytes
) -> list[str]:
    """A body that is missing, unexpected, mislabelled or refused by its schema."""
    declared = operation.definition.get("requestBody")
    if declared is None:
        return [f"{len(body)} bytes of body where none is declared"] if body else []
    if not body:
        return ["no body"] if declared["required"] else []
    media = media_type(sent)
    if media not in declared["content"]:
        return [f"Content-Type is {media!r}, not one of {sorted(declared['content'])}"]
    try:
        value = parse(body)
    except NotJson as error:
        return [str(error)]
    return validators.errors(f"{operation.id} body", declared["content"][media]["schema"], value)


def _convert(schema: Mapping[str, Any], text: str) -> object:
    """Convert a parameter's text to the type in its schema; a text that does not fit stays."""
    wanted = schema.get("type")
    if wanted == "integer" and text.lstrip("-").isdecimal():
        return int(text)
    if wanted == "boolean" and text in ("true", "false"):
        return text == "true"
    return text
