"""Labelled groups: what is read, and what is refused with file, line and fix."""

import gzip
import json

import pytest

from model.errors import BadGroups
from model.evaluation.labelled_group import read_groups
from model.prompts.untrusted import HINT_TAG
from tests.model.builders import build_diff

ROW = {
    "instance_id": "octo__app-1",
    "repo": "octo/app",
    "problem_statement": "It breaks\nwhen the list is empty\n",
    "patches": [
        {
            "patch": build_diff("a")[:-1],
            "resolved": True,
            "source": "one/run",
            "also_from": ["b/1"],
        },
        {"patch": build_diff("b"), "resolved": False},
    ],
}


HINTED = {"patch": "x", "resolved": True, "trajectory": f"{HINT_TAG}Multiply."}


def write_groups(path, *rows):
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def change_row(**keys):
    return ROW | keys


def test_group_is_parsed_with_its_labels(tmp_path):
    (group,) = read_groups(
        write_groups(tmp_path / "g.jsonl", ROW | {"base_commit": None, "language": "java"})
    )
    assert (group.instance_id, group.repo, group.language) == ("octo__app-1", "octo/app", "java")
    assert (group.issue.title, group.issue.body) == ("It breaks", "when the list is empty")
    assert [one.patch.id for one in group.patches] == ["candidate-1", "candidate-2"]
    assert [one.resolved for one in group.patches] == [True, False]
    assert [one.source for one in group.patches] == ["one/run", None]
    assert [one.also_from for one in group.patches] == [("b/1",), ()]
    assert [one.patch.diff for one in group.patches] == [build_diff("a"), build_diff("b")]


def test_blank_lines_are_skipped_and_gzip_is_read(tmp_path):
    path = tmp_path / "g.jsonl.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(ROW)}\n\n{json.dumps(ROW)}\n".encode()))
    assert len(list(read_groups(path))) == 2


def test_id_tells_groups_of_one_issue_apart(tmp_path):
    swapped = change_row(patches=ROW["patches"][::-1])
    first, again, swapped_group = read_groups(write_groups(tmp_path / "g.jsonl", ROW, ROW, swapped))
    assert first.id == again.id != swapped_group.id


def test_patch_may_have_a_trajectory(tmp_path):
    plain, with_trajectory = (
        ROW["patches"][1],
        ROW["patches"][1] | {"trajectory": "I ran the tests."},
    )
    rows = [
        change_row(patches=[plain, one])
        for one in (plain, with_trajectory, with_trajectory | {"trajectory": "No."})
    ]
    groups = list(read_groups(write_groups(tmp_path / "g.jsonl", *rows)))
    assert [one.patch.trajectory for one in groups[1].patches] == [None, "I ran the tests."]
    assert [group.has_trajectory for group in groups] == [False, True, True]
    assert len({group.id for group in groups}) == 3


def test_empty_patch_stays_empty(tmp_path):
    empty = change_row(patches=[{"patch": "", "resolved": False}])
    (group,) = read_groups(write_groups(tmp_path / "g.jsonl", empty))
    assert group.patches[0].patch.diff == ""


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2: the line is wrong"),
        (change_row(repo=" "), "line 2: repo is wrong"),
        (change_row(patches=[]), "line 2: patches is wrong"),
        (change_row(patches=[{"patch": "x", "resolved": "yes"}]), "patches.0.resolved is wrong"),
        (change_row(patches=[{"patch": "x"}]), "patches.0.resolved is wrong (Field required)"),
        (change_row(patches=[HINTED]), "patches.0.trajectory is wrong"),
        (change_row(patches=[HINTED]), "was made with a hint, which no judge may see"),
        ({}, "line 2: instance_id is wrong"),
    ],
)
def test_bad_line_is_named_with_its_fault(tmp_path, row, message):
    path = write_groups(tmp_path / "g.jsonl", ROW, row)
    with pytest.raises(BadGroups) as refused:
        list(read_groups(path))
    assert str(refused.value).startswith(str(path))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.jsonl", None, "can't be read: No such file"),
        ("g.jsonl", b"", "is empty"),
        ("g.jsonl", b"\xff\xfe", "is not UTF-8"),
        ("g.jsonl.gz", b"{}", "is no whole gzip file"),
        ("g.jsonl.gz", gzip.compress(b"{}" * 99, mtime=0)[:-9], "is no whole gzip file"),
    ],
)
def test_unreadable_file_is_refused(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadGroups, match=message):
        list(read_groups(path))


@pytest.mark.parametrize(
    ("name", "groups", "patches", "resolved"),
    [
        ("distinct_eval_groups", 255, 1_020, 480),
        ("r4p_style_eval_groups", 315, 1_260, 655),
        ("swebench_patches", 444, 3_423, 1_694),
        ("multilang_patches", 458, 1_347, 481),
    ],
)
def test_large_data_is_read_whole(large_data, name, groups, patches, resolved):
    every = list(read_groups(large_data / f"{name}.jsonl.gz"))
    labels = [one.resolved for group in every for one in group.patches]
    assert (len(every), len(labels), sum(labels)) == (groups, patches, resolved)
    assert len({group.id for group in every}) == groups
