from dataclasses import replace

from tests.builders.patch_pools import build_pool
from training.curation.steps import filter_issues, filter_patches, run_steps
from training.datasets.manifest import CurationStep


def test_every_drop_has_a_counted_reason():
    steps = (
        ("odd", filter_issues(lambda item: None if item.issue != "o/r#3" else "third")),
        ("wrong", filter_patches(lambda item: "wrong" if item.target == 0 else None)),
        ("last", lambda pools: ([replace(pools[0], statement="x")], ["b", "a", "b"])),
    )
    pools = [
        build_pool("o/r#1", (1.0, 0.0, 1.0)),
        build_pool("o/r#2", (0.0, 0.0)),
        build_pool("o/r#3"),
        build_pool("o/r#4"),
    ]
    kept, steps_report = run_steps(pools, steps)
    assert [one.statement for one in kept] == ["x"]
    assert steps_report == [
        CurationStep("odd", 3, 6, {"third": 1}),
        CurationStep("wrong", 2, 3, {"wrong": 3}),
        CurationStep("last", 1, 2, {"a": 1, "b": 2}),
    ]
    assert list(steps_report[2].dropped) == ["a", "b"]
