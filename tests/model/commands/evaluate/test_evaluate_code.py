"""`r4p evaluate --gym … --code` shows the code of the base as the bot does."""

import pytest
import typer
from typer.testing import CliRunner

from model.commands import gym_code
from model.commands.evaluate import evaluate
from model.errors import BadGym
from model.evaluation.gyms import gym_groups
from model.evaluation.run_file import read_run_file
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.model.evaluation.gyms import gym_builders

app = typer.Typer()
app.command()(evaluate)
PATCHES = [
    patch.patch.diff for patch in gym_groups.build_groups([gym_builders.build_task()])[0].patches
]


@pytest.fixture
def gym(tmp_path):
    return gym_builders.write_tasks(tmp_path, gym_builders.build_task())


@pytest.fixture
def ask(gym, tmp_path, monkeypatch):
    """Runs the command on the gym; returns its result and the prompts that the engine saw."""
    monkeypatch.chdir(tmp_path)

    def ask(*arguments, prompt="r4p_group_v2", where=("--gym", gym)):
        reply = build_completion("Patch 1: 0.90\nPatch 2: 0.10\n\\boxed{1}")
        with serve_chat(models=[MODELS], chat=[reply]) as server:
            engine = ("--engine-url", server.url, "--verifier", "r4p", "--prompt", prompt)
            options = (*map(str, where), *engine, "--votes", "1", "--out", "runs", *arguments)
            result = CliRunner().invoke(app, options)
            bodies = server.list_bodies("/v1/chat/completions")
        return result, "\n".join(part["content"] for body in bodies for part in body["messages"])

    return ask


def list_judges(folder):
    return sorted(
        judged.key.verifier for path in folder.glob("*.jsonl") for judged in read_run_file(path)
    )


def test_prompt_shows_the_touched_definition_with_its_tests(ask, tmp_path):
    result, prompt = ask("--code")
    assert result.exit_code == 0, result.output
    shown = prompt.partition("<patch-base>")[2].partition("</patch-base>")[0]
    assert "def slugify(title):" in shown
    assert "test_words" in shown
    assert list_judges(tmp_path / "runs") == ["r4p-code"]


def test_judge_without_code_is_another_judge(ask, tmp_path):
    ask("--code")
    result, prompt = ask()
    assert result.exit_code == 0, result.output
    assert "<patch-base>" not in prompt
    assert list_judges(tmp_path / "runs") == ["r4p", "r4p-code"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"where": ("--groups", "groups.jsonl")}, "--code reads the trees of a gym"),
        ({"prompt": "r4p_group"}, "--code does nothing for verifier r4p with this prompt"),
    ],
    ids=["no gym", "prompt without code"],
)
def test_code_that_nothing_shows_is_an_error(ask, arguments, message):
    result, prompt = ask("--code", **arguments)
    assert (result.exit_code, prompt) == (2, "")
    assert message in result.output


def test_no_code_is_read_for_patches_that_no_task_has(gym):
    with gym_code.open_gym_readers(gym) as readers:
        read = readers.code
        assert read([*PATCHES, "another"], 1_000) == ""
        assert read(PATCHES[:1], 10) == ""
        assert "def slugify(title):" in read(PATCHES[:1], 1_000)


def test_gym_without_trees_is_an_error(gym):
    (gym / "trees.bundle").unlink()
    with pytest.raises(BadGym, match="can't be unpacked"), gym_code.open_gym_readers(gym):
        pass
