"""The tournament needs fewer comparisons than a round robin, on labelled groups with simulated judges."""

import gzip
import json

import pytest

from tests.model.verifiers.voting.swiss_budget import bound_needed, measure_group


@pytest.mark.proof
@pytest.mark.parametrize("noise", [(0.65, 0.0), (0.75, 0.0), (0.75, 0.1)])
def test_swiss_needs_at_most_ten_of_the_twelve_comparisons_of_a_vote_of_pairwise(large_data, noise):
    groups = []
    with gzip.open(large_data / "distinct_eval_groups.jsonl.gz", "rt") as file:
        for record in map(json.loads, file):
            labels = [patch["resolved"] for patch in record["patches"]]
            if any(labels) and not all(labels):
                groups.append((record["instance_id"], labels))
    measured = [measure_group(name, labels, noise, 4, 13) for name, labels in groups]
    assert {asked for _, _, asked in measured} == {12}
    low, high = bound_needed(measured)
    assert 4 < low <= high <= 10
