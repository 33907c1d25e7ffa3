"""No issue is trained on and measured on, and whole blocks are held out."""

import pytest

from model.evaluation import labelled_group
from tests.training.gpu_proof import rehearsal
from training.datasets import dataset
from training.gpu_proof import data_selection
from training.gpu_proof.data_selection import LeakedIssue


def test_evaluated_blocks_are_measured_on_and_never_learnt(tmp_path):
    data = rehearsal.write_public_data(tmp_path / "public", issues=6)
    selected = data_selection.write_data(data, tmp_path / "out")
    learnt = dataset.read_split(tmp_path / "out" / "data" / "dataset", "train")
    issues = {group.issue for group in learnt}
    assert issues
    assert all(name.startswith(("django__django-100", "octo__toy")) for name in issues)
    # the seventh group of the file lies in an early block of Django
    assert [len(groups) for groups in selected.evaluated.values()] == [6, 6]
    kept = list(labelled_group.read_groups(tmp_path / "out" / "data" / "distinct.jsonl.gz"))
    assert {group.instance_id for group in kept} == {
        f"django__django-{16_000 + n}" for n in range(6)
    }
    lines = (tmp_path / "out" / "results" / "distinct.consensus.jsonl").read_text().splitlines()
    assert len(lines) == 6


def test_an_issue_on_both_sides_is_refused():
    data_selection.check_leaks({"a-1"}, {"a-2"})
    with pytest.raises(LeakedIssue, match="2 issues are trained on and measured on, such as a-1"):
        data_selection.check_leaks({"a-1", "a-2", "b"}, {"a-2", "a-1"})


@pytest.mark.proof
def test_selection_of_the_public_data(large_data):
    """Exact counts, and a check of the rule that does not use the selection's code."""
    measured = {
        name: list(labelled_group.read_groups(large_data / file))
        for name, file in data_selection.EVALUATED_FILES.items()
    }
    pools = [
        group
        for file in data_selection.LEARNT_FILES
        for group in labelled_group.read_groups(large_data / file)
    ]
    selected = data_selection.select_data(measured, pools)
    assert {name: len(groups) for name, groups in selected.evaluated.items()} == {
        "distinct": 169,
        "r4p_style": 206,
    }
    learnt = selected.learnt.splits["train"]
    assert (len(learnt), len({group.issue for group in learnt})) == (1451, 395)
    late = {"sphinx-doc", "matplotlib", "pydata", "mwaskom", "pallets"}
    for group in learnt:
        owner, _, rest = group.issue.partition("__")
        assert owner not in late
        assert owner != "django" or int(rest.rpartition("-")[2]) < 13_933
