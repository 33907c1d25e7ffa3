"""The options that the commands about verifiers share."""

from pathlib import Path
from typing import Annotated

import typer

from model.catalog import EngineChoice

Votes = Annotated[
    int, typer.Option("--votes", min=1, max=99, help="Votes, each over another order.")
]
Url = Annotated[
    str | None, typer.Option("--engine-url", metavar="URL", help="An OpenAI-compatible API.")
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME", help="The engine's model; without a URL, an embedded one."
    ),
]
Script = Annotated[
    Path | None,
    typer.Option("--script", metavar="FILE", help="Answer from JSON lines, not a model."),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache", metavar="DIR", help="Where model files are kept (~/.cache/r4p/models)."
    ),
]


LeaveOneOut = Annotated[
    bool,
    typer.Option(
        "--leave-one-out",
        help="Leave one patch out of every vote, and claim nothing that hangs on a rival's presence.",
    ),
]


def chosen(
    url: str | None, model: str | None, script: Path | None, cache: Path | None
) -> EngineChoice:
    """The engine that the options ask for: a script, a server, or the embedded model."""
    served = "openai_compatible" if url else "local_transformers"
    return EngineChoice(
        name="scripted" if script else served,
        model=model,
        url=url,
        cache=cache or Path.home() / ".cache" / "r4p" / "models",
        script=script,
    )
