import math

import pytest
import torch

from training.plans.plan import ImportanceCorrection
from training.trl import grpo

SAMPLED = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
TRAINED = torch.tensor([[math.log(4), math.log(0.5), 9.0], [math.log(0.5), math.log(0.5), 0.0]])
MASK = torch.tensor([[1, 1, 0], [1, 1, 1]])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (ImportanceCorrection.TOKEN_TRUNCATE, [[1.5, 0.5, 1.0], [0.5, 0.5, 1.0]]),
        (ImportanceCorrection.TOKEN_MASK, [[0.0, 0.5, 1.0], [0.5, 0.5, 1.0]]),
        (ImportanceCorrection.SEQUENCE_TRUNCATE, [[1.5, 1.5, 1.5], [0.25, 0.25, 0.25]]),
        (ImportanceCorrection.SEQUENCE_MASK, [[0.0, 0.0, 0.0], [0.25, 0.25, 0.25]]),
    ],
)
def test_token_weight_is_its_ratio_up_to_the_ceiling(mode, expected):
    weights = grpo.compute_weights(TRAINED, SAMPLED, MASK, mode, 1.5)
    assert torch.allclose(weights, torch.tensor(expected))


def test_token_without_a_sampled_probability_has_the_weight_one():
    sampled = torch.tensor([[math.nan, 0.0, math.nan], [0.0, 0.0, 0.0]])
    weights = grpo.compute_weights(
        TRAINED, sampled, MASK, ImportanceCorrection.SEQUENCE_TRUNCATE, 1.5
    )
    assert torch.allclose(weights, torch.tensor([[0.5] * 3, [0.25] * 3]))
