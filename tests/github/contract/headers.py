"""Checks of the headers of requests, responses and deliveries (pure)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

_ETAG = re.compile(r'(W/)?"[^"]+"')
_LINK = re.compile(r'<(?P<url>[^<>]+)>; rel="(?P<rel>first|prev|next|last)"')
_ACCEPT = re.compile(r"(\*/\*|application/json|application/vnd\.github\.?[\w.+-]*)")
_RATE_LIMIT = (
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-used",
    "x-ratelimit-reset",
)
_DELIVERY = {
    "user-agent": re.compile(r"GitHub-Hookshot/[0-9a-f]+"),
    "x-github-hook-id": re.compile(r"[0-9]+"),
    "x-github-delivery": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "x-github-hook-installation-target-id": re.compile(r"[0-9]+"),
    "x-github-hook-installation-target-type": re.compile(
        r"repository|organization|integration|business|marketplace::listing"
    ),
    "x-hub-signature-256": re.compile(r"sha256=[0-9a-f]{64}"),
    "content-type": re.compile(r"application/json(; *charset=utf-8)?"),
}


@dataclass(frozen=True, slots=True)
class Paging:
    """The facts of a list answer that decide its `Link` header."""

    page: int
    per_page: int
    count: int
    """Items in this body."""
    total: int | None
    """Items in all pages, where the body says so."""


def lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with lower-case names."""
    return {name.lower(): value for name, value in headers.items()}


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type without parameters, or "" if there is none."""
    return headers.get("content-type", "").split(";")[0].strip().lower()


def check_request_headers(headers: Mapping[str, str], api_version: str) -> Iterator[str]:
    """Check a request's headers: GitHub needs User-Agent, and we demand two others."""
    if not headers.get("user-agent"):
        yield "no User-Agent"
    if not headers.get("accept"):
        yield "no Accept"
    for wanted in headers.get("accept", "").split(","):
        if wanted and not _ACCEPT.fullmatch(wanted.split(";")[0].strip()):
            yield f"Accept asks for {wanted.strip()!r}, which GitHub does not serve"
    version = headers.get("x-github-api-version")
    if version != api_version:
        yield f"X-GitHub-Api-Version is {version!r}, not {api_version!r}"


def check_common_headers(headers: Mapping[str, str], *, rate_limited: bool) -> Iterator[str]:
    """Check the headers of every answer; `rate_limited` is True if the call costs quota."""
    if not headers.get("x-github-request-id"):
        yield "no X-GitHub-Request-Id"
    if rate_limited or any(name in headers for name in _RATE_LIMIT):
        yield from _rate_limit_problems(headers)
    after = headers.get("retry-after")
    if after is not None and not after.isdecimal():
        yield f"Retry-After is {after!r}, not a number of seconds"


def _rate_limit_problems(headers: Mapping[str, str]) -> Iterator[str]:
    for name in _RATE_LIMIT:
        if not headers.get(name, "").isdecimal():
            yield f"{name} is {headers.get(name)!r}, not a whole number"
    if not headers.get("x-ratelimit-resource"):
        yield "no x-ratelimit-resource"
    limit, remaining = (headers.get(name, "") for name in _RATE_LIMIT[:2])
    if limit.isdecimal() and remaining.isdecimal() and int(remaining) > int(limit):
        yield f"x-ratelimit-remaining {remaining} exceeds x-ratelimit-limit {limit}"


def check_etag(headers: Mapping[str, str]) -> Iterator[str]:
    """Check that an answer that supports conditional requests has an ETag."""
    etag = headers.get("etag")
    if etag is None:
        yield "no ETag"
    elif not _ETAG.fullmatch(etag):
        yield f"ETag is {etag!r}, not a quoted string"


def check_location(headers: Mapping[str, str]) -> Iterator[str]:
    """Check that a redirect or a creation has a Location."""
    location = headers.get("location", "")
    if not urlsplit(location).scheme.startswith("http"):
        yield f"Location is {location!r}, not an absolute URL"


def check_link(headers: Mapping[str, str], paging: Paging) -> Iterator[str]:
    """Check that `Link` names exactly the neighbouring pages."""
    if paging.count > paging.per_page:
        yield f"{paging.count} items on a page of {paging.per_page}"
    link = headers.get("link")
    if link is None:
        yield from _missing_link_problems(paging)
        return
    urls: dict[str, str] = {}
    for part in link.split(", "):
        match = _LINK.fullmatch(part)
        if match is None:
            yield f'Link part {part!r} is not <URL>; rel="..."'
        else:
            urls[match["rel"]] = match["url"]
    if "next" not in urls and "prev" not in urls:
        yield "Link on a single page"
    yield from _page_problems(urls, paging)


def _missing_link_problems(paging: Paging) -> Iterator[str]:
    if paging.page > 1:
        yield f"no Link on page {paging.page}"
    elif paging.total is not None and paging.total > paging.per_page:
        yield f"no Link although {paging.total} items do not fit on a page of {paging.per_page}"


def _page_problems(urls: Mapping[str, str], paging: Paging) -> Iterator[str]:
    expected = {"next": paging.page + 1, "prev": paging.page - 1, "first": 1}
    if paging.total is not None:
        expected["last"] = max(1, -(-paging.total // paging.per_page))
    for rel, url in urls.items():
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        if not parts.scheme or not parts.netloc:
            yield f"Link rel={rel} is not an absolute URL: {url!r}"
        page = query.get("page", [""])[0]
        if not page and "cursor" not in query:
            yield f"Link rel={rel} names no page: {url!r}"
        elif page and rel in expected and page != str(expected[rel]):
            yield f"Link rel={rel} names page {page}, not {expected[rel]}"
    if "next" in urls and paging.count < paging.per_page:
        yield f"Link rel=next although the page has {paging.count} of {paging.per_page} items"
    if paging.page > 1 and "prev" not in urls and "cursor" not in str(urls):
        yield f"Link without rel=prev on page {paging.page}"


def check_delivery_headers(event: str, headers: Mapping[str, str]) -> Iterator[str]:
    """Check the values of a delivery's headers."""
    named = headers.get("x-github-event")
    if named != event:
        yield f"X-GitHub-Event is {named!r}, not {event!r}"
    for name, pattern in _DELIVERY.items():
        value = headers.get(name)
        if value is not None and not pattern.fullmatch(value):
            yield f"{name} is {value!r}, which does not match {pattern.pattern!r}"
