"""`python -m training.gpu_proof`: pack parts, run slices on the rented machine, collect results, write the report."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from model.commands.exit_codes import STDERR, Exit, exit_on_error, format_count, stop
from training.gpu_proof import slice_runner
from training.gpu_proof.bundle import BadPart, receive_part
from training.gpu_proof.settings import read_size
from training.gpu_proof.slice_runner import MachineNotReady
from training.gpu_proof.slices import BY_NAME, SliceStatus, TimeLimits

_NAME = "gpu-proof"
LEFT = 3
"""Exit code: slices are left; the same command goes on."""
_MEGABYTE = 1_000_000

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True, help=__doc__
)
_Home = Annotated[Path, Option(metavar="DIR", help="Folder that the parts were received in.")]
_Size = Annotated[str, Option(help="Size of the proof: quick or full.")]


@app.command()
def pack(
    data: Annotated[Path, Option(metavar="DIR", help="Folder of the labelled groups.")],
    out: Annotated[Path, Option(metavar="DIR", help="New folder of the parts.")],
    cache: Annotated[
        Path | None, Option(metavar="DIR", help="Folder of model files (~/.cache/r4p/models).")
    ] = None,
    part_mb: Annotated[int, Option(min=1, help="Most megabytes of a part.")] = 48,
    python: Annotated[str, Option(help="Python version of the rented machine.")] = "3.12",
    there: Annotated[
        list[str] | None, Option(help="Package that the machine has already; repeat it.")
    ] = None,
) -> None:
    """Pack source, wheels, weights and data into parts, and print the commands for the rented machine."""
    from training.curation.dataset_builder import NothingToLearn
    from training.gpu_proof.data_selection import LeakedIssue
    from training.gpu_proof.packing import PackRequest
    from training.gpu_proof.packing import pack as write

    kept = cache or Path.home() / ".cache" / "r4p" / "models"
    request = PackRequest(data, out, kept, part_mb * _MEGABYTE, python, tuple(there or ()))
    errors = (BadPart, LeakedIssue, NothingToLearn, subprocess.CalledProcessError)
    with exit_on_error(_NAME, *errors):
        manifest = write(request)
    size = sum(chunk.size for chunk in manifest.chunks) / _MEGABYTE
    STDERR.print(f"{out}: {format_count(len(manifest.parts), 'part')}, {size:,.0f} MB")
    sys.stdout.write(
        "On the rented machine, after each transfer of a part:\n"
        "  python3 part-NN/receive.py HOME\n"
        "Then, until it says that nothing is left:\n"
        "  sh HOME/prove run --home HOME --size full\n"
        "  sh HOME/prove collect --home HOME --size full --out RESULTS\n"
        "Here, with the results:\n"
        "  python -m training.gpu_proof report --out DIR RESULTS/part-*\n"
    )


@app.command()
def run(
    home: _Home,
    size: _Size = "full",
    minutes: Annotated[float, Option(min=0.01, help="Most minutes of this command.")] = 9.0,
    rent: Annotated[
        float, Option(min=0.01, help="Minutes after the first part, in which slices may run.")
    ] = 30.0,
    grace: Annotated[float, Option(min=0.1, help="Seconds that a slice gets to stop.")] = 20.0,
    least: Annotated[float, Option(min=0, help="Seconds below which no slice begins.")] = 60.0,
) -> None:
    """Run the slices that are left, in the order of their value.

    Exit codes: 0 all finished, 1 a slice failed, 2 something is missing, 3 slices are left.
    """
    limits = TimeLimits(60 * minutes, 60 * rent, grace, least)
    begun_at = time.time()
    with exit_on_error(_NAME, MachineNotReady, BadPart):
        records = slice_runner.run_slices(
            home.resolve(), read_size(home, size), limits, STDERR.print, begun_at
        )
    failed = [name for name, r in records.items() if r.status is SliceStatus.FAILED]
    if failed:
        stop(_NAME, 1, f"failed: {', '.join(failed)}; see {home / size / 'results' / 'logs'}")
    if left := slice_runner.list_open(records):
        stop(_NAME, LEFT, f"left: {', '.join(left)}; the same command goes on with them")
    STDERR.print("all slices have finished; collect the results")


@app.command(name="slice")
def do_slice(
    name: Annotated[str, Argument(help="Name of the slice.")],
    home: _Home,
    size: _Size,
    end: Annotated[float, Option(help="Time to stop, in seconds since the epoch.")],
) -> None:
    """Do one slice in this process. `run` starts it."""
    from training.gpu_proof import slice_work

    context = slice_work.SliceContext(home, read_size(home, size), end)
    try:
        figures = slice_work.do_slice(context, BY_NAME[name])
    except slice_work.TimeUp:
        raise typer.Exit(slice_runner.UNFINISHED) from None
    except slice_work.SliceFailed as error:
        stop(_NAME, 1, str(error))
    context.results.mkdir(parents=True, exist_ok=True)
    machine = context.results / "machine.json"
    machine.write_text(json.dumps(slice_work.describe_machine(), indent=2) + "\n")
    (context.work / f"{name}.json").write_text(json.dumps(figures))


@app.command()
def collect(
    home: _Home,
    out: Annotated[Path, Option(metavar="DIR", help="New folder of the parts to send back.")],
    size: _Size = "full",
    part_mb: Annotated[int, Option(min=1, help="Most megabytes of a part.")] = 15,
    adapters: Annotated[bool, Option(help="Also send the trained adapters.")] = True,
) -> None:
    """Cut results, records, metrics and adapters into parts to send back."""
    from training.gpu_proof.report import list_results

    with exit_on_error(_NAME, BadPart):
        files = list_results(home, size, adapters=adapters)
        from training.gpu_proof.bundle import write_parts

        manifest = write_parts(files, out, part_mb * _MEGABYTE)
    STDERR.print(f"{out}: {format_count(len(manifest.parts), 'part')}")


@app.command()
def report(
    parts: Annotated[list[Path], Argument(metavar="PART…", help="Parts that were sent back.")],
    out: Annotated[Path, Option(metavar="DIR", help="Folder of results and of the report.")],
) -> None:
    """Join the parts that came back, and write report.html, findings.md and findings.json."""
    from training.gpu_proof.report import write_proof_report

    with exit_on_error(_NAME, BadPart):
        for part in parts:
            missing = receive_part(part, out)
        if missing:
            stop(_NAME, Exit.USAGE, f"parts {missing} are missing; give them too")
        write_proof_report(out)
    typer.echo((out / "findings.md").read_text(), nl=False)


if __name__ == "__main__":
    app(prog_name=_NAME)
