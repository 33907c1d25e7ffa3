"""One base URL gives every door."""

import pytest

from app.github.endpoints import Endpoints, build_endpoints

DOTCOM = Endpoints("https://github.com", "https://api.github.com", "https://api.github.com/graphql")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://github.com", DOTCOM),
        ("https://github.com/", DOTCOM),
        ("https://www.github.com", DOTCOM),
        ("https://api.github.com", DOTCOM),
        (
            "https://git.example.com/",
            Endpoints(
                "https://git.example.com",
                "https://git.example.com/api/v3",
                "https://git.example.com/api/graphql",
            ),
        ),
        (
            "http://127.0.0.1:8000/sub/",
            Endpoints(
                "http://127.0.0.1:8000/sub",
                "http://127.0.0.1:8000/sub/api/v3",
                "http://127.0.0.1:8000/sub/api/graphql",
            ),
        ),
    ],
)
def test_a_base_url_gives_every_door(url, expected):
    assert build_endpoints(url) == expected


def test_git_is_fetched_beside_the_pages():
    assert (
        build_endpoints("https://git.example.com").git("o/r") == "https://git.example.com/o/r.git"
    )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "github.com",
        "ssh://git@github.com",
        "ext::sh -c id",
        "https://",
        "https://u:p@h",
        "https://h?q",
        "https://h#f",
    ],
)
def test_a_base_url_that_is_not_plain_is_refused(url):
    with pytest.raises(ValueError, match="R4P_GITHUB_URL"):
        build_endpoints(url)
