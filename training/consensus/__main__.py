"""Fit the consensus model: `python -m training.consensus --data DIR` writes its artefact, the same bytes every time.

Sums depend on the number of threads. Set OMP_NUM_THREADS=1 for the same bytes.
"""

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from model.commands.extras import require
from model.rivals import consensus_model
from model.rivals.features import columns
from training.consensus import group_sampling
from training.consensus.feature_table import table
from training.consensus.fitting import BAGS, FILES, blocks_of, learn, load, with_thresholds
from training.consensus.group_sampling import Drawn, Kind


def manifest_of(data: Path, drawn: Sequence[Drawn]) -> dict[str, Any]:
    """What the artefact was made of and with."""
    return {
        "data": {
            name: hashlib.sha256((data / name).read_bytes()).hexdigest() for name in FILES.values()
        },
        "groups": {
            kind.value: sum(one.kind is kind and not one.part for one in drawn) for kind in Kind
        },
        "parts": sum(one.part for one in drawn),
        "seeds": {"draws": group_sampling.SEED, "trees": list(range(BAGS))},
        "facts": list(columns()),
        "versions": {"numpy": np.__version__, "scikit-learn": version("scikit-learn")},
    }


def main(
    data: Annotated[Path, typer.Option(help="Folder of the labelled groups.")],
    out: Annotated[Path, typer.Option(help="The artefact.")] = Path(
        "model/rivals/consensus.json.xz"
    ),
    only_thresholds: Annotated[
        bool,
        typer.Option(
            "--only-thresholds",
            help="Keep the fits that are there, choose from where on they claim.",
        ),
    ] = False,
) -> None:
    """Fit the consensus model and write its artefact."""
    require("training.consensus", "calibrate")
    drawn = load(data)
    if only_thresholds:
        artefact = consensus_model.from_bytes(out.read_bytes())
    else:
        artefact = learn(table(drawn), blocks_of(drawn), manifest_of(data, drawn))
    artefact = with_thresholds(artefact, drawn)
    out.write_bytes(consensus_model.to_bytes(artefact))
    typer.echo(f"{out}: {len(artefact.fits)} fits, {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    typer.run(main)
