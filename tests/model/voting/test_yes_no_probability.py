"""P(YES) is computed at the located token and survives invalid log-probabilities."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.protocols import Token
from model.voting.yes_no_probability import compute_yes_probability, locate_verdict
from tests.model.fake_engines import build_token


def build_tokens(*texts):
    return [Token(text, -0.1) for text in texts]


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        (["YES"], 0),
        (["", "YES", ""], 1),
        (["The", " answer", ":", " NO", "."], 3),
        (["Verdict", ": Y", "ES"], 1),
        (["N", "O"], 0),
        (["YES", " or", " NO", "?", " NO"], 4),
        (["**", "Yes", "**"], 1),
        (["<", "jud", "gement", ">", "YES", "</", "jud", "gement", ">"], 4),
        ([" no", ", it", " is not"], 0),
        (["There", " is", " no", " test"], None),
        (["NOTHING", " to", " say"], None),
        (["EYES"], None),
        (["Nothing"], None),
        ([], None),
    ],
)
def test_the_verdict_is_located(texts, place):
    assert locate_verdict(build_tokens(*texts)) == place


def test_the_share_of_yes_over_all_spellings():
    chances = {"YES": 0.3, " Yes": 0.2, "Y": 0.1, "NO": 0.1, " no": 0.05, "The": 0.2}
    assert compute_yes_probability(build_token("YES", **chances)) == pytest.approx(0.6 / 0.75)


def test_the_sampled_word_counts_though_it_is_not_listed():
    unlisted = Token("NO", math.log(0.2), (("YES", math.log(0.6)),))
    assert compute_yes_probability(unlisted) == pytest.approx(0.75)


def test_unlisted_word_gets_its_upper_bound():
    assert compute_yes_probability(build_token("YES", YES=0.9, Maybe=0.05)) == pytest.approx(
        0.9 / 0.95
    )  # left over
    assert compute_yes_probability(build_token("YES", YES=0.5, Maybe=0.1)) == pytest.approx(
        0.5 / 0.6
    )  # least listed
    assert compute_yes_probability(build_token("NO", NO=1.0)) == pytest.approx(0, abs=1e-12)
    assert compute_yes_probability(Token("YES", math.log(0.9))) == pytest.approx(0.9)


@pytest.mark.parametrize(
    "nothing",
    [
        build_token("The", The=0.5, Not=0.2),
        Token("YES", math.nan, (("NO", -math.inf),)),
        Token("YES", 7.0),
        Token("", -0.1, (("\n", -2.0),)),
    ],
)
def test_without_either_word_there_is_no_belief(nothing):
    assert compute_yes_probability(nothing) is None


def test_underflow_and_invalid_logprobs_are_handled():
    far = Token("YES", -1e-9, (("YES", -1e-9), ("NO", -9999.0)))
    assert compute_yes_probability(far) == 1
    assert compute_yes_probability(Token("NO", 0.0, (("YES", -9999.0), ("NO", 0.0)))) == 0
    deep = Token("YES", -9000.0, (("YES", -9000.0), ("NO", -9000.0)))
    assert compute_yes_probability(deep) == 0.5
    some = Token("YES", -1.0, (("YES", -1.0), (" yes", math.nan), ("NO", -1.0), ("N", math.inf)))
    assert compute_yes_probability(some) == 0.5


logs = st.floats(allow_nan=True, allow_infinity=True)
texts = st.sampled_from(["YES", " NO", "no", "Y", "The", "", "⟦"])


@given(st.builds(Token, texts, logs, st.lists(st.tuples(texts, logs), max_size=6).map(tuple)))
def test_any_logprobs_give_a_probability_or_none(token):
    value = compute_yes_probability(token)
    assert value is None or 0 <= value <= 1


@given(st.lists(texts, max_size=8))
def test_a_located_token_holds_a_letter_of_the_word(parts):
    tokens = build_tokens(*parts)
    at = locate_verdict(tokens)
    assert at is None or any(letter in tokens[at].text.upper() for letter in "YN")
