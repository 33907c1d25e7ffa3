"""A command whose repository the bot does not know yet waits for the job that records its delivery."""

import threading
from dataclasses import replace

import pytest

from app.db.session import transaction
from app.db.store.queue import jobs
from app.db.store.queue.jobs import Origin
from app.jobs.job import Planned, RecordEvent
from app.settings import CeilingSettings
from app.values.identifiers import RepositoryId
from worker.commands.issue_commands import IssueCommands
from worker.commands.run_command import RunCommandHandler
from worker.queue.context import Context
from worker.queue.errors import Postponed

pytestmark = pytest.mark.services


def test_a_command_waits_until_its_delivery_is_recorded(scene):
    scene.begin("w * h")
    handler = RunCommandHandler(scene.github, IssueCommands(scene.github), None, CeilingSettings())
    command = replace(scene.deliver_command("/r4p help"), repository=RepositoryId(10**9))
    with transaction(scene.database) as connection:
        origin = Origin(delivery=command.delivery)
        (record,) = jobs.enqueue(
            connection, [Planned(RecordEvent(scene.installation, command.delivery))], origin
        )
        (asked,) = jobs.enqueue(connection, [Planned(command)], origin)
    claimed = jobs.claim(scene.database, asked.id, 60)
    context = Context(scene.database, claimed, threading.Event(), lambda: False)
    with pytest.raises(Postponed, match="not recorded yet"):
        handler(context, command)
    recording = jobs.claim(scene.database, record.id, 60)
    with pytest.raises(Postponed, match="not recorded yet"):
        handler(context, command)
    assert jobs.finish(scene.database, recording)
    handler(context, command)
    assert [c.author for c in scene.repo.comments(scene.issue)] == ["maintainer"]
