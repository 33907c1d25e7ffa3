"""Regenerate the files under `schemas/` from GitHub's own published packages.

Run by a maintainer: `python -m tests.github.contract.refresh [--check]`. Needs npm and network;
nothing else imports this package. `--check` writes nothing and fails if a file would differ.
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
from dataclasses import dataclass
from pathlib import Path

from tests.github.contract.api_version import NEXT
from tests.github.contract.refresh.cut import collect_changes, prune_rest, prune_webhooks
from tests.github.contract.refresh.examples import build_rest_examples, build_webhook_examples
from tests.github.contract.refresh.scope import OPERATIONS

SCHEMAS = Path(__file__).parents[2] / "schemas"


@dataclass(frozen=True, slots=True)
class Package:
    """A npm package at one version, proven by its sha512."""

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


def main() -> int:
    """Write the files, or compare them; the exit status is 0 if they already agreed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as room:
        wanted = files({package.name: download(package, Path(room)) for package in PACKAGES})
    stale = [name for name, content in wanted.items() if read_stored(SCHEMAS / name) != content]
    for name in stale:
        print(f"{'differs' if check else 'written'}: {SCHEMAS / name}", file=sys.stderr)
        if not check:
            (SCHEMAS / name).write_bytes(compress(name, wanted[name]))
    return 1 if check and stale else 0


def download(package: Package, room: Path) -> dict[str, bytes]:
    """Download, verify and open a package; SystemExit if its hash differs from the pinned one."""
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


def compress(name: str, content: bytes) -> bytes:
    """Return the bytes as stored: compressed if the name ends in `.xz`."""
    return lzma.compress(content, preset=9) if name.endswith(".xz") else content


def read_stored(path: Path) -> bytes | None:
    """Read a stored file decompressed, because compressors may differ."""
    if not path.exists():
        return None
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content


def files(sources: dict[str, dict[str, bytes]]) -> dict[str, bytes]:
    """Generate the content of every file, by name."""
    rest = json.loads(sources[OPENAPI.name]["generated/api.github.com.json"])
    webhooks = json.loads(sources[WEBHOOKS.name]["generated/api.github.com.json"])
    shipped = json.loads(sources[EXAMPLES.name]["api.github.com/index.json"])
    examples = {
        "rest": build_rest_examples(rest, OPERATIONS),
        "webhooks": build_webhook_examples(webhooks, {entry["name"]: entry for entry in shipped}),
    }
    stored = prune_rest(rest, OPERATIONS)
    changes = collect_changes(rest, stored["components"]["schemas"], NEXT)
    return {
        "rest.json": _json(stored),
        f"changes-{NEXT}.json": _json(changes),
        "webhooks.json.xz": _json(prune_webhooks(webhooks)),
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
    lines += ["Regenerate with `python -m tests.github.contract.refresh`."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
