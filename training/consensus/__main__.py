"""Fit the consensus model: `python -m training.consensus --data DIR` writes its artefact.

The bytes are the same each time, with OMP_NUM_THREADS=1: sums depend on the number of threads.
"""

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from typer import Option

from model.commands.extras import require_extras
from model.rivals import consensus_model
from model.rivals.features import list_columns
from training.consensus import group_sampling
from training.consensus.feature_table import build_table
from training.consensus.fitting import (
    BAGS,
    FILES,
    add_thresholds,
    fit_artefact,
    form_blocks,
    load_groups,
)
from training.consensus.group_sampling import GroupKind, SampledGroup


def build_manifest(data: Path, drawn: Sequence[SampledGroup]) -> dict[str, Any]:
    """Describe as JSON values what a consensus artefact was fitted with: data files, groups, seeds, versions.

    `data` is the folder of the labelled groups, and `drawn` are the sampled groups.
    """
    return {
        "data": {
            name: hashlib.sha256((data / name).read_bytes()).hexdigest() for name in FILES.values()
        },
        "groups": {
            kind.value: sum(sample.kind is kind and not sample.is_part for sample in drawn)
            for kind in GroupKind
        },
        "parts": sum(sample.is_part for sample in drawn),
        "seeds": {"draws": group_sampling.SEED, "trees": list(range(BAGS))},
        "facts": list(list_columns()),
        "versions": {"numpy": np.__version__, "scikit-learn": version("scikit-learn")},
    }


def main(
    data: Annotated[Path, Option(help="Folder of the labelled groups.")],
    out: Annotated[Path, Option(help="File of the artefact.")] = Path(
        "model/rivals/consensus.json.xz"
    ),
    only_thresholds: Annotated[
        bool,
        Option(
            "--only-thresholds", help="Keep the existing fits and choose only their thresholds."
        ),
    ] = False,
) -> None:
    """Fit the model of the `consensus` verifier on the labelled groups in `data`, and write it to `out`."""
    require_extras("training.consensus", "calibrate")
    drawn = load_groups(data)
    if only_thresholds:
        artefact = consensus_model.from_bytes(out.read_bytes())
    else:
        artefact = fit_artefact(build_table(drawn), form_blocks(drawn), build_manifest(data, drawn))
    artefact = add_thresholds(artefact, drawn)
    out.write_bytes(consensus_model.to_bytes(artefact))
    typer.echo(f"{out}: {len(artefact.fits)} fits, {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    typer.run(main)
