"""Options that several commands share, as dataclasses that typer reads, and checks for options without effect."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

from typer import Context, Option

from model import catalog
from model.calibration import calibrator_file
from model.calibration.calibrator_file import CalibratorFile
from model.catalog import EngineChoice, VotingChoice
from model.commands import key_file
from model.environments.environment_cache import DEFAULT_CACHE, EnvironmentCache
from model.errors import BadEngine, BadSuiteCommand, IncompatibleOptions
from model.execution import candidate_tests, suite_command
from model.execution.suite_command import SuiteCommand

_READ_BY = {
    "openai_compatible": ("--engine-url", "--model", "--api-key-file"),
    "local_vllm": ("--model", "--cache"),
    "local_transformers": ("--model", "--cache"),
    "scripted": ("--script",),
}
"""The options that each engine reads."""
_ENGINE_OPTIONS = (
    "--engine",
    *dict.fromkeys(option for options in _READ_BY.values() for option in options),
)

_TEST_OPTIONS = (
    *("--tree", "--tests", "--python", "--environment", "--environments"),
    *("--seconds", "--base-runs", "--evidence", "--fail-to-pass"),
)
"""The options about tests that `r4p verify` runs and that `r4p evaluate` reads."""

CacheFolder = Annotated[
    Path | None,
    Option(metavar="DIR", help="Folder of test environments (~/.cache/r4p/environments)."),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
Options = TypeVar("Options")


def accept_options(
    options: type[Options], *refined: type
) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Return a decorator that makes a typer command of a function with one parameter, the dataclass `options`.

    Typer reads an argument or an option for each field of the dataclass.
    `--help` lists the fields of the class itself first, then those of its base classes `refined`, then the others.
    """

    def decorate(run: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(run)
        def command(**values: Any) -> None:
            run(options(**values))

        fields = inspect.signature(options).parameters.values()
        own = dict.fromkeys([name for kind in (options, *refined) for name in kind.__annotations__])
        places = {name: place for place, name in enumerate(own)}
        in_order = sorted(fields, key=lambda field: places.get(field.name, len(places)))
        command.__signature__ = inspect.Signature(in_order)  # type: ignore[attr-defined]
        return command

    return decorate


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Command-line options that choose the engine, which runs the language model."""

    engine: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="openai_compatible, local_vllm or local_transformers. Default: the first with a URL, else the last.",
        ),
    ] = None
    engine_url: Annotated[
        str | None, Option(metavar="URL", help="Base URL of an OpenAI-compatible API.")
    ] = None
    model: Annotated[
        str | None,
        Option(metavar="NAME", help="Model name; without a URL, an embedded model or a folder."),
    ] = None
    api_key_file: Annotated[
        Path | None, Option(metavar="FILE", help="File that contains only the API key.")
    ] = None
    script: Annotated[
        Path | None,
        Option(metavar="FILE", help="Take answers from a file of JSON lines instead of a model."),
    ] = None
    cache: Annotated[
        Path | None, Option(metavar="DIR", help="Folder of model files (~/.cache/r4p/models).")
    ] = None

    def choose_engine(self) -> EngineChoice:
        """Return the engine of these options: the named one, else a script, a server with a URL, or the embedded model.

        The engine is not loaded yet.
        Raises BadEngine for an unknown name, a server without a URL, and an unreadable key.
        """
        served = "openai_compatible" if self.engine_url else "local_transformers"
        name = self.engine or ("scripted" if self.script else served)
        if name not in _READ_BY or self.engine == "scripted":
            raise BadEngine(
                f"unknown engine {name!r}; there are openai_compatible, local_vllm, local_transformers, "
                "and --script FILE for answers from a file"
            )
        if name == "openai_compatible" and not self.engine_url:
            raise BadEngine(
                f"engine {name} is a server; give its address, as in --engine-url http://HOST:8000/v1"
            )
        return EngineChoice(
            name=name,
            model=self.model,
            url=self.engine_url,
            api_key=key_file.read_key(self.api_key_file) if self.api_key_file else None,
            cache=self.cache or Path.home() / ".cache" / "r4p" / "models",
            script=self.script,
        )


def open_cache(folder: Path | None) -> EnvironmentCache:
    """Return the test environments in the folder of the option `--environments`, or in the default one."""
    return EnvironmentCache(folder or Path.home() / DEFAULT_CACHE)


@dataclass(frozen=True, kw_only=True)
class SuiteOptions:
    """Options of the commands that run the tests of a source tree."""

    python: Annotated[
        Path | None,
        Option(metavar="FILE", help="Python of the environment with the tests' dependencies."),
    ] = None
    environment: Annotated[
        str | None, Option(metavar="NAME", help="A test environment, in place of --python.")
    ] = None
    environments: CacheFolder = None
    seconds: Annotated[float, Option(min=1, help="Time limit of one run of the tests.")] = (
        suite_command.SECONDS
    )
    base_runs: Annotated[
        int, Option(min=1, max=9, help="Runs on the base, to leave flaky tests out.")
    ] = candidate_tests.BASE_RUNS

    def parse_command(self, text: str) -> SuiteCommand:
        """Return the test command `text` with the Python and the limits of these options.

        Raises BadSuiteCommand, BadRecipe and NoEnvironment.
        """
        return self.complete(suite_command.parse_command(text))

    def complete(self, command: SuiteCommand) -> SuiteCommand:
        """Return the command with the Python and the limits of these options. Raises as `parse_command` does."""
        if self.environment is not None and self.python is not None:
            raise BadSuiteCommand("--environment has a Python of its own; leave out --python")
        if self.python is not None and not self.python.exists():
            raise BadSuiteCommand(f"--python {self.python} does not exist; name an interpreter")
        python = self.python and self.python.absolute()
        if self.environment is not None:
            python = open_cache(self.environments).open(self.environment).python
        return replace(command, python=python, seconds=self.seconds)


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(EngineOptions):
    """Options of the commands that judge patches. A subclass adds `verifier`."""

    context: Context
    votes: Annotated[int, Option(min=1, max=99, help="Votes, each over another order.")] = 3
    leave_one_out: Annotated[
        bool,
        Option(
            "--leave-one-out",
            help="Leave one patch out of every vote; a verdict that depends on one rival becomes unsure.",
        ),
    ] = False
    min_lines: Annotated[
        int,
        Option(
            metavar="N", min=0, help="Do not judge patches that edit fewer lines; 0 judges all."
        ),
    ] = 0
    shortlist: Annotated[
        int | None,
        Option(
            metavar="N",
            min=0,
            help="Patches that the first part of a hybrid passes on; 0 passes on all. Default: half, at least 3.",
        ),
    ] = None
    prompt: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="Another prompt template, or VERIFIER=FILE,… for the parts of a hybrid (docs/judges.md).",
        ),
    ] = None
    calibrator: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="A calibrator that training.calibrate wrote for this judge: report probabilities, and claim by them.",
        ),
    ] = None

    def choose_judge(
        self, verifier: str, voting: VotingChoice, *, has_tests: bool = False
    ) -> tuple[EngineChoice, CalibratorFile | None]:
        """Return the engine to load, and the calibrator that was read; None without `--calibrator`.

        `verifier` is a verifier's name, and `has_tests` says whether there is a source of evidence. Raises a usage error for a choice that cannot work and for an option that does
        nothing.
        """
        catalog.check_choice(verifier, voting, has_tests=has_tests)
        choice = self.choose_engine()
        refuse_unused_options(_list_given_options(self.context), verifier, choice.name)
        catalog.check_choice(verifier, voting, self.prompt, has_tests=has_tests)
        return choice, calibrator_file.read(self.calibrator, verifier) if self.calibrator else None


def _list_given_options(context: Context) -> list[str]:
    """Return the options on the command line as they are written, such as `--votes`."""
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if (source := context.get_parameter_source(parameter.name or ""))
        and source.name == "COMMANDLINE"
    ]


def refuse_unused_options(options: Collection[str], verifier: str, engine: str) -> None:
    """Raise IncompatibleOptions if the verifier or the engine ignores one of `options`, such as `--votes`.

    `verifier` and `engine` are names. Raises UnknownVerifier for an unknown verifier.
    """
    ignored = _list_ignored_by_verifier(verifier)
    if "--write-tests" in options and "--write-tests" not in ignored:
        # The engine writes the tests of a verifier that asks no model itself.
        ignored = {option: why for option, why in ignored.items() if option not in _ENGINE_OPTIONS}
    idle = _list_ignored_by_engine(engine) | ignored
    if vain := [option for option in options if option in idle]:
        raise IncompatibleOptions(f"{vain[0]} does nothing for {idle[vain[0]]}; leave it out")


def _list_ignored_by_engine(name: str) -> dict[str, str]:
    """Return each option that the engine ignores, with the explanation."""
    unread = set(_ENGINE_OPTIONS) - {"--engine", *_READ_BY[name]}
    idle = dict.fromkeys(unread, f"engine {name}")
    if name.startswith("local_"):
        idle["--together"] = f"engine {name}, which answers one group after the other"
    return idle


def _list_ignored_by_verifier(name: str) -> dict[str, str]:
    """Return each option that the verifier ignores, with the explanation."""
    parts = catalog.parse_verifier_name(name)
    idle = {}
    if not catalog.needs_engine(name):
        idle = dict.fromkeys(_ENGINE_OPTIONS, f"verifier {name}, which asks no language model")
        idle["--prompt"] = f"verifier {name}, which settles without a prompt"
    if "execution" not in parts:
        unused = f"verifier {name}, which runs no reproduction test"
        idle |= {"--reproduction": unused, "--write-tests": unused}
    if catalog.EXECUTION_VERIFIERS.isdisjoint(parts):
        idle |= dict.fromkeys(_TEST_OPTIONS, f"verifier {name}, which runs no tests")
    if not {"rubric", "review", "r4p", "pointwise"}.isdisjoint(parts):
        idle.pop("--tree", None)
    if catalog.VOTING_VERIFIERS.isdisjoint(parts):
        idle["--votes"] = f"verifier {name}, whose answer is the same however often it is asked"
    if catalog.EARLY_STOPPING_VERIFIERS.isdisjoint(parts):
        idle["--stop-early"] = f"verifier {name}, which never stops early"
    return idle
