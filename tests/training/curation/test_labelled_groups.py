from training.curation import labelled_groups
from training.curation.pools import Pool, PoolPatch


def pool(*targets):
    patches = tuple(PoolPatch(f"diff {at}", target) for at, target in enumerate(targets))
    return Pool("o/r#1", "o/r", "It adds.", patches)


def test_a_group_holds_what_is_known_for_sure():
    found, left_out = labelled_groups.build_labelled_groups(
        [pool(0.9, None, 0.15, 0.3), pool(None, 0.75)]
    )
    assert found == [
        {
            "instance_id": "o/r#1",
            "repo": "o/r",
            "problem_statement": "It adds.",
            "patches": [
                {"patch": "diff 0", "resolved": True, "probability": 0.9, "source": "outcomes"},
                {"patch": "diff 2", "resolved": False, "probability": 0.15, "source": "outcomes"},
            ],
        }
    ]
    assert left_out == {
        "patches whose label is unknown": 2,
        "patches whose label is not sure": 2,
        "issues without a known patch": 1,
    }


def test_unknown_is_never_exported_as_incorrect():
    assert labelled_groups.build_labelled_groups([pool(None, None)], 0.5)[0] == []


def test_how_sure_is_a_choice():
    ((group,), _) = labelled_groups.build_labelled_groups([pool(0.6, 0.4)], 0.6)
    assert [one["resolved"] for one in group["patches"]] == [True, False]
