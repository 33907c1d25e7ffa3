"""Build the URLs of a GitHub server from its base URL (pure)."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

API_VERSION: Final = "2022-11-28"
"""Version of the REST API that the bot asks for. GitHub Enterprise Server knows newer versions late.

The bot needs no field that version 2026-03-10 drops, and tests run it on that version, too. It takes the merge commit from
`merge_commit_sha` where a webhook has it, and from GraphQL elsewhere."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Base URLs of one GitHub server, without a trailing slash."""

    web: str
    """Base URL of pages. Git repositories are at `{web}/{owner}/{name}.git`."""
    rest: str
    graphql: str
    api_version: str = API_VERSION

    def git(self, full_name: str) -> str:
        """Return the URL from which git fetches the repository `full_name` (`owner/name`). It holds no secret."""
        return f"{self.web}/{full_name}.git"


def build_endpoints(github_url: str) -> Endpoints:
    """Build the URLs of the GitHub server at `github_url`: github.com or a GitHub Enterprise Server.

    Raises ValueError unless `github_url` is a plain http(s) URL without credentials, query or fragment.
    """
    parts = urlsplit(github_url.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"R4P_GITHUB_URL {github_url!r}: expected http(s)://host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(
            "R4P_GITHUB_URL: remove credentials, query and fragment; give only the base URL"
        )
    if parts.hostname in {"github.com", "www.github.com", "api.github.com"}:
        api = "https://api.github.com"
        return Endpoints(web="https://github.com", rest=api, graphql=f"{api}/graphql")
    web = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    return Endpoints(web=web, rest=f"{web}/api/v3", graphql=f"{web}/api/graphql")
