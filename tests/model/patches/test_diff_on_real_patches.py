"""Thousands of real agents' patches are parsed like git reads them. Needs the large data: R4P_DATA."""

import gzip
import json
import subprocess

import pytest

from model.patches import diff

EVERY = 20
"""git needs a process per patch, so it is asked about one in so many."""


@pytest.fixture(scope="module")
def patches(large_data):
    with gzip.open(large_data / "swebench_patches.jsonl.gz", "rt") as lines:
        return [patch["patch"] + "\n" for line in lines for patch in json.loads(line)["patches"]]


def read_numstat(patch):
    shown = subprocess.run(
        ["git", "apply", "--numstat", "-"], input=patch, capture_output=True, text=True, check=True
    )
    rows = (line.split("\t") for line in shown.stdout.splitlines())
    return [(path, int(added), int(removed)) for added, removed, path in rows]


def test_every_real_patch_is_parsed_and_fingerprinted(patches):
    assert len(patches) > 3_000
    for patch in patches:
        assert diff.parse(patch)
        assert diff.fingerprint(patch) == diff.fingerprint(patch.replace("\n", "\r\n"))


def test_line_counts_of_real_patches_equal_gits(patches):
    for patch in patches[::EVERY]:
        parsed = [(file.path, file.added, file.removed) for file in diff.parse(patch)]
        assert parsed == read_numstat(patch)
