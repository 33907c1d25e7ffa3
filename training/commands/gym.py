"""`r4p gym`: build gyms from git histories, show them and check them."""

import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from model.commands.execution.gym_run import app
from model.commands.exit_codes import Exit, exit_on_error, format_count, print_json, stop, warn
from model.commands.options import AsJson
from model.commands.output import show_progress
from model.errors import BadGym
from model.gyms.gym_folder import Gym, read_gym
from model.gyms.gym_task import GymTask, StatementFrom, dump_manifest, dump_task
from model.prompts.untrusted import escape_invisible
from training.commands.gym_build import build_gym, describe_statements
from training.commands.import_swebench import import_swebench
from training.gym import sample
from training.gym.gym_check import find_problems
from training.gym.harbor_export import export_harbor

__all__ = ["app"]

app.command("import-swebench")(import_swebench)
app.command("build")(build_gym)


@app.command("sample")
def copy_sample(
    out: Annotated[Path, Option(metavar="GYM", help="Folder to create.")],
) -> None:
    """Write the small gym that comes with R4P bot, with tasks of TinyDB. Exit codes: 0 written, 2 usage."""
    if out.exists():
        stop("gym sample", Exit.USAGE, f"--out {out} exists already; name a folder to create")
    source = Path(sample.__file__).parent
    shutil.copytree(source, out, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    warn("gym sample", f"{format_count(len(read_gym(out).tasks), 'task')} written to {out}")


@app.command()
def show(
    gym: Annotated[Path, Argument(metavar="GYM", help="Folder of a gym.")],
    task: Annotated[str | None, Option(metavar="ID", help="Show one task in full.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a gym holds, or one task with its statement and patches. Exit codes: 0 shown, 2 usage."""
    with exit_on_error("gym show", BadGym):
        opened = read_gym(gym)
        chosen = [item for item in opened.tasks if task in {None, item.id}]
        if not chosen and task is not None:
            raise BadGym(f"{gym} has no task {task}; `r4p gym show {gym}` lists them")
    if as_json:
        print_json(dump_manifest(opened.manifest) if task is None else dump_task(chosen[0]))
    elif task is None:
        _show_tasks(opened)
    else:
        _show_task(chosen[0])


def _show_tasks(gym: Gym) -> None:
    out = Console(highlight=False, markup=False)
    table = Table(
        "task", "fail to pass", "pass to pass", "candidates", "environment", box=SIMPLE_HEAD
    )
    for task in gym.tasks:
        counts = (len(task.fail_to_pass), len(task.pass_to_pass), len(task.candidates))
        table.add_row(task.id, *(f"{count:,}" for count in counts), task.environment)
    out.print(table)
    for reason, count in sorted(gym.manifest.refusals.items(), key=lambda item: -item[1]):
        out.print(escape_invisible(f"{count:,} commits refused: {reason}"))
    for line in describe_statements(gym.manifest.statements):
        out.print(escape_invisible(line))


def _show_task(task: GymTask) -> None:
    out = Console(highlight=False, markup=False, soft_wrap=True)
    out.print(escape_invisible(f"{task.id} ({task.repository}, {task.licence}, {task.created})\n"))
    for title, text in (
        (_name_statement(task), task.statement),
        ("true patch", task.patch),
        ("minimal patch", task.minimal_patch or "nobody looked for it"),
        ("tests", task.test_patch),
        ("fail to pass", "\n".join(task.fail_to_pass)),
    ):
        out.print(escape_invisible(f"== {title}\n{text}"))


def _name_statement(task: GymTask) -> str:
    writers = {StatementFrom.MODEL: " by a model", StatementFrom.TESTS: " from the tests"}
    return f"statement{writers[task.statement_from] if task.statement_from else ''}"


@app.command()
def check(gym: Annotated[Path, Argument(metavar="GYM", help="Folder of a gym.")]) -> None:
    """Check a gym: its files, whether each diff applies to its tree, and whether a statement gives the solution away.

    No test runs. Exit codes: 0 sound, 2 usage, 3 a task is wrong.
    """
    with exit_on_error("gym check", BadGym):
        opened = read_gym(gym)
        with show_progress(len(opened.tasks)) as (_, advance):
            problems = list(find_problems(opened, advance))
    for problem in problems:
        warn("gym check", problem)
    if problems:
        raise typer.Exit(Exit.NONE_CORRECT)
    warn("gym check", f"{format_count(len(opened.tasks), 'sound task')}")


@app.command()
def export(
    gym: Annotated[Path, Argument(metavar="GYM", help="Folder of a gym.")],
    harbor: Annotated[
        Path, Option(metavar="DIR", help="Folder to create, with a Harbor task each.")
    ],
) -> None:
    """Write the tasks of a gym for other tools. Exit codes: 0 written, 2 usage."""
    with exit_on_error("gym export", BadGym):
        count = export_harbor(read_gym(gym), harbor)
    warn("gym export", f"{format_count(count, 'Harbor task')} written to {harbor}")
