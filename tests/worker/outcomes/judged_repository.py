"""A repository of the stand-in with an issue and two rivals, judged in public, as the bot stored it."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import insert, select, update

from app.db.session import transaction
from app.db.store.issues import evaluations, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation
from app.db.store.queue.effects import build_comment_key
from app.db.tables.schema import effects
from app.db.tables.schema import evaluations as evaluation_table
from app.db.tables.schema import outcome_events as event_table
from app.db.tables.schema import outcomes as outcome_table
from app.jobs.job import RecordEvent
from app.jobs.outcome_jobs import MeasureSurvival, ResolvePermission
from app.values.identifiers import InstallationId, IssueNumber, PullNumber, RepositoryId
from tests.builders.history import stored_outcomes
from tests.builders.job_attempts import carry_out
from tests.builders.worker_scene import build_pull_row, store_delivery
from worker.outcomes.record_event import RecordEventHandler

ORIGINAL = "def area(w, h):\n    return w\n"
FIX = "def area(w, h):\n    if w is None:\n        return 0\n    return w * h\n"
OTHER_FIX = "def area(w, h):\n    return (w or 0) * h\n"
RECORD = RecordEventHandler(None, "r4p-bot", "github.com", 60.0, 0.0)


class JudgedRepository:
    """A repository with an issue and two rival pull requests, which the bot judged in public."""

    def __init__(self, standin, database, name, app=None):
        self.standin, self.database = standin, database
        url = "http://127.0.0.1:9/hook"
        self.app = app or standin.register_app(slug=name, webhook_url=url)
        self.repo = standin.create_repository(f"octo/{name}", {"area.py": ORIGINAL})
        self.seen = {delivery.id for delivery in standin.deliveries()}
        self.installation = InstallationId(standin.install(self.app, [self.repo]))
        self.id = RepositoryId(self.repo.id)
        standin.grant(self.repo, "maintainer", "maintain")
        standin.grant(self.repo, "passer-by", "read")
        self.issue = IssueNumber(self.repo.open_issue("Area is wrong"))
        body = f"Fixes #{self.issue}"
        self.first = self.repo.open_pr("Multiply", body, files={"area.py": FIX})
        self.second = self.repo.open_pr("Guard", body, files={"area.py": OTHER_FIX})
        self.record()
        self.comment = self.repo.comment(self.issue, "The verdict", "maintainer")
        with transaction(database) as connection:
            self.group = self._judge(connection)

    def _judge(self, connection):
        pulls = (self.first, self.second)
        rows = [build_pull_row(pull) for pull in pulls]
        groups.upsert_pulls(connection, self.id, rows)
        group = groups.upsert_group(connection, self.id, self.issue, ("Area", ""), "open")
        groups.save_links(connection, group, [(row.number, "closes") for row in rows])
        submitted = tuple(
            Candidate(row.number, row.head_sha, row.base_sha, "diff", 1) for row in rows
        )
        new = NewEvaluation(group, "issue", "advisory", 4, "Area", "", submitted)
        evaluations.create(connection, self.id, new)
        long_ago = datetime.now(UTC) - timedelta(hours=1)
        connection.execute(
            update(evaluation_table)
            .where(evaluation_table.c.group_id == group)
            .values(state="published", verified_at=long_ago, published_at=long_ago)
        )
        shown = {"state": "confirmed", "github_id": self.comment, "content": ""}
        writer = {"job_id": 1, "token": 1}
        connection.execute(
            insert(effects).values(
                key=build_comment_key(group), repository_id=self.id, **shown, **writer
            )
        )
        return group

    def record(self):
        """Let the bot see every webhook that GitHub has to tell by now."""
        for sent in self.standin.deliveries():
            if sent.id in self.seen or sent.installation_id != self.installation:
                continue
            self.seen.add(sent.id)
            store_delivery(self.database, sent)
            carry_out(self.database, RECORD, RecordEvent(self.installation, sent.guid))

    def do(self, handler, job):
        """Run a job twice, because a handler that died after its commit runs again."""
        carry_out(self.database, handler, job)
        before = self.rows()
        carry_out(self.database, handler, job)
        assert self.rows() == before

    def resolve(self, login):
        """Return the job that asks GitHub for a person's permission."""
        return ResolvePermission(self.installation, self.id, login)

    def measure_survival(self, pull, days=7):
        """Return the job that measures how much of a pull request survives."""
        return MeasureSurvival(self.installation, self.id, PullNumber(pull), days)

    def rows(self):
        with transaction(self.database) as connection:
            return [
                sorted(connection.execute(select(table)).all(), key=repr)
                for table in (event_table, outcome_table)
            ]

    def list_outcomes(self):
        """Return pull request, kind, reason and permission of each outcome."""
        with transaction(self.database) as connection:
            rows = stored_outcomes.list_rows(connection, self.group)
        return [(row.pull, str(row.kind), row.reason, row.permission) for row in rows]
