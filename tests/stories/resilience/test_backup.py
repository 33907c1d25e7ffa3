"""A bot whose machine is lost goes on from its backup, with its own comments."""

import shutil
from contextlib import ExitStack

import pytest
from typer.testing import CliRunner

from app.cli import main
from app.db.session import create_database_engine
from app.operator.bot import Bot
from app.web.listen_address import Listen
from tests.stories.stage import build_script_settings, run_stage
from tests.stories.story import Story
from tests.stories.verdicts import ADVISORY

pytestmark = [pytest.mark.services, pytest.mark.proof]


def call(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr


def start_again(stage, stack):
    """Start a bot on the folder of the one that was lost, at a new address."""
    stage.bot = stack.enter_context(Bot(stage.bot.data, Listen(), stage.settings))
    stage.database = create_database_engine(stage.bot.services.database_url, pool_size=2)
    stack.callback(stage.database.dispose)
    stage.standin.set_webhook_url(stage.app.app_id, f"{stage.bot.listen.url}/api/github/webhooks")


def test_a_bot_restored_from_its_backup_goes_on(tmp_path):
    archive = tmp_path / "backup.tar"
    with run_stage(tmp_path, build_script_settings(tmp_path)) as stage, ExitStack() as stack:
        story = Story.begin(stage, "backup", ADVISORY, {})
        issue, (first, second) = story.open_judged_issue("w - h", "w * h")
        comment = story.verdict(issue)
        assert comment.rows == {first: "Incorrect", second: "Correct"}
        adapter = stage.bot.data / "trainings" / "run-1" / "adapter.bin"
        adapter.parent.mkdir(parents=True)
        adapter.write_bytes(b"weights")
        secrets = stage.bot.data / "secrets"
        secrets.mkdir(mode=0o700)
        (secrets / "webhook-secret").touch(mode=0o600)
        call("backup", archive, "--data", stage.bot.data)

        story.push(first, "h * w")  # after the backup: the restored bot has never heard of it
        story.settle()
        stage.database.dispose()
        stage.bot.__exit__(None, None, None)
        shutil.rmtree(stage.bot.data)
        call("restore", archive, "--data", stage.bot.data)
        assert adapter.read_bytes() == b"weights"
        assert secrets.stat().st_mode & 0o077 == 0, "its names are the owner's, too"

        start_again(stage, stack)
        stage.tick("reconcile")
        story.wait_for(lambda: len(story.evaluations()) > 1)
        story.settle()
        restored = story.verdict(issue)
        assert restored.id == comment.id
        assert restored.rows == {first: "Correct", second: "Correct"}
        third = story.rival(issue, "w + h + 1")
        story.settle()
        assert story.verdict(issue).rows[third] == "Incorrect"
