"""The tool that cuts GitHub's descriptions down, and its stored files."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from tests.github.contract.documents import read_json
from tests.github.contract.refresh import __main__ as refresh
from tests.github.contract.refresh.cut import (
    collect_changes,
    inline,
    prune_rest,
    prune_webhooks,
    strip_annotations,
)
from tests.github.contract.refresh.examples import build_rest_examples, build_webhook_examples

MAX_FILE_BYTES = 1_000_000
PROPERTIES = {"title": {"type": "string", "description": "long", "example": "x", "x-y": 1}}
PING = {
    "operationId": "ping",
    "x-github": {"subcategory": "ping"},
    "parameters": [{"name": "X-GitHub-Event", "required": True}, {"name": "X-Extra"}],
    "requestBody": {
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ping"}}}
    },
}
STAR = {**PING, "operationId": "star/was-created", "x-github": {"subcategory": "star"}}
DOCUMENT = {
    "webhooks": {
        "ping": {"post": PING},
        "star-was-created": {"post": STAR},
        "fork": {"post": {**PING, "operationId": "fork", "x-github": {"subcategory": "fork"}}},
    },
    "components": {
        "schemas": {
            "ping": {"properties": {"hook": {"$ref": "#/components/schemas/hook"}}, "required": ["zen"]},
            "hook": {"properties": PROPERTIES},
            "fork": {},
        }
    },
}  # fmt: skip


def test_annotations_go_and_properties_named_like_them_stay():
    assert strip_annotations({"title": "T", "properties": PROPERTIES}) == {
        "properties": {"title": {"type": "string"}}
    }


def test_a_cut_keeps_the_scope_and_what_it_refers_to():
    cut = prune_webhooks(DOCUMENT)
    reference = {"$ref": "#/components/schemas/ping"}
    assert cut["webhooks"] == {
        "ping": {"": {"headers": ["X-GitHub-Event"], "schema": reference}},
        "star": {"was_created": {"headers": ["X-GitHub-Event"], "schema": reference}},
    }
    assert list(cut["components"]["schemas"]) == ["hook", "ping"]


def test_an_example_of_an_unrecorded_action_comes_from_a_recorded_one():
    shipped = {
        "ping": {"examples": [{"zen": "Keep it logically awesome."}]},
        "star": {"examples": [{"action": "deleted", "at": 1}, {"action": "other", "installation": {}}]},
    }  # fmt: skip
    built = build_webhook_examples(DOCUMENT, shipped)
    assert built["ping"] == {"": {"zen": "Keep it logically awesome."}}
    assert built["star"] == {
        "was_created": {"action": "was_created", "installation": {}, "zen": None}
    }


def issue_document():
    """A description of one call that uses references as GitHub does."""
    issue = {
        "description": "An issue",
        "properties": {"title": {"type": "string"}, "id": {"type": "integer", "example": 7}},
        "required": ["title", "id"],
    }
    success = {
        "headers": {"Link": {}},
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/issue"},
                "examples": {"default": {"$ref": "#/components/examples/issue"}},
            }
        },
    }
    gone = {"description": "Gone", "content": {"application/json": {"schema": {}}}}
    owner = {"name": "owner", "in": "path", "required": True, "schema": {"type": "string"}}
    body = {"content": {"application/json": {"schema": {"type": "object"}}}}
    operation = {
        "operationId": "issues/get",
        "parameters": [{"$ref": "#/components/parameters/owner"}],
        "requestBody": body,
        "responses": {
            "200": success,
            "201": {"content": {"application/json": {"schema": {"type": "object"}}}},
            "204": {},
            "410": {"$ref": "#/components/responses/gone"},
        },
    }
    return {
        "openapi": "3.0.3",
        "paths": {"/issues/{owner}": {"get": operation, "delete": {}}, "/gists": {}},
        "components": {
            "schemas": {"issue": issue, "gist": {}},
            "parameters": {"owner": {**owner, "description": "The owner"}},
            "responses": {"gone": gone},
            "examples": {
                "issue": {"value": {"$ref": "#/components/examples/nested"}},
                "nested": {"value": {"title": "Found a bug", "old_key": 1}},
            },
        },
    }


def test_a_rest_cut_is_complete_without_its_document():
    cut = prune_rest(issue_document(), {"/issues/{owner}": ("get",)})
    assert list(cut["paths"]) == ["/issues/{owner}"]
    operation = cut["paths"]["/issues/{owner}"]["get"]
    assert operation["parameters"] == [
        {"name": "owner", "in": "path", "required": True, "schema": {"type": "string"}}
    ]
    assert operation["requestBody"]["required"] is False
    assert operation["responses"]["200"]["headers"] == ["Link"]
    assert operation["responses"]["204"] == {"headers": [], "content": {}}
    assert operation["responses"]["410"]["content"] == {"application/json": {"schema": {}}}
    assert list(cut["components"]["schemas"]) == ["issue"]


def test_the_changes_of_a_version_are_those_of_the_schemas_in_scope():
    def change(patch, version="2026-03-10"):
        return {"x-github-breaking-changes": [{"patch": patch, "version": version}]}

    dropped = {"properties": {"assignee": None}}
    steps = [
        {"op": "remove", "path": "/properties/pull_request/properties/merge_commit_sha"},
        {"op": "remove", "path": "/properties/pull_request/required/17"},
    ]
    schemas = {
        "issue": change(dropped),
        "label": change(dropped, version="2027-01-01"),
        "gist": change(dropped),
        "webhook-pull-request-closed": change(steps),
    }
    changes = collect_changes(
        {"components": {"schemas": schemas}}, ["issue", "label"], "2026-03-10"
    )
    assert changes == {
        "version": "2026-03-10",
        "schemas": {"issue": [dropped]},
        "webhook_fields": ["merge_commit_sha"],
    }


def test_a_rest_example_keeps_what_it_says_and_gets_what_it_lacks():
    built = build_rest_examples(issue_document(), {"/issues/{owner}": ("get",)})
    documentation = "https://docs.github.com/rest"
    assert built == {
        "issues/get": {
            "200": {"title": "Found a bug", "id": 7},
            "201": {},
            "410": {"message": "Gone", "documentation_url": documentation, "status": "410"},
        }
    }


def test_a_component_is_put_in_the_place_of_its_reference():
    document = {"components": {"responses": {"gone": {"description": "Gone"}}}}
    assert inline(document, {"$ref": "#/components/responses/gone"}) == {"description": "Gone"}
    assert inline(document, {"description": "Here"}) == {"description": "Here"}


@pytest.mark.parametrize("name", ["rest.json", "webhooks.json.xz"])
def test_a_file_is_stored_under_its_bytes_or_compressed(tmp_path, name):
    (tmp_path / name).write_bytes(refresh.compress(name, b"{}\n" * 1000))
    assert refresh.read_stored(tmp_path / name) == b"{}\n" * 1000
    assert ((tmp_path / name).stat().st_size < 1000) is name.endswith(".xz")
    assert refresh.read_stored(tmp_path / "missing") is None


def test_a_tarball_with_other_bytes_is_refused(tmp_path, monkeypatch):
    tarball = build_tarball(tmp_path, "package/LICENSE", b"MIT")
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\ncp {tarball} thing.tgz && echo thing.tgz\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    room = tmp_path / "room"
    room.mkdir()
    digest = refresh.base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    right = refresh.Package("thing", "1.0.0", digest, ("LICENSE",))
    wrong = refresh.Package("thing", "1.0.0", "AAAA", ("LICENSE",))
    assert refresh.download(right, room) == {"LICENSE": b"MIT"}
    with pytest.raises(SystemExit, match="sha512-AAAA is pinned"):
        refresh.download(wrong, room)


def test_every_stored_file_is_small_and_the_notice_names_every_package():
    files = [path for path in refresh.SCHEMAS.iterdir() if path.is_file()]
    assert max(path.stat().st_size for path in files) < MAX_FILE_BYTES
    notice = (refresh.SCHEMAS / "NOTICE").read_text()
    for package in refresh.PACKAGES:
        assert f"{package.name} {package.version} sha512-{package.integrity}" in notice
    licences = [path for path in files if path.name.startswith("LICENSE.")]
    assert len(licences) == 3
    assert all("Permission is hereby granted" in path.read_text() for path in licences)


@pytest.mark.parametrize("name", ["rest.json", "webhooks.json.xz"])
def test_every_reference_in_a_stored_file_has_its_schema(name):
    document = read_json(name)
    schemas = document["components"]["schemas"]
    pieces = str(document).split("#/components/schemas/")[1:]
    assert {piece.split("'")[0] for piece in pieces} == set(schemas)


def build_tarball(folder: Path, name: str, content: bytes) -> Path:
    """Build a tarball of one file."""
    path = folder / "made.tgz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return path
