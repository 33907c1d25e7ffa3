"""The bot's GitHub room against the stand-in: an App, a repository, and who publishes there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from app.github.api.effect_store import EffectKey
from app.github.api.publisher import CheckDraft, CommentDraft, Publisher
from app.github.http.connection import GitHub
from app.values.identifiers import (
    CommitSha,
    InstallationId,
    IssueNumber,
    IssueRef,
    RepositoryId,
    RepositoryRef,
)
from tests.builders.github.local_github import MemoryEffects, connect
from tests.github.facts import App
from tests.github.repo import Repo
from tests.github.stand_in import StandIn

MARKER = "<!-- r4p:verdict -->"
FILES = {"a.py": "one\ntwo\n", ".github/r4p.yml": "mode: advisory\n"}
_numbers = count(1)


@dataclass
class Scene:
    standin: StandIn
    app: App
    repo: Repo
    repository: RepositoryRef
    github: GitHub
    publisher: Publisher
    effects: MemoryEffects

    def issue(self, number: int) -> IssueRef:
        return IssueRef(self.repository, IssueNumber(number))

    def rivals(self, issue: int, how_many: int):
        return [
            self.repo.open_pr("Fix", f"Fixes #{issue}", files={"a.py": f"{n}\n"})
            for n in range(how_many)
        ]

    @property
    def key(self) -> EffectKey:
        return EffectKey(self.repository, "comment:group:1")

    def comment(self, issue: int, text: str = "verdict") -> int:
        draft = CommentDraft(IssueNumber(issue), f"{MARKER}\n{text}", MARKER)
        return self.publisher.comment(self.key, draft)

    def check(self, head: str, title: str = "Judged correct") -> int:
        key = EffectKey(self.repository, f"check:{head}")
        draft = CheckDraft("r4p/verdict", CommitSha(head), "success", title, "Why it is so.")
        return self.publisher.check_run(key, draft)


@contextmanager
def open_scene(standin: StandIn, app: App, **repository: bool) -> Iterator[Scene]:
    """A fresh repository with the App on it; at the end, no rule of GitHub's may be broken."""
    before = len(standin.violations())
    repo = standin.create_repository(f"room-{next(_numbers)}/tool", FILES, **repository)
    installation = InstallationId(standin.install(app, [repo]))
    reference = RepositoryRef(installation, RepositoryId(repo.id), repo.full_name)
    effects = MemoryEffects()
    version = standin.api_version
    with connect(
        standin.url, app_id=app.app_id, key=app.private_key, api_version=version
    ) as github:
        publisher = Publisher(github, effects)
        yield Scene(standin, app, repo, reference, github, publisher, effects)
    standin.clear_faults()
    broken = standin.violations()[before:]
    assert broken == [], broken


def links(facts):
    return {linked.pull.number: linked.link for linked in facts.pulls}
