"""From any webhook delivery of a story, one query leads to what the bot wrote because of it."""

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.store.queue.job_trace import trace_delivery, trace_issue
from app.db.tables.schema import confirmed_writes, deliveries

pytestmark = pytest.mark.services


def test_every_delivery_leads_to_its_comments_and_no_write_is_without_one(story):
    issue, pulls = story.open_judged_issue()
    asked = story.command(issue, "/r4p status")
    verdict = story.verdict(issue)
    assert story.answer(issue, asked)
    with transaction(story.stage.database) as connection:
        guids = connection.execute(
            select(deliveries.c.guid, deliveries.c.event).where(
                deliveries.c.installation_id == story.installation
            )
        ).all()
        written = connection.scalars(
            select(confirmed_writes.c.github_id).where(
                confirmed_writes.c.repository_id == story.repo.id
            )
        ).all()
        by_delivery = {
            row.guid: {step.github_id for step in trace_delivery(connection, row.guid)}
            for row in guids
        }
        by_issue = {step.github_id for step in trace_issue(connection, story.repo.id, issue)}
    assert len(written) == 2 + len(pulls)
    rivals = [by_delivery[row.guid] for row in guids if row.event == "pull_request"]
    assert [verdict.id in ids for ids in rivals] == [True] * len(pulls)
    assert set(written) <= set.union(*by_delivery.values())
    assert set(written) <= by_issue
