"""How many fixes change tests: the paper's filters one by one, and its own count."""

import json
from dataclasses import replace

import pytest

from model.errors import BadGroups
from model.evaluation.labelled_group import iterate_lines, read_groups
from tests.builders.patch_pools import TEXT, build_diff, build_patch, build_pool
from training.curation.fix_study import (
    PAPER_QUALIFIED,
    PAPER_TESTED,
    parse_instance,
    study_fixes,
)
from training.curation.pools import build_from_groups

FIX, TEST = build_diff(path="src/app.py"), build_diff(path="tests/test_app.py")


def build_fix(number, *diffs, text=TEXT):
    patches = tuple(build_patch(diff=each) for each in diffs)
    return replace(build_pool(f"o/r#{number}"), statement=text, patches=patches)


def test_paper_counts_28_percent_with_tests():
    """Figure 13: 364,628 qualified pull requests, of which 262,134 have no tests."""
    assert PAPER_QUALIFIED - PAPER_TESTED == 262_134
    assert round(PAPER_TESTED / PAPER_QUALIFIED, 4) == 0.2811


def test_share_of_fixes_that_change_tests():
    study = study_fixes(
        [build_fix(1, FIX + TEST), build_fix(2, FIX), build_fix(3, FIX, TEST + FIX)]
    )
    assert (study.fixes, study.qualified, study.issues, study.tested) == (4, 4, 3, 2)
    assert study.share.value == 0.5
    assert study.share.low < 0.5 < study.share.high
    assert study.dropped == {}


@pytest.mark.parametrize(
    ("fix", "reason"),
    [
        (build_fix(1, FIX, text="x" * 99), "shorter than 100 characters"),
        (build_fix(1, FIX, text="x" * 100), None),
        (build_fix(1, FIX, text="x" * 4000), None),
        (build_fix(1, FIX, text="x" * 4001), "longer than 4,000 characters"),
        (build_fix(1, FIX, text=TEXT + "é"), "not only ASCII"),
        (build_fix(1, FIX, text=TEXT + "![x](y)"), "shows an image"),
        (build_fix(1, FIX + build_diff(path="a.js")), "touches other files than .py"),
        (build_fix(1, "".join(build_diff(path=f"{at}.py") for at in range(5))), None),
        (build_fix(1, "".join(build_diff(path=f"{at}.py") for at in range(6))), "not 1 to 5 files"),
        (build_fix(1, ""), "not 1 to 5 files"),
        (build_fix(1, "no diff at all"), "not 1 to 5 files"),
    ],
)
def test_filters_of_the_paper(fix, reason):
    study = study_fixes([fix])
    assert study.dropped == ({reason: 1} if reason else {})
    assert study.qualified == (0 if reason else 1)


def test_nothing_qualified_has_no_share():
    assert study_fixes([]).share.value is None


def write_row(**keys):
    row = {"instance_id": "o__r-1", "repo": "o/r", "gold_patch": FIX[:-1], "test_patch": TEST}
    return json.dumps(row | keys)


def test_instance_is_the_fix_with_its_tests():
    pool = parse_instance(write_row(), "line 1", {"o__r-1": TEXT})
    assert (pool.statement, pool.patches[0].diff) == (TEXT, FIX + TEST)
    assert study_fixes([pool]).tested == 1
    own = parse_instance(write_row(problem_statement="its own"), "line 1", {"o__r-1": TEXT})
    assert own.statement == "its own"
    bare = parse_instance(write_row(test_patch=""), "line 1", {})
    assert (bare.statement, bare.patches[0].diff) == ("", FIX)
    with pytest.raises(BadGroups, match=r"f\.jsonl, line 2: test_patch is wrong"):
        parse_instance('{"instance_id": "a", "repo": "b", "patch": ""}', "f.jsonl, line 2", {})


def test_documented_figure_of_swe_bench(large_data):
    """The figure in docs/evaluation.md."""
    texts = build_from_groups(read_groups(large_data / "swebench_patches.jsonl.gz"))
    statements = {pool.issue: pool.statement for pool in texts}
    lines = iterate_lines(large_data / "swebench_instances.jsonl.gz")
    study = study_fixes(parse_instance(line, "", statements) for line in lines)
    assert (study.fixes, study.qualified, study.tested) == (445, 249, 249)
    agents = study_fixes(texts)
    assert (agents.fixes, agents.qualified, agents.tested) == (3423, 2135, 0)
