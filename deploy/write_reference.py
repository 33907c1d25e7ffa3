"""Write `docs/reference.md` from the code: `python -m deploy.write_reference`, or `make docs`.

The page lists every command, setting, configuration key, comment command and exit code. A test compares the page with this
module's output, so a change of the code that forgets the page fails `make check`.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import typer

from app import cli, settings
from app.operator import models_cli
from app.policy.commands import PREFIX, REGISTRY
from app.settings.loader import Settings
from app.settings.repo_config import FILE, NESTED, AlternativesBudget, RepoConfig
from app.values.permission import Permission
from model.commands.exit_codes import Exit
from training.commands import cli as train_cli
from training.commands import datasets, export, gym, labels, run
from training.commands.evaluate import evaluate
from training.commands.export import attempts
from training.commands.outcomes import outcomes

PAGE: Final = Path(__file__).parents[1] / "docs" / "reference.md"

LOADED_LATER: Final[Mapping[str, Any]] = {
    "r4p gym": gym.app,
    "r4p labels": labels.app,
    "r4p models": models_cli.main,
    "r4p models outcomes": outcomes,
    "r4p outcomes export": typer.main.get_command(labels.app).commands["export"],
    "r4p train": train_cli.main,
    "r4p train attempts": attempts,
    "r4p train dataset": datasets.app,
    "r4p train evaluate": evaluate,
    "r4p train export-verl": export.app,
    "r4p train run": run.app,
}
"""Commands that pass their arguments on to a module which they import only when somebody calls them."""

TWICE: Final = {"r4p labels export", "r4p train labels", "r4p train outcomes"}
"""Second names of commands that the page lists under their first name."""

EXIT_CODES: Final[Mapping[int, str]] = {
    Exit.OK: "The command did its work. `r4p verify`: at least one candidate is correct.",
    1: "The work began and failed, or a part of the installation refused it. The message says why.",
    Exit.USAGE: "An option, a setting or a file can't be used. The message names it and the fix.",
    Exit.NONE_CORRECT: "`r4p verify`: every candidate is incorrect. `r4p propose`: no patch. "
    "`r4p train dataset build`: nothing to learn from. `r4p train evaluate`: the gate failed.",
    Exit.UNSURE: "`r4p verify`: no candidate is correct, and at least one is unsure or not judged. "
    "`r4p train evaluate`: too few issues to decide.",
    Exit.BACKEND_DOWN: "The engine or the database is down, or another process holds the folder. "
    "`r4p doctor`: the bot can't give verdicts. Try again later.",
}

HEAD: Final = f"""# Reference

`make docs` writes this page from the code. Do not edit it.

