"""Regenerate the files under `schemas/` from GitHub's own published packages.

Run by a maintainer: `python -m app.demo.standin.contract.prune [--check]`. Needs npm and network;
nothing else imports this module. `--check` writes nothing and fails if a file would differ.
"""

import argparse
import base64
import hashlib
import json
import lzma
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.demo.standin.contract.completion import Completion
from app.demo.standin.contract.dialect import Schema, references, rewrite
from app.demo.standin.contract.validators import Validators

SCHEMAS = Path(__file__).parent.parent / "schemas"


@dataclass(frozen=True, slots=True)
class Package:
    """One npm package at one version, proven by its sha512."""

    name: str
    version: str
    integrity: str
    members: tuple[str, ...]
    """Files taken out of it; the rest of the tarball is never unpacked."""


OPENAPI = Package(
    "@octokit/openapi",
    "23.0.2",
    "pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
    ("generated/api.github.com.json", "LICENSE"),
)
WEBHOOKS = Package(
    "@octokit/openapi-webhooks",
    "12.1.0",
    "Z5eDsLCUNbx1zHpZb1LNQirADqdMTvWJQ/deahi0ws+tWWnwHXB+Pr4jfmM9OrETS9Y5iW8ZRu1fdbudObhLrg==",
    ("generated/api.github.com.json", "LICENSE"),
)
GRAPHQL = Package(
    "@octokit/graphql-schema",
    "15.26.1",
    "RFDC2MpRBd4AxSRvUeBIVeBU7ojN/SxDfALUd7iVYOSeEK3gZaqR2MGOysj4Zh2xj2RY5fQAUT+Oqq7hWTraMA==",
    ("schema.graphql", "LICENSE.md"),
)
EXAMPLES = Package(
    "@octokit/webhooks-examples",
    "7.6.1",
    "De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ==",
    ("api.github.com/index.json",),
)
PACKAGES = (OPENAPI, WEBHOOKS, GRAPHQL, EXAMPLES)

_REPO = "/repos/{owner}/{repo}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"
_ISSUE = f"{_REPO}/issues/{{issue_number}}"
_PULL = f"{_REPO}/pulls/{{pull_number}}"
_DELIVERY = "/app/hook/deliveries/{delivery_id}"
_INSTALLATION = "/app/installations/{installation_id}"
OPERATIONS: dict[str, tuple[str, ...]] = {
    "/app": ("get",),
    "/app/installations": ("get",),
    _INSTALLATION: ("get",),
    f"{_INSTALLATION}/access_tokens": ("post",),
    "/app/hook/deliveries": ("get",),
    _DELIVERY: ("get",),
    f"{_DELIVERY}/attempts": ("post",),
    "/app-manifests/{code}/conversions": ("post",),
    "/installation/repositories": ("get",),
    "/meta": ("get",),
    "/rate_limit": ("get",),
    _REPO: ("get",),
    f"{_REPO}/check-runs": ("post",),
    f"{_REPO}/check-runs/{{check_run_id}}": ("get", "patch"),
    f"{_REPO}/collaborators/{{username}}/permission": ("get",),
    f"{_REPO}/commits": ("get",),
    f"{_REPO}/commits/{{ref}}": ("get",),
    f"{_REPO}/commits/{{ref}}/check-runs": ("get",),
    f"{_REPO}/commits/{{ref}}/check-suites": ("get",),
    f"{_REPO}/compare/{{basehead}}": ("get",),
    f"{_REPO}/contents/{{path}}": ("get",),
    f"{_REPO}/installation": ("get",),
    f"{_REPO}/issues": ("get",),
    _COMMENT: ("get", "patch", "delete"),
    f"{_COMMENT}/reactions": ("get", "post"),
    f"{_COMMENT}/reactions/{{reaction_id}}": ("delete",),
    _ISSUE: ("get",),
    f"{_ISSUE}/comments": ("get", "post"),
    f"{_ISSUE}/timeline": ("get",),
    f"{_REPO}/pulls": ("get",),
    _PULL: ("get",),
    f"{_PULL}/commits": ("get",),
    f"{_PULL}/files": ("get",),
    f"{_PULL}/reviews": ("get",),
    "/users/{username}": ("get",),
}
EVENTS = (
    "check_run",
    "check_suite",
    "installation",
    "installation_repositories",
    "issue_comment",
    "issues",
    "label",
    "ping",
    "pull_request",
    "pull_request_review",
    "push",
    "star",
)
_ANNOTATIONS = ("title", "description", "example", "examples", "externalDocs", "readOnly")


