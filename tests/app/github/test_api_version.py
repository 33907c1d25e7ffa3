"""The bot reads GitHub's answers of the next API version, which lack fields, as it reads those of today."""

import json
from datetime import UTC, datetime

import pytest

from app.github.api import app_reader, graphql_reader, person, rest_reader
from app.github.api_call import Call, Method
from app.github.http.connection import AppConnection
from app.github.wire import rest
from app.github.wire.rest import RestSlice
from app.values.identifiers import IssueNumber, PullNumber
from app.values.permission import Permission
from tests.builders.github.github_scene import open_scene
from tests.github.contract import Contract
from tests.github.contract.api_version import NEXT, drop_fields
from tests.github.stand_in import StandIn

UPCOMING = Contract.load(NEXT)
READ = [
    ("apps/get-authenticated", 200, rest.RegisteredAppSlice),
    ("apps/list-installations", 200, tuple[rest.InstallationSlice, ...]),
    ("apps/list-repos-accessible-to-installation", 200, rest.InstalledRepositoriesSlice),
    ("checks/list-for-ref", 200, rest.CheckRunsSlice),
    ("issues/create-comment", 201, rest.CommentSlice),
    ("issues/list-comments-for-repo", 200, tuple[rest.WrittenComment, ...]),
    ("issues/list-for-repo", 200, tuple[rest.ThreadSlice, ...]),
    ("pulls/create", 201, rest.NumberSlice),
    ("pulls/get", 200, rest.BranchPull),
    ("pulls/list", 200, tuple[rest.BranchPull, ...]),
    ("repos/get", 200, rest.DefaultBranch),
    ("repos/get", 200, rest.NamedRepository),
]


@pytest.fixture(scope="module")
def standin(tmp_path_factory):
    with StandIn.start(tmp_path_factory.mktemp("github"), api_version=NEXT) as running:
        yield running


@pytest.fixture(scope="module")
def app(standin):
    return standin.register_app()


def list_slices(base=RestSlice):
    for each in base.__subclasses__():
        yield each
        yield from list_slices(each)


def test_no_typed_answer_has_a_field_that_the_next_version_drops():
    dropped = UPCOMING.version.rest_fields
    slices = [each for each in list_slices() if each.__module__ == rest.__name__]
    assert len(slices) > 20
    assert [each for each in slices if dropped & set(each.model_fields)] == []
    assert dropped.isdisjoint(person._Repository.model_fields)


@pytest.mark.parametrize(("operation_id", "status", "shape"), READ)
def test_a_typed_answer_says_the_same_without_the_dropped_fields(operation_id, status, shape):
    body = UPCOMING.rest_example(operation_id, status)
    call = Call(Method.GET, "/")
    without = drop_fields(body, UPCOMING.version.rest_fields)
    assert rest.parse_slice(shape, call, without) == rest.parse_slice(shape, call, body)


def test_the_bot_reads_and_writes_on_the_next_version(standin, app):
    began = datetime.fromtimestamp(standin.now(), UTC).replace(microsecond=0)
    with open_scene(standin, app) as scene:
        issue = IssueNumber(scene.repo.open_issue("It fails", "Always."))
        (pull,) = scene.rivals(issue, 1)
        path = f"/repos/{scene.repo.full_name}/pulls/{pull.number}"
        answer = scene.github.get(scene.repository, path)
        assert answer.headers["x-github-api-version-selected"] == NEXT
        assert UPCOMING.version.rest_fields.isdisjoint(json.loads(answer.body))

        scene.check(pull.head_sha)
        scene.comment(issue)
        scene.comment(issue, "another verdict")
        (written,) = rest_reader.list_comments(scene.github, scene.repository, issue)
        assert written.is_ours
        as_app = AppConnection(scene.github.app, scene.github.transport)
        installed = app_reader.list_repositories(as_app, scene.repository.installation)
        assert [one.full_name for one in installed] == [scene.repo.full_name]
        threads = rest_reader.list_changed_threads(scene.github, scene.repository, began, 1)
        assert {(one.number, one.is_pull) for one in threads.entries} == {
            (issue, False),
            (pull.number, True),
        }
        owner = scene.repo.full_name.split("/")[0]
        allowed = rest_reader.read_permission(scene.github, scene.repository, owner)
        assert allowed is Permission.ADMIN

        merged = scene.repo.merge(pull.number)
        seen = graphql_reader.read_pull(scene.github, scene.repository, PullNumber(pull.number))
        assert seen.merge_commit == merged