- [Commands of the shell](#commands-of-the-shell)
- [Settings of the bot](#settings-of-the-bot)
- [Settings of a repository](#settings-of-a-repository)
- [Commands that people write on GitHub](#commands-that-people-write-on-github)
- [Exit codes](#exit-codes)

The [glossary](glossary.md) explains the words. [Operations](operations.md) shows how the settings fit together. `{FILE}` is the file of a repository; the
`R4P_…` variables belong to the bot.
"""


ABOUT_SETTINGS: Final = (
    "Each process reads only the settings of its own work. Before it starts, it lists every mistake with the variable, the "
    "value and the fix, and ends with exit code 2. An unknown `R4P_…` name is a mistake, too."
)


def write() -> None:
    """Replace the page by what the code says today."""
    PAGE.write_text(build_page(), encoding="utf-8")


def build_page() -> str:
    """The whole page as Markdown."""
    parts = (
        HEAD,
        "## Commands of the shell\n",
        *_describe_commands(),
        "## Settings of the bot\n",
        f"{ABOUT_SETTINGS}\n",
        *_describe_settings(),
        "## Settings of a repository\n",
        f"A repository keeps them in `{FILE}` on its default branch.\n",
        _describe_repository(),
        "## Commands that people write on GitHub\n",
        _describe_comments(),
        "## Exit codes\n",
        _table(("code", "meaning"), ((f"`{int(code)}`", EXIT_CODES[code]) for code in _codes())),
    )
    return "\n".join(parts)


def _codes() -> list[int]:
    """Every exit code; a code that the table does not explain is a KeyError."""
    return sorted({*EXIT_CODES, *Exit})


def _describe_commands() -> Iterator[str]:
    for path, command in _list_commands("r4p", typer.main.get_command(cli.main)):
        context = typer.Context(command, info_name=path)
        yield f"### `{path}`\n"
        yield f"{_one_line(command.help)}\n"
        yield f"```console\n{path} {_usage(command, context)}\n```\n"
        records = (option.get_help_record(context) for option in command.params)
        rows = [(f"`{record[0]}`", record[1].replace("  [", " [")) for record in records if record]
        if rows:
            yield _table(("option", "meaning"), rows)


def _usage(command: Any, context: typer.Context) -> str:
    return " ".join(command.collect_usage_pieces(context)).translate(str.maketrans("", "", "{}"))


def _list_commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Every command that does something, in alphabetical order, with its full path."""
    later = LOADED_LATER.get(path)
    if later is not None:
        command = _as_command(later)
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name in sorted(command.commands):
        if f"{path} {name}" not in TWICE:
            yield from _list_commands(f"{path} {name}", command.commands[name])


def _as_command(source: Any) -> Any:
    """A click command from a typer application, a function or a click command."""
    if isinstance(source, typer.Typer):
        return typer.main.get_command(source)
    if not inspect.isfunction(source):
        return source
    application = typer.Typer(add_completion=False)
    application.command()(source)
    return typer.main.get_command(application)


def _describe_settings() -> Iterator[str]:
    listed: set[str] = set()
    for kind in list_kinds():
        fields = [name for name in kind.model_fields if name not in listed]
        listed.update(fields)
        if fields:
            yield f"### {kind.__name__.removesuffix('Settings')}\n"
            yield f"{_one_line(kind.__doc__)}\n"
            rows = (_describe_setting(kind, name) for name in fields)
            yield _table(("variable", "type", "default", "meaning"), rows)


def list_kinds() -> list[type[Settings]]:
    """Every class of settings that the bot reads."""
    classes = filter(inspect.isclass, vars(settings).values())
    return [kind for kind in classes if issubclass(kind, Settings)]


def _describe_setting(kind: type[Settings], name: str) -> tuple[str, ...]:
    field = kind.model_fields[name]
    schema = kind.model_json_schema()
    form = _form(schema["properties"][name], schema.get("$defs", {}))
    default = "required" if field.is_required() else _value(field.default)
    return f"`R4P_{name.upper()}`", form, default, _meaning(name)


def _meaning(name: str) -> str:
    """The first text about a field: several classes may share it, and one explains it."""
    fields = (kind.model_fields.get(name) for kind in list_kinds())
    texts = (_one_line(field.description) for field in fields if field)
    return next((text for text in texts if text and not text.startswith("As in ")), "")


def _describe_repository() -> str:
    rows = [
        *_list_keys(RepoConfig, ""),
        *(row for name, kind in NESTED.items() for row in _list_keys(kind, f"{name}.")),
    ]
    return _table(("key", "values", "default", "meaning"), rows)


def _list_keys(kind: type[Any], prefix: str) -> Iterator[tuple[str, ...]]:
    schema = kind.model_json_schema()
    for name, field in kind.model_fields.items():
        form = _form(schema["properties"][name], schema.get("$defs", {}))
        default = "required" if field.is_required() else _value(field.default)
        yield f"`{prefix}{name}`", form, default, _one_line(field.description)


def _describe_comments() -> str:
    rows = (
        (
            f"`{PREFIX} {entry.usage}`",
            entry.description,
            "everybody" if entry.needs is Permission.NONE else f"people with {entry.needs} access",
            f"`{entry.example}`",
        )
        for entry in REGISTRY.values()
    )
    return _table(("command", "does", "for", "example"), rows)


def _form(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """What a value looks like, by its JSON Schema, in a few words."""
    if "anyOf" in schema:
        forms = (one for one in schema["anyOf"] if one.get("type") != "null")
        return " or ".join(dict.fromkeys(_form(one, definitions) for one in forms))
    if "$ref" in schema:
        return _form(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_form(schema['items'], definitions)}"
    if schema.get("format") in {"password", "path"}:
        return "secret" if schema["format"] == "password" else "path"
    names = {"string": "text", "object": "mapping", "boolean": "`true`, `false`"}
    kind = str(schema.get("type"))
    return names.get(kind, kind) + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    least, most, above = (schema.get(key) for key in ("minimum", "maximum", "exclusiveMinimum"))
    if least is not None and most is not None:
        return f", {least} to {most}" if least != most else f", always {least}"
    if least is not None:
        return f", at least {least}"
    return "" if above is None else f", above {above}"


def _value(default: object) -> str:
    """A default as somebody would write it; the home folder is `~`."""
    if default is None or default in ("", ()):
        return "–"
    if isinstance(default, AlternativesBudget):
        return "see below"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, tuple):
        return ", ".join(f"`{part}`" for part in default)
    return f"`{str(default).replace(str(Path.home()), '~')}`"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


if __name__ == "__main__":
    write()