def main() -> int:
    """Write the files, or compare them; the exit status says whether they already agreed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as room:
        wanted = files({package.name: unpacked(package, Path(room)) for package in PACKAGES})
    stale = [name for name, content in wanted.items() if stored(SCHEMAS / name) != content]
    for name in stale:
        print(f"{'differs' if check else 'written'}: {SCHEMAS / name}", file=sys.stderr)
        if not check:
            (SCHEMAS / name).write_bytes(packed(name, wanted[name]))
    return 1 if check and stale else 0


def unpacked(package: Package, room: Path) -> dict[str, bytes]:
    """Download, prove and open one package; raises SystemExit if its bytes are not the pinned ones."""
    command = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    done = subprocess.run(command, cwd=room, check=True, capture_output=True, text=True)
    tarball = room / done.stdout.strip()
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if digest != package.integrity:
        raise SystemExit(
            f"{tarball.name}: sha512-{digest}, but sha512-{package.integrity} is pinned"
        )
    with tarfile.open(tarball) as archive:
        return {name: _member(archive, f"package/{name}") for name in package.members}


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    handle = archive.extractfile(name)
    if handle is None:
        raise SystemExit(f"{name} is not a plain file")
    return handle.read()


def packed(name: str, content: bytes) -> bytes:
    """The bytes as stored: `.xz` names are compressed."""
    return lzma.compress(content, preset=9) if name.endswith(".xz") else content


def stored(path: Path) -> bytes | None:
    """The content of a stored file, decompressed: compressors may differ, contents may not."""
    if not path.exists():
        return None
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content


def files(sources: dict[str, dict[str, bytes]]) -> dict[str, bytes]:
    """The content of every generated file, by name."""
    rest = json.loads(sources[OPENAPI.name]["generated/api.github.com.json"])
    webhooks = json.loads(sources[WEBHOOKS.name]["generated/api.github.com.json"])
    shipped = json.loads(sources[EXAMPLES.name]["api.github.com/index.json"])
    examples = {
        "rest": rest_examples(rest),
        "webhooks": webhook_examples(webhooks, {entry["name"]: entry for entry in shipped}),
    }
    return {
        "rest.json": _json(pruned_rest(rest)),
        "webhooks.json.xz": _json(pruned_webhooks(webhooks)),
        "examples.json.xz": _json(examples),
        "schema.graphql.xz": sources[GRAPHQL.name]["schema.graphql"],
        "LICENSE.openapi": sources[OPENAPI.name]["LICENSE"],
        "LICENSE.openapi-webhooks": sources[WEBHOOKS.name]["LICENSE"],
        "LICENSE.graphql-schema": sources[GRAPHQL.name]["LICENSE.md"],
        "NOTICE": _notice().encode(),
    }


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def _notice() -> str:
    lines = [
        "The files in this folder are cut from GitHub's schemas as published in these npm packages,"
    ]
    lines += ["all under the MIT licence (texts beside this file):", ""]
    lines += [f"{p.name} {p.version} sha512-{p.integrity}" for p in PACKAGES]
    lines += ["", "@octokit/webhooks-examples ships no licence text; its package.json states MIT."]
    lines += ["Regenerate with `python -m app.demo.standin.contract.prune`."]
    return "\n".join(lines) + "\n"


def pruned_rest(document: dict[str, Any]) -> dict[str, Any]:
    """The operations we use with parameters, responses and headers inlined, and the schemas they need."""
    paths = {
        path: {method: _operation(document, path, method) for method in methods}
        for path, methods in OPERATIONS.items()
    }
    roots = [
        schema for path in paths.values() for op in path.values() for schema in _schemas_of(op)
    ]
    return {
        "openapi": document["openapi"],
        "info": {"title": "GitHub v3 REST API, pruned", "version": "2022-11-28"},
        "paths": paths,
        "components": {"schemas": _needed(document["components"]["schemas"], roots)},
    }


def _operation(document: dict[str, Any], path: str, method: str) -> dict[str, Any]:
    full = document["paths"][path][method]
    parameters = [_inlined(document, parameter) for parameter in full.get("parameters", ())]
    kept: dict[str, Any] = {
        "operationId": full["operationId"],
        "parameters": [
            {key: item[key] for key in ("name", "in", "required", "x-multi-segment") if key in item}
            | {"schema": stripped(item["schema"])}
            for item in parameters
        ],
        "responses": {
            status: _response(_inlined(document, response))
            for status, response in full["responses"].items()
        },
    }
    if "requestBody" in full:
        body = full["requestBody"]
        kept["requestBody"] = {
            "required": body.get("required", False),
            "content": _content(body["content"]),
        }
    return kept


def _response(response: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"headers": sorted(response.get("headers", ()))}
    return kept | {"content": _content(response.get("content", {}))}


def _content(content: dict[str, Any]) -> dict[str, Any]:
    return {media: {"schema": stripped(body.get("schema", {}))} for media, body in content.items()}


def _inlined(document: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in value:
        return value
    _, section, name = value["$ref"].removeprefix("#/").split("/")
    found: dict[str, Any] = document["components"][section][name]
    return found


def _schemas_of(operation: dict[str, Any]) -> Iterator[Schema]:
    yield from (parameter["schema"] for parameter in operation.get("parameters", ()))
    bodies = [operation.get("requestBody", {}), *operation.get("responses", {}).values()]
    for body in bodies:
        yield from (media["schema"] for media in body.get("content", {}).values())


def stripped(schema: Schema) -> Schema:
    """The schema without what no validator reads."""
    return rewrite(schema, _without_annotations)


def _without_annotations(node: Schema) -> Schema:
    return {
        key: value
        for key, value in node.items()
        if key not in _ANNOTATIONS and not key.startswith("x-")
    }


def _needed(schemas: dict[str, Schema], roots: list[Schema]) -> dict[str, Schema]:
    """Every schema reachable from the roots, stripped, in the order of the names."""
    found: dict[str, Schema] = {}
    todo = list(roots)
    while todo:
        for reference in references(todo.pop()):
            name = reference.rsplit("/", 1)[1]
            if name not in found:
                found[name] = stripped(schemas[name])
                todo.append(found[name])
    return dict(sorted(found.items()))


def pruned_webhooks(document: dict[str, Any]) -> dict[str, Any]:
    """`webhooks[event][action]` with the delivery headers and the body's schema; no action is ""."""
    kept: dict[str, dict[str, Any]] = {}
    for event, action, post in _webhooks(document):
        kept.setdefault(event, {})[action] = {
            "headers": [item["name"] for item in post["parameters"] if item.get("required")],
            "schema": stripped(post["requestBody"]["content"]["application/json"]["schema"]),
        }
    roots = [body["schema"] for actions in kept.values() for body in actions.values()]
    needed = _needed(document["components"]["schemas"], roots)
    return {"webhooks": kept, "components": {"schemas": needed}}


