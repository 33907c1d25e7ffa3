"""One draft pull request whatever breaks, and by the second App alone."""

import base64
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
from tests.builders.local_github import MemoryEffects, connected
from worker.git.alternative_commit import build_alternative_commit
from worker.git.hardened_git import Remote

DIFF = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
RIGHTS = {"contents": "write", "pull_requests": "write", "metadata": "read"}
BRANCH = "r4p/issue-1-A1"
LOST = ["502_after_effect", "reset_after_effect", "garbled"]


@dataclass
class Desk:
    """The second App at work in a scene's repository."""

    scene: object
    drafts: DraftPublisher
    effects: MemoryEffects

    @property
    def key(self):
        return EffectKey(self.scene.repository, "draft:1")

    def new(self, **changes):
        url = build_endpoints(self.scene.standin.url).git(self.scene.repo.full_name)
        ours = self.drafts.find_installation(self.scene.repository)
        commit = build_alternative_commit(
            Remote(url, self.drafts.token(ours)), "main", DIFF, "A1\n"
        )
        draft = NewDraft(BRANCH, "main", commit, "Alternative A1", "Untested. For #1.")
        return replace(draft, **changes)

    def open(self, new=None):
        ours = self.drafts.find_installation(self.scene.repository)
        return self.drafts.open(ours, self.key, new or self.new())

    def breaks(self, path, kind):
        match = f"POST /repos/{self.scene.repo.full_name}/{path}"
        self.scene.standin.fault(match, kind)

    def pulls(self):
        path = f"/repos/{self.scene.repo.full_name}/pulls"
        found = json.loads(self.scene.github.get(self.scene.repository, path).body)
        return [one["number"] for one in found if one["head"]["ref"] == BRANCH]


@pytest.fixture
def writer(standin):
    return standin.register_app(slug="r4p-writer", permissions=RIGHTS)


@pytest.fixture
def at(scene, writer):
    """`at(permissions)`: the second App, installed with these."""
    with connected(scene.standin.url, app_id=writer.app_id, key=writer.private_key) as github:
        effects = MemoryEffects()

        def desk(permissions=RIGHTS):
            if permissions:
                scene.standin.install(writer, [scene.repo], permissions)
            return Desk(scene, DraftPublisher(github, effects), effects)

        yield desk


def shown(scene, number):
    path = f"/repos/{scene.repo.full_name}/pulls/{number}"
    pull = json.loads(scene.github.get(scene.repository, path).body)
    return pull["draft"], pull["head"]["ref"], pull["base"]["ref"], pull["user"]["login"]


def file(scene, path):
    """A file's bytes on the draft's branch."""
    path = f"/repos/{scene.repo.full_name}/contents/{path}"
    answer = scene.github.get(scene.repository, path, {"ref": BRANCH})
    return base64.b64decode(json.loads(answer.body)["content"])


def test_a_draft_is_a_branch_with_one_commit_and_a_draft_pull_request(scene, at):
    mark = scene.standin.mark()
    desk = at()
    number = desk.open()
    assert shown(scene, number) == (True, BRANCH, "main", "r4p-writer[bot]")
    assert file(scene, "a.py") == b"one\nthree\n"
    calls = scene.standin.calls(mark).operations
    made = {name for name in calls if name.startswith("POST /repos")}
    base = "POST /repos/{owner}/{repo}"
    assert made == {f"{base}/git/{one}" for one in ("trees", "commits", "refs")} | {f"{base}/pulls"}
    assert desk.effects.history == [EffectState.PLANNED, EffectState.PLANNED, EffectState.CONFIRMED]
    assert desk.drafts.find_opened(desk.key) == number


def test_what_is_no_text_goes_as_a_blob(scene, at):
    desk = at()
    new = desk.new()
    odd = NewCommit(
        new.commit.parent,
        "0" * 40,
        (FileChange("a.py", "100644", None), FileChange("logo", "100755", b"\xff\0")),
        "A1\n",
    )
    with pytest.raises(Unprocessable, match="GitHub made tree") as caught:
        desk.open(replace(new, commit=odd))
    tree = str(caught.value).split("made tree ")[1][:40]
    desk.open(replace(new, commit=replace(odd, tree=tree)))
    assert file(scene, "logo") == b"\xff\0"
    with pytest.raises(NotFound):
        file(scene, "a.py")


@pytest.mark.parametrize("kind", LOST)
@pytest.mark.parametrize("path", ["git/refs", "pulls"])
def test_what_was_made_and_not_answered_is_adopted(scene, at, path, kind):
    desk = at()
    new = desk.new()
    desk.breaks(path, kind)
    with pytest.raises(Ambiguous):
        desk.open(new)
    assert desk.effects.load(desk.key).state is EffectState.AMBIGUOUS
    number = desk.open(new)
    assert desk.pulls() == [number]


@pytest.mark.parametrize("path", ["git/trees", "git/commits", "git/refs", "pulls"])
def test_what_never_arrived_is_sent_again(scene, at, path):
    desk = at()
    desk.breaks(path, "502")
    with pytest.raises(Ambiguous):
        desk.open()
    number = desk.open()
    assert desk.pulls() == [number]


def test_a_forgotten_plan_makes_no_second_one(scene, at):
    desk = at()
    new = desk.new()
    number = desk.open(new)
    desk.effects.kept.clear()
    assert desk.open(new) == number
    assert len(desk.pulls()) == 1


def test_a_branch_of_somebody_elses_is_left_alone(scene, at):
    scene.repo.commit({"a.py": "theirs\n"}, branch=BRANCH)
    desk = at()
    for _ in range(2):
        with pytest.raises(BranchTaken, match=BRANCH):
            desk.open()
    assert desk.pulls() == []


def test_where_the_second_app_is_not_there_is_no_token(scene, at):
    with pytest.raises(NotFound):
        at(None).drafts.find_installation(scene.repository)


def test_a_right_that_was_not_given_is_refused(scene, at):
    desk = at({"contents": "read", "metadata": "read"})
    with pytest.raises(Unprocessable, match="permissions requested are not granted"):
        desk.drafts.token(desk.drafts.find_installation(scene.repository))


def test_the_first_app_can_not_write_code(scene):
    with pytest.raises(Unprocessable, match="permissions requested are not granted"):
        scene.github.tokens.get_token(Scope.for_repository(scene.repository, Purpose.OPEN_DRAFT))
    drafts = DraftPublisher(scene.github, scene.effects)
    nothing = NewCommit(CommitSha("0" * 40), "0" * 40, (), "A1\n")
    draft = NewDraft(BRANCH, "main", nothing, "A1", "A1")
    with pytest.raises((Unprocessable, Forbidden)):
        drafts.open(scene.repository, EffectKey(scene.repository, "draft:1"), draft)
