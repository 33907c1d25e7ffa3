"""The options that `r4p verify`, `evaluate` and `propose` share, and checks for options without effect."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from model import catalog
from model.catalog import EngineChoice
from model.commands import key_file
from model.errors import BadEngine, IncompatibleOptions

Votes = Annotated[
    int, typer.Option("--votes", min=1, max=99, help="Votes, each over another order.")
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="openai_compatible, local_vllm or local_transformers. Default: the first with a URL, else the last.",
    ),
]
Url = Annotated[
    str | None,
    typer.Option("--engine-url", metavar="URL", help="Base URL of an OpenAI-compatible API."),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Model name; without a URL, an embedded model."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--api-key-file", metavar="FILE", help="File that contains only the API key."),
]
Script = Annotated[
    Path | None,
    typer.Option(
        "--script",
        metavar="FILE",
        help="Take answers from a file of JSON lines instead of a model.",
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Folder of model files (~/.cache/r4p/models)."),
]
MinLines = Annotated[
    int,
    typer.Option(
        "--min-lines",
        metavar="N",
        min=0,
        help="Do not judge patches that edit fewer lines; 0 judges all.",
    ),
]
LeaveOneOut = Annotated[
    bool,
    typer.Option(
        "--leave-one-out",
        help="Leave one patch out of every vote; a verdict that depends on one rival becomes unsure.",
    ),
]

Calibrated = Annotated[
    Path | None,
    typer.Option(
        "--calibrator",
        metavar="FILE",
        help="A calibrator that training.calibrate wrote for this judge: report probabilities, and claim by them.",
    ),
]

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


def choose_engine(
    engine: str | None,
    url: str | None,
    model: str | None,
    api_key_file: Path | None,
    script: Path | None,
    cache: Path | None,
) -> EngineChoice:
    """Choose the engine: the named one, otherwise a script, a server with a URL, or the embedded model.

    Raises BadEngine for an unknown name, a server without a URL, and an unreadable key.
    """
    served = "openai_compatible" if url else "local_transformers"
    name = engine or ("scripted" if script else served)
    if name not in _READ_BY or engine == "scripted":
        raise BadEngine(
            f"unknown engine {name!r}; there are openai_compatible, local_vllm, local_transformers, "
            "and --script FILE for answers from a file"
        )
    if name == "openai_compatible" and not url:
        raise BadEngine(
            f"engine {name} is a server; give its address, as in --engine-url http://HOST:8000/v1"
        )
    return EngineChoice(
        name=name,
        model=model,
        url=url,
        api_key=key_file.read_key(api_key_file) if api_key_file else None,
        cache=cache or Path.home() / ".cache" / "r4p" / "models",
        script=script,
    )


def list_given_options(context: typer.Context) -> list[str]:
    """Return the options on the command line as they are written, such as `--votes`."""
    sources = {
        parameter: context.get_parameter_source(parameter.name or "")
        for parameter in context.command.params
    }
    return [
        parameter.opts[0]
        for parameter, source in sources.items()
        if source and source.name == "COMMANDLINE"
    ]


def refuse_unused_options(options: Collection[str], verifier: str, engine: str) -> None:
    """Raise IncompatibleOptions for an option that changes nothing; UnknownVerifier for an unknown verifier."""
    idle = _list_ignored_by_engine(engine) | _list_ignored_by_verifier(verifier)
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
    if name in catalog.ENGINELESS_VERIFIERS:
        idle = dict.fromkeys(_ENGINE_OPTIONS, f"verifier {name}, which asks no language model")
    if parts[-1] in catalog.ENGINELESS_VERIFIERS:
        idle["--prompt"] = f"verifier {name}, which settles without a prompt"
    if catalog.VOTING_VERIFIERS.isdisjoint(parts):
        idle["--votes"] = f"verifier {name}, whose answer is the same however often it is asked"
    if catalog.EARLY_STOPPING_VERIFIERS.isdisjoint(parts):
        idle["--stop-early"] = f"verifier {name}, which never stops early"
    return idle