def _webhooks(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for entry in document["webhooks"].values():
        post = entry["post"]
        event = post["x-github"]["subcategory"]
        if event in EVENTS:
            _, _, action = post["operationId"].partition("/")
            yield event, action.replace("-", "_"), post


def rest_examples(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """`examples[operation id][status]`: GitHub's example, brought up to the schema where it fails it."""
    schemas = document["components"]["schemas"]
    completion = Completion(schemas, Validators.of("rest", schemas))
    built: dict[str, dict[str, Any]] = {}
    for path, methods in OPERATIONS.items():
        for method in methods:
            operation = document["paths"][path][method]
            for status, response in operation["responses"].items():
                full = _inlined(document, response)
                body = full.get("content", {}).get("application/json")
                if body is not None:
                    start = _largest_example(document, body) or _envelope(status, full)
                    value = completion.complete(body["schema"], start)
                    built.setdefault(operation["operationId"], {})[status] = value
    return built


def _largest_example(document: dict[str, Any], body: dict[str, Any]) -> Any:
    values = [_inlined(document, item).get("value") for item in body.get("examples", {}).values()]
    return max(values, key=lambda value: len(json.dumps(value)), default=None)


def _envelope(status: str, response: dict[str, Any]) -> dict[str, str]:
    if status.startswith("2"):
        return {}
    documentation = "https://docs.github.com/rest"
    message = response["description"]
    return {"message": message, "documentation_url": documentation, "status": status}


def webhook_examples(
    document: dict[str, Any], shipped: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """`examples[event][action]`, as an App would receive it.

    An action that was never recorded is built from a recorded one of the same event.
    """
    schemas = document["components"]["schemas"]
    completion = Completion(schemas, Validators.of("webhooks", schemas))
    built: dict[str, dict[str, Any]] = {}
    for event, action, post in _webhooks(document):
        recorded = shipped[event]["examples"]
        same = [item for item in recorded if item.get("action", "") == action]
        chosen = max(same or recorded, key=lambda item: "installation" in item)
        value = dict(chosen) | ({"action": action} if action else {})
        if event != "ping":
            value.setdefault(
                "installation", {"id": 2, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMg=="}
            )
        schema = post["requestBody"]["content"]["application/json"]["schema"]
        built.setdefault(event, {})[action] = completion.complete(schema, value)
    return built


if __name__ == "__main__":
    sys.exit(main())
