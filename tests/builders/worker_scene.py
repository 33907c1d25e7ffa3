"""A repository of the stand-in that the bot knows, and the bot's own parts to work on it in process."""

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import Engine, func, insert, select

from app.comments import format_group_marker
from app.db.session import transaction
from app.db.store.issues import candidates, evaluations, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation
from app.db.store.queue.github_state import PostgresEtags, PostgresLimiter
from app.db.tables.schema import evaluations as evaluation_table
from app.db.tables.schema import installations, repositories, votes
from app.github.endpoints import build_endpoints
from app.github.http.auth import App as OurApp
from app.github.http.connection import GitHub
from app.github.http.rate_limiter import WriteLimits
from app.jobs.job import EvaluateIssue, RunCommand, VerifyGroup
from app.settings import CeilingSettings
from app.values.identifiers import (
    CommandSource,
    DeliveryGuid,
    InstallationId,
    IssueNumber,
    RepositoryId,
)
from model import catalog
from model.engines.scripted import ScriptedEngine, ScriptLine
from tests.builders.github.pull_requests import build_pull
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.queue_rows import insert_delivery
from tests.github.facts import App
from tests.github.repo import Repo
from tests.github.stand_in import StandIn
from worker.git.checkout import Checkouts
from worker.git.tree_export import TreeExporter
from worker.git.tree_store import TreeStore
from worker.judging.ceilings import CeilingGuard
from worker.judging.collect import EvaluateIssueHandler
from worker.judging.rivals import RivalCollector
from worker.judging.trained_models import JudgeSetup
from worker.judging.tree_handover import TreeHandover
from worker.judging.verify import VerifyGroupHandler

CONFIG = "version: 1\nmode: advisory\nquiet_minutes: 0\nvotes: 2\ncomments: all\n"
FILES = {"area.py": "def area(w, h):\n    return w + h\n", ".github/r4p.yml": CONFIG}
RESULTS = ("w * h", "w - h")
HOST = "github.com"
_numbers = count(1)


def area(result):
    return {"area.py": f"def area(w, h):\n    return {result}\n"}


def verifying():
    """The verifier on an engine that holds a product to be right."""
    line = ScriptLine(box_containing=("w * h",), repeat=True)
    verifier = catalog.load_verifier("r4p", ScriptedEngine([line]))
    return VerifyGroupHandler(lambda: JudgeSetup("r4p", verifier, catalog.load_consensus()))


def save_repository(database, installation, repo, *, config_text=None):
    """Store the installation and its repository, as the first webhook does."""
    owner = insert(installations).values(id=installation, account="scene")
    row = insert(repositories).values(
        id=repo.id,
        installation_id=installation,
        full_name=repo.full_name,
        default_branch="main",
        config_text=config_text,
    )
    with transaction(database) as connection:
        connection.execute(owner)
        connection.execute(row)


