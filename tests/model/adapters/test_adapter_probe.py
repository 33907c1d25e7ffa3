import json
import math
from dataclasses import asdict, replace

import pytest

from model.adapters.adapter_probe import (
    Passage,
    Probe,
    ProbeComparison,
    ServedLogprobs,
    compare,
    find_objections,
    parse_probe,
)

PROBE = Probe(
    "a" * 64,
    (
        Passage((1, 2), (3, 4), base=(-2.0, -3.0), adapted=(-1.0, -1.0)),
        Passage((1,), (5,), base=(-0.5,), adapted=(-0.5,)),
    ),
)
BASE = ((-2.0, -3.0), (-0.5,))
ADAPTED = ((-1.0, -1.0), (-0.5,))
FINE = ProbeComparison(
    tokens=3, mean_distance=0.0, effect=1.0, effect_error=0.0, max_change=2.0, max_noise=0.0
)


def test_trained_adapter_has_no_objection():
    assert compare(PROBE, ServedLogprobs(BASE, BASE, ADAPTED)) == FINE
    assert find_objections(FINE) == ()


def test_base_model_has_three_objections():
    comparison = compare(PROBE, ServedLogprobs(BASE, BASE, BASE))
    assert (comparison.effect, comparison.max_change, comparison.mean_distance) == (0.0, 0.0, 1.0)
    assert [objection.split(" ")[0] for objection in find_objections(comparison)] == [
        "its",
        "0.00",
        "log-probabilities",
    ]


def test_rounding_errors_are_accepted():
    def shift(rows, error):
        return tuple(tuple(item + error for item in row) for row in rows)

    served = ServedLogprobs(shift(BASE, 0.04), shift(BASE, 0.05), shift(ADAPTED, -0.05))
    comparison = compare(PROBE, served)
    # effects of 1 and 2 nats arrive as 0.91 and 1.91
    assert comparison.effect == pytest.approx((1 * 0.91 + 2 * 1.91) / 5)
    # they lie 0.018 above, 0.009 above and 0.09 below 0.946 of 1, 2 and 0
    assert comparison.effect_error == pytest.approx(
        ((0.036**2 + 0.018**2 + 0.09**2) / 2 / 5) ** 0.5
    )
    assert comparison.max_noise == pytest.approx(0.01)
    assert comparison.mean_distance == pytest.approx(0.05)
    assert find_objections(comparison) == ()


@pytest.mark.parametrize(
    ("changes", "objection"),
    [
        ({"max_change": 0.01, "max_noise": 0.01}, "the noise of two equal questions (0.0100)"),
        ({"effect": 0.7}, "0.70 ± 0.00 of its effect arrives; between"),
        ({"effect": 0.6, "effect_error": 0.09}, "0.60 ± 0.18 of its effect arrives; between"),
        ({"effect": 1.6, "effect_error": 0.1}, "1.60 ± 0.20 of its effect arrives; between"),
        (
            {"effect": 0.9, "effect_error": 0.5},
            "0.90 ± 1.00 of its effect arrives, which may be none",
        ),
        ({"mean_distance": 0.2}, "by 0.200 in the mean of 3 tokens"),
        ({"mean_distance": math.nan}, "by nan in the mean"),
        ({"effect": math.nan}, "the trainer saw no effect either"),
    ],
)
def test_each_deviation_has_its_objection(changes, objection):
    (comparison,) = find_objections(replace(FINE, **changes))
    assert objection in comparison


@pytest.mark.parametrize(("effect", "blur"), [(0.65, 0.1), (1.5, 0.2), (0.8, 0.0), (1.25, 0.0)])
def test_effects_within_the_error_are_accepted(effect, blur):
    assert find_objections(replace(FINE, effect=effect, effect_error=blur)) == ()


def test_effect_is_nan_when_the_trainer_saw_none():
    idle = Probe("a", (Passage((1,), (2,), (-1.0,), (-1.0,)),))
    assert math.isnan(compare(idle, ServedLogprobs(((-1.0,),), ((-1.0,),), ((-1.0,),))).effect)


def test_log_probabilities_of_other_tokens_are_refused():
    with pytest.raises(ValueError, match="zip"):
        compare(PROBE, ServedLogprobs(BASE, BASE, ((-1.0,),)))


def test_probe_survives_a_round_trip():
    assert parse_probe(json.dumps(asdict(PROBE))) == PROBE
    with pytest.raises(
        ValueError, match=r"its schema is r4p.probe/9; this version reads r4p.probe/1"
    ):
        parse_probe(json.dumps(asdict(PROBE) | {"schema": "r4p.probe/9"}))


@pytest.mark.parametrize("changes", [{"prompt": ()}, {"continuation": ()}, {"base": (-1.0,)}])
def test_passage_needs_two_numbers_per_token(changes):
    with pytest.raises(ValueError, match="give each token its two"):
        replace(PROBE.passages[0], **changes)
