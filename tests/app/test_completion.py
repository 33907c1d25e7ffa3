"""The shell completes sub-commands of commands whose modules load only when they run."""

import pytest
import typer
from typer.testing import CliRunner

from app.cli import main
from app.completion import SUB_COMMANDS
from app.operator import config_command, models_cli
from deploy.reference.commands import LOADED_LATER, UNCOMPLETED, list_commands
from deploy.write_reference import DOCS
from model.commands.extras import PASSED_ON
from training.commands import cli as train_cli
from training.commands import datasets, gym, labels

MODULES = {
    "config": config_command.main,
    "gym": gym.app,
    "labels": labels.app,
    "models": models_cli.main,
    "train": train_cli.main,
    "train dataset": datasets.app,
    "train labels": labels.app,
}


def complete(line):
    """Return what bash offers when TAB is pressed at the end of `line`."""
    environment = {
        "_R4P_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    return CliRunner().invoke(main, prog_name="r4p", env=environment).stdout.split()


@pytest.mark.parametrize("path", MODULES)
def test_the_list_holds_the_sub_commands_that_the_module_shows(path):
    commands = typer.main.get_command(MODULES[path]).commands
    shown = sorted(name for name, command in commands.items() if not command.hidden)
    assert list(SUB_COMMANDS[path]) == shown


def test_each_command_that_passes_its_words_on_has_a_list():
    commands = typer.main.get_command(main).commands
    passing = {
        name
        for name, each in commands.items()
        if PASSED_ON.items() <= each.context_settings.items()
    }
    assert passing == {path for path in SUB_COMMANDS if " " not in path}
    assert SUB_COMMANDS.keys() == MODULES.keys()


@pytest.mark.parametrize("path", LOADED_LATER)
def test_only_r4p_itself_offers_to_install_completion(path):
    """Completion that another application installs would be that of a program that does not exist."""
    source = LOADED_LATER[path]
    if isinstance(source, typer.Typer):
        options = {option.name for option in typer.main.get_command(source).params}
        assert not options & {"install_completion", "show_completion"}


def test_the_reference_names_the_commands_whose_options_are_not_completed():
    paths = [path for path, _ in list_commands("r4p", typer.main.get_command(main))]
    left = {path for path in paths if "--help" not in complete(f"{path} --")}
    assert left == {
        path for path in paths if f"{path} ".startswith(tuple(f"{each} " for each in UNCOMPLETED))
    }
    page = (DOCS / "reference-commands.md").read_text().partition("\n## ")[0]
    assert all(f"`{path}`" in page for path in UNCOMPLETED)


@pytest.mark.parametrize("path", SUB_COMMANDS)
def test_tab_offers_the_sub_commands(path):
    assert complete(f"r4p {path} ") == list(SUB_COMMANDS[path])


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("r4p models pro", ["promote"]),
        ("r4p train dataset b", ["build"]),
        ("r4p models nothing", []),
        ("r4p models promote ", []),
        ("r4p mod", ["models"]),
        ("r4p jobs --re", ["--requeue"]),
        ("r4p train status --js", []),
        ("r4p outcomes export --o", []),
    ],
)
def test_tab_completes_what_is_typed(line, offered):
    assert complete(line) == offered
