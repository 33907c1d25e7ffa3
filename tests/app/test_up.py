"""The bot under one parent: when it can't start, nothing of it is left running."""

import psutil
import pytest

from app.up import Bot, BotDown, Listen
from tests.services import wait_for

pytestmark = pytest.mark.services


def test_a_bot_that_can_not_start_says_why_and_leaves_nothing_running(tmp_path):
    before = {child.pid for child in psutil.Process().children()}
    bot = Bot(tmp_path, Listen(), {})
    with pytest.raises(BotDown, match="did not start"), bot:
        raise AssertionError("it is up")
    assert bot.children == []
    pid = bot.services.postgres_pid
    wait_for(lambda: not psutil.pid_exists(pid))
    assert {child.pid for child in psutil.Process().children()} <= before
