"""Measuring the one that looks at trajectories: on groups that have them, and on no others."""

from dataclasses import replace

import pytest

from model import catalog
from model.evaluation import judge_catalog, labelled_group
from model.evaluation.attacks.attack_cases import build_cases
from model.evaluation.attacks.attack_plays import Place
from model.evaluation.evaluation_run import judge_groups as run_all
from tests.model.evaluation.builders import build_row, format_lines
from tests.model.fake_engines import LogprobEngine, build_token

NAME = "yes-no-trajectory"


@pytest.fixture
def groups_file(tmp_path):
    """A file with a group of which one patch has a trajectory."""
    one = build_row(1, True, False)
    one["patches"][0]["trajectory"] = "I ran the tests twice."
    (tmp_path / "told.jsonl").write_text(format_lines(one, build_row(2, True, False)))
    return tmp_path / "told.jsonl"


@pytest.mark.parametrize("verifier", [NAME, f"hybrid:consensus+{NAME}"])
@pytest.mark.parametrize("attack", [[], ["--attack"]], ids=["measured", "attacked"])
def test_groups_without_trajectories_are_refused(run, verifier, attack):
    result = run(*attack, verifier=verifier)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"verifier {verifier} looks at trajectories, and none of" in result.stderr
    assert "`trajectory` of a patch" in result.stderr


def test_trajectories_are_judged(groups_file):
    groups = list(labelled_group.read_groups(groups_file))
    judge_catalog.check_trajectories(NAME, groups)
    engine = LogprobEngine(
        {"I ran the tests": [build_token("YES", YES=0.9, NO=0.1)], "": [build_token("NO", NO=1)]}
    )
    judged = run_all(
        groups, judge_catalog.build_judge(NAME, catalog.load_verifier(NAME, engine), 1)
    )
    assert len(engine.requests) == 4
    assert sum("I ran the tests" in str(one.messages) for one in engine.requests) == 1
    assert judged[0].patches[0].score == pytest.approx(0.9)


def test_other_verifiers_never_see_a_trajectory(groups_file):
    groups = list(labelled_group.read_groups(groups_file))
    for name in ("yes-no", "r4p"):
        judge_catalog.check_trajectories(name, [])
        engine = LogprobEngine({"": [build_token("YES", YES=0.9, NO=0.1)]})
        run_all(groups, judge_catalog.build_judge(name, catalog.load_verifier(name, engine), 1))
        assert engine.requests
        assert "I ran the tests" not in str(engine.requests)


def test_attack_leaves_the_attackers_trajectory_unchanged(groups_file):
    first = next(iter(labelled_group.read_groups(groups_file)))
    texts = [replace(one.patch, trajectory="Mine.") for one in first.patches]
    patches = zip(first.patches, texts, strict=True)
    known = replace(first, patches=tuple(replace(one, patch=text) for one, text in patches))
    made = [case for case in build_cases([known]) if case.template.place is Place.COMMENT]
    assert made
    for case in made:
        for group in case.groups:
            assert {one.patch.trajectory for one in group.patches} == {"Mine."}