@dataclass
class Scenery:
    """Arranges one world after the other, each with a repository and an installation of its own."""

    standin: StandIn
    app: App
    database: Engine
    directory: Path
    repo: Repo = field(init=False)
    installation: InstallationId = field(init=False)
    issue: IssueNumber = field(init=False)
    pulls: list[int] = field(init=False)

    def __post_init__(self):
        url = replace(build_endpoints(self.standin.url), api_version=self.standin.api_version)
        app = OurApp(self.app.app_id, SecretStr(self.app.private_key))
        etags = PostgresEtags(self.database)
        self.github = GitHub.open(app, url, PostgresLimiter(self.database), etags)
        self.checkouts = Checkouts(self.directory, url)

    @property
    def exports(self):
        return TreeExporter(self.directory.parent / "trees")

    @property
    def trees(self):
        return TreeStore(self.exports.directory)

    @property
    def suite_trees(self):
        return TreeStore(self.directory.parent / "test-trees")

    def collecting(
        self, *, checkouts=None, has_agent=True, limits=None, reads_code=False, **ceilings
    ):
        """The handler that looks at an issue."""
        fetched = checkouts or self.checkouts
        collector = RivalCollector(self.github, fetched, HOST)
        exports = replace(self.exports, limits=limits) if limits else self.exports
        handover = TreeHandover(self.github, fetched, exports)
        guard = CeilingGuard(CeilingSettings(**ceilings))
        return EvaluateIssueHandler(collector, handover, has_agent, guard, reads_code)

    # ---- arranging

    def begin(self, *results, config=CONFIG):
        """A new repository with an issue and its rivals; the bot knows of the repository only."""
        files = FILES | {".github/r4p.yml": config}
        if config is None:
            del files[".github/r4p.yml"]
        self.repo = self.standin.create_repository(f"scene-{next(_numbers)}/areas", files)
        self.standin.grant(self.repo, "maintainer", "maintain")
        self.installation = InstallationId(self.standin.install(self.app, [self.repo]))
        self.issue = IssueNumber(self.repo.open_issue("Area is wrong", "It adds."))
        self.pulls = [
            self.repo.open_pr("Fix", f"Fixes #{self.issue}", files=area(result)).number
            for result in results
        ]
        save_repository(self.database, self.installation, self.repo, config_text=CONFIG)

    @property
    def id(self):
        return RepositoryId(self.repo.id)

    def want_evaluation(self, trigger="pull_request", asked_in=None, **more):
        """Return the job that looks at the issue."""
        return EvaluateIssue(self.installation, self.id, self.issue, trigger, asked_in, **more)

    def collect(self, **options):
        """Look at the issue once; return the job that did."""
        job = self.want_evaluation(**options)
        carry_out(self.database, self.collecting(), job)
        return job

    def store_evaluation(self):
        """An evaluation of all rivals as they stand; the job that judges it."""
        pulls = [self.repo.pull(number) for number in self.pulls]
        with transaction(self.database) as connection:
            groups.upsert_pulls(
                connection, self.id, [build_pull_row(pull, pull.state) for pull in pulls]
            )
            text = ("Area is wrong", "It adds.")
            group = groups.upsert_group(connection, self.id, self.issue, text, "open")
            groups.save_links(connection, group, [(number, "closing") for number in self.pulls])
            taken = tuple(
                Candidate(
                    pull.number,
                    pull.head_sha,
                    pull.base_sha,
                    build_diff(result),
                    1,
                    None,
                    "closing",
                )
                for pull, result in zip(pulls, RESULTS, strict=False)
            )
            for candidate in taken:
                candidates.save(connection, self.id, candidate)
            new = NewEvaluation(group, "pull_request", "advisory", 2, *text, taken)
            created = evaluations.create(connection, self.id, new)
        return VerifyGroup(self.installation, self.id, self.issue, created.id)

    def deliver_command(self, line, author="maintainer"):
        """A comment on the issue, delivered; the job that obeys it."""
        comment = self.repo.comment(self.issue, line, author)
        return self._build_command(self.issue, str(comment))

    def deliver_review(self, line, author="maintainer"):
        """A review of the first rival, delivered; the job that obeys it."""
        review = self.repo.review(self.pulls[0], "COMMENTED", author, line)
        return self._build_command(self.pulls[0], f"review-{review}")

    def _build_command(self, number, asked_in):
        guid = self.store_last_delivery()
        return RunCommand(self.installation, self.id, number, CommandSource(asked_in), guid)

    def store_last_delivery(self):
        """Store the newest webhook of the installation as the web process does; return its GUID."""
        sent = [d for d in self.standin.deliveries() if d.installation_id == self.installation][-1]
        store_delivery(self.database, sent, repository_id=self.id)
        return DeliveryGuid(sent.guid)

    def use_up_replies(self):
        """Let replies have used their share of this hour's write limit."""
        recently = datetime.now(UTC).timestamp() - 120
        limits = WriteLimits(writes=(recently,) * 160, replies=(recently,) * 160)
        PostgresLimiter(self.database).change(self.installation, lambda _: (limits, None))

    # ---- observing: never ids, for each world has its own

    def read_github(self):
        """What stands on GitHub by our hand: comments, the conclusions of checks, reactions."""
        ours = [c for c in self.repo.comments(self.issue) if c.author == self.app.bot_login]
        return (
            sorted("verdict" if format_group_marker(1) in c.body else "reply" for c in ours),
            [[run.conclusion for run in self.repo.check_runs(pull)] for pull in self.pulls],
            sorted(r for c in self.repo.comments(self.issue) for r, _ in c.reactions),
        )

    def read_database(self, _database=None):
        """Evaluations by state, how many votes, and the kinds of jobs that wait."""
        with transaction(self.database) as connection:
            states = list(
                connection.scalars(select(evaluation_table.c.state).order_by(evaluation_table.c.id))
            )
            cast = connection.scalar(select(func.count()).select_from(votes))
        return states, cast, [job.kind for job in waiting(self.database)]


def build_pull_row(pull, state="open"):
    """Build what the bot stores of a pull request of the stand-in."""
    return build_pull(pull.number, state, pull.head_sha, pull.base_sha, pull.base_ref)


def store_delivery(database, sent, **columns):
    """Store a webhook of the stand-in as the web process does."""
    row = {"guid": sent.guid, "event": sent.event, "installation_id": sent.installation_id}
    with transaction(database) as connection:
        insert_delivery(connection, json.dumps(sent.payload).encode(), **row, **columns)


def build_diff(result):
    """Build the diff that makes `area` return `result`."""
    return (
        "diff --git a/area.py b/area.py\n--- a/area.py\n+++ b/area.py\n"
        f"@@ -1,2 +1,2 @@\n def area(w, h):\n-    return w + h\n+    return {result}\n"
    )
