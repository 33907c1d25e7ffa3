"""Secrets don't leave the process in text, whether we know them or only their shape."""

import jwt
import pytest

from app.github.redaction import MASK, redact, remember
from tests.builders.github.local_github import KEY

LONG = "ghs_12345678_" + "eyJhbGciOi." * 3 + "aB3-_." * 80
JWT = jwt.encode({"iss": "99"}, KEY, algorithm="RS256")


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param("ghp_" + "a1B2" * 9, id="a personal token"),
        pytest.param("ghs_" + "a1B2" * 9, id="an installation token of the old form"),
        pytest.param(LONG, id="an installation token of 520 characters"),
        pytest.param("github_pat_" + "a1B2_" * 9, id="a fine-grained token"),
        pytest.param(JWT, id="a web token"),
        pytest.param(KEY.strip(), id="a private key"),
        pytest.param(KEY[:300].strip(), id="the start of a private key"),
    ],
)
def test_a_text_with_the_shape_of_a_secret_is_masked_whole(secret):
    assert redact(f"before {secret} after").replace(" after", "") == f"before {MASK}"


def test_an_authorization_header_is_masked():
    said = redact("Authorization: Basic eC1hY2Nlc3MtdG9rZW46c2VjcmV0")
    assert said == f"Authorization: Basic {MASK}"


def test_a_known_value_is_masked_wherever_it_stands():
    remember("webhook-secret-of-ours")
    remember("webhook-secret-of-ours-and-longer")
    said = redact("a=webhook-secret-of-ours&b=webhook-secret-of-ours-and-longer")
    assert said == f"a={MASK}&b={MASK}"


def test_ordinary_words_stay():
    remember("short")
    text = "a short ghost_story about ghs_ and basic needs of basic authentication"
    assert redact(text) == text


def test_only_the_newest_thousand_values_are_kept():
    remember("the-very-first-value")
    for n in range(1_000):
        remember(f"value-number-{n:04}")
    assert redact("the-very-first-value value-number-0999") == f"the-very-first-value {MASK}"
