"""The checkout against the stand-in: its tokens, its refs, its ways of merging."""

from datetime import UTC, datetime, timedelta

import pytest

from app.github.api.graphql_reader import read_issue
from app.github.endpoints import build_endpoints
from app.github.http.auth import Purpose, Scope
from tests.builders.github.github_scene import open_scene
from tests.builders.github.merged_pulls import build_merged
from tests.github.stand_in import StandIn
from worker.git.checkout import Checkouts
from worker.git.hardened_git import GitError
from worker.git.patches import FetchedPull
from worker.outcomes.survival import Survival, find_reverts, measure_survival


@pytest.fixture(scope="module")
def standin(tmp_path_factory):
    with StandIn.start(tmp_path_factory.mktemp("git")) as running:
        yield running


@pytest.fixture(scope="module")
def app(standin):
    return standin.register_app()


@pytest.fixture
def scene(standin, app):
    with open_scene(standin, app, private=True) as scene:
        yield scene


@pytest.fixture
def checkouts(tmp_path, standin):
    return Checkouts(tmp_path / "data", build_endpoints(standin.url))


def token(scene):
    return scene.github.tokens.get_token(Scope.for_repository(scene.repository, Purpose.READ))


def list_wanted_pulls(facts):
    return [p.pull for p in facts.pulls]


def test_git_fetches_the_heads_that_graphql_names(scene, checkouts):
    issue = scene.repo.open_issue("Broken")
    scene.rivals(issue, 4)
    facts = read_issue(scene.github, scene.issue(issue))
    mark = scene.standin.mark()
    found = checkouts.fetch_pulls(scene.repository, token(scene), list_wanted_pulls(facts))
    assert [type(pull) for pull in found] == [FetchedPull] * 4
    assert [b"\n+%d\n" % n in pull.diff for n, pull in enumerate(found)] == [True] * 4
    assert all(
        pull.head == linked.pull.head_sha for pull, linked in zip(found, facts.pulls, strict=True)
    )
    # Git's own protocol in one exchange: hello, which refs, which objects. No API call.
    assert scene.standin.calls(mark).operations == {
        "GET /{owner}/{repo}.git/info/refs": 1,
        "POST /{owner}/{repo}.git/git-upload-pack": 2,
    }


def test_a_private_repository_is_closed_without_a_good_token(scene, checkouts):
    issue = scene.repo.open_issue("Broken")
    scene.rivals(issue, 1)
    pulls = list_wanted_pulls(read_issue(scene.github, scene.issue(issue)))
    for bad in (None, "ghs_" + "x" * 40):
        with pytest.raises(GitError):
            raise_if_refused(checkouts.fetch_pulls(scene.repository, bad, pulls))


def raise_if_refused(results):
    if not isinstance(results[0], FetchedPull):
        raise GitError(results[0].detail)


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_survival_is_measured_alike_for_each_way_of_merging(scene, checkouts, method):
    issue = scene.repo.open_issue("Broken")
    text = "one\ntwo\nthis_line_was_added_by_the_patch = 1\nand_this_one_was_added_too = 2\n"
    pull = scene.repo.open_pr("Fix", f"Fixes #{issue}", files={"a.py": text})
    sha = scene.repo.merge(pull.number, method=method)
    facts = read_issue(scene.github, scene.issue(issue)).pulls[0].pull
    merged = build_merged(facts.head_sha, facts.base_sha, sha, number=facts.number)
    access = (scene.repository, token(scene))
    assert measure_survival(checkouts, *access, merged) == Survival(2, 2)
    scene.repo.commit({"a.py": text.replace("= 2", "= 3")})
    assert measure_survival(checkouts, *access, merged) == Survival(2, 1)


@pytest.mark.parametrize("method", ["merge", "rebase"])
def test_a_merged_revert_is_found_by_the_commit_it_names(scene, checkouts, method):
    pull = scene.repo.open_pr("Fix", "", files={"a.py": "fixed\n"})
    sha = scene.repo.merge(pull.number, method="squash")
    scene.repo.merge(scene.repo.revert(pull.number).number, method=method)
    since = datetime.now(UTC) - timedelta(days=2)
    found = find_reverts(checkouts, scene.repository, token(scene), "main", since)
    assert [r.commits for r in found] == [(sha,)]
