"""One draft pull request whatever breaks, and by the writer App alone."""

import json
from dataclasses import dataclass, replace

import pytest

from app.github.api.draft_publisher import (
    BranchTaken,
    DraftPublisher,
    FileChange,
    NewCommit,
    NewDraft,
)
from app.github.api.effect_store import EffectKey, EffectState
from app.github.endpoints import build_endpoints
from app.github.errors import Ambiguous, Forbidden, NotFound, Unprocessable
from app.github.http.auth import Purpose, Scope
from app.values.identifiers import CommitSha
from tests.builders.github.local_github import MemoryEffects, connect
from worker.git.alternative_commit import build_alternative_commit
from worker.git.hardened_git import Remote

DIFF = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
RIGHTS = {"contents": "write", "pull_requests": "write", "metadata": "read"}
BRANCH = "r4p/issue-1-A1"
LOST = ["502_after_effect", "reset_after_effect", "garbled"]


@dataclass
class WriterScene:
    """The writer App at work in a scene's repository."""

    scene: object
    drafts: DraftPublisher
    effects: MemoryEffects

    @property
    def key(self):
        return EffectKey(self.scene.repository, "draft:1")

    def build_draft(self):
        url = build_endpoints(self.scene.standin.url).git(self.scene.repo.full_name)
        installed = self.drafts.find_installation(self.scene.repository)
        commit = build_alternative_commit(
            Remote(url, self.drafts.token(installed)), "main", DIFF, "A1\n"
        )
        return NewDraft(BRANCH, "main", commit, "Alternative A1", "Untested. For #1.")

    def open(self, draft=None):
        installed = self.drafts.find_installation(self.scene.repository)
        return self.drafts.open(installed, self.key, draft or self.build_draft())

    def break_request(self, path, kind):
        match = f"POST /repos/{self.scene.repo.full_name}/{path}"
        self.scene.standin.fault(match, kind)

    def list_pulls(self):
        path = f"/repos/{self.scene.repo.full_name}/pulls"
        pulls = json.loads(self.scene.github.get(self.scene.repository, path).body)
        return [pull["number"] for pull in pulls if pull["head"]["ref"] == BRANCH]


@pytest.fixture
def install_writer(scene):
    """`install_writer(permissions)`: the writer App, installed with these."""
    app = scene.standin.register_app(slug="r4p-writer", permissions=RIGHTS)
    with connect(scene.standin.url, app_id=app.app_id, key=app.private_key) as github:
        effects = MemoryEffects()

        def install(permissions=RIGHTS):
            if permissions:
                scene.standin.install(app, [scene.repo], permissions)
            return WriterScene(scene, DraftPublisher(github, effects), effects)

        yield install


@pytest.fixture
def writer(install_writer):
    return install_writer()


def test_a_draft_is_a_branch_with_one_commit_and_a_draft_pull_request(scene, writer):
    mark = scene.standin.mark()
    number = writer.open()
    pull = scene.repo.pull(number)
    assert (pull.draft, pull.head_ref, pull.base_ref) == (True, BRANCH, "main")
    assert scene.repo.issue(number).author == "r4p-writer[bot]"
    assert scene.repo.read_file("a.py", BRANCH) == b"one\nthree\n"
    calls = scene.standin.calls(mark).operations
    base = "POST /repos/{owner}/{repo}"
    assert {name for name in calls if name.startswith("POST /repos")} == {
        *(f"{base}/git/{kind}" for kind in ("trees", "commits", "refs")),
        f"{base}/pulls",
    }
    history = [EffectState.PLANNED, EffectState.CONFIRMED]
    assert writer.effects.history == history
    assert writer.drafts.find_opened(writer.key) == number


def test_a_binary_file_is_sent_as_a_blob_and_a_file_can_be_deleted(scene, writer):
    draft = writer.build_draft()
    changes = (FileChange("a.py", "100644", None), FileChange("logo", "100755", b"\xff\0"))
    odd = NewCommit(draft.commit.parent, "0" * 40, changes, "A1\n")
    with pytest.raises(Unprocessable, match="GitHub made tree") as caught:
        writer.open(replace(draft, commit=odd))
    tree = str(caught.value).split("made tree ")[1][:40]
    writer.open(replace(draft, commit=replace(odd, tree=tree)))
    assert scene.repo.read_file("logo", BRANCH) == b"\xff\0"
    assert scene.repo.read_file("a.py", BRANCH) is None


@pytest.mark.parametrize("kind", LOST)
@pytest.mark.parametrize("path", ["git/refs", "pulls"])
def test_a_write_whose_answer_was_lost_is_adopted(writer, path, kind):
    draft = writer.build_draft()
    writer.break_request(path, kind)
    with pytest.raises(Ambiguous):
        writer.open(draft)
    assert writer.effects.load(writer.key).state is EffectState.AMBIGUOUS
    number = writer.open(draft)
    assert writer.list_pulls() == [number]


@pytest.mark.parametrize("path", ["git/trees", "git/commits", "git/refs", "pulls"])
def test_a_write_that_never_arrived_is_sent_again(writer, path):
    writer.break_request(path, "502")
    with pytest.raises(Ambiguous):
        writer.open()
    number = writer.open()
    assert writer.list_pulls() == [number]


def test_a_forgotten_plan_opens_no_second_draft(writer):
    draft = writer.build_draft()
    number = writer.open(draft)
    writer.effects.kept.clear()
    assert writer.open(draft) == number
    assert len(writer.list_pulls()) == 1


def test_a_branch_of_another_author_is_left_alone(scene, writer):
    scene.repo.commit({"a.py": "theirs\n"}, branch=BRANCH)
    for _ in range(2):
        with pytest.raises(BranchTaken, match=BRANCH):
            writer.open()
    assert writer.list_pulls() == []


def test_a_repository_without_the_writer_app_has_no_installation(scene, install_writer):
    with pytest.raises(NotFound):
        install_writer(None).drafts.find_installation(scene.repository)


def test_a_permission_that_was_not_granted_is_refused(install_writer):
    writer = install_writer({"contents": "read", "metadata": "read"})
    with pytest.raises(Unprocessable, match="permissions requested are not granted"):
        writer.drafts.token(writer.drafts.find_installation(writer.scene.repository))


def test_the_first_app_can_not_write_code(scene):
    with pytest.raises(Unprocessable, match="permissions requested are not granted"):
        scene.github.tokens.get_token(Scope.for_repository(scene.repository, Purpose.OPEN_DRAFT))
    drafts = DraftPublisher(scene.github, scene.effects)
    nothing = NewCommit(CommitSha("0" * 40), "0" * 40, (), "A1\n")
    draft = NewDraft(BRANCH, "main", nothing, "A1", "A1")
    with pytest.raises((Unprocessable, Forbidden)):
        drafts.open(scene.repository, EffectKey(scene.repository, "draft:1"), draft)
