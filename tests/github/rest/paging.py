"""Pages of lists: 30 items unless asked, 100 at most, neighbours in the Link header. Pure."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from tests.github.world.http_values import Answer

_DEFAULT = 30
_MAX = 100


def build_page(items: Sequence[object], query: Mapping[str, str], url: str) -> Answer:
    """The page of a plain list that the query asks for."""
    return Answer(body=list(_slice(items, query)), headers=link(len(items), query, url))


def build_counted_page(
    name: str, items: Sequence[object], query: Mapping[str, str], url: str
) -> Answer:
    """The page of a list wrapped as `{total_count, name: [...]}`."""
    body = {"total_count": len(items), name: list(_slice(items, query))}
    return Answer(body=body, headers=link(len(items), query, url))


def link(total: int, query: Mapping[str, str], url: str) -> dict[str, str]:
    """The Link header: absent when everything fits on one page."""
    number, size = _position(query)
    last = max(1, -(-total // size))
    targets = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
    if number >= last:
        del targets["next"], targets["last"]
    if number <= 1:
        del targets["prev"], targets["first"]
    parts = [
        f'<{url}?{urlencode({**query, "page": target})}>; rel="{rel}"'
        for rel, target in targets.items()
    ]
    return {"Link": ", ".join(parts)} if parts else {}


def _slice(items: Sequence[object], query: Mapping[str, str]) -> Sequence[object]:
    number, size = _position(query)
    return items[(number - 1) * size : number * size]


def _position(query: Mapping[str, str]) -> tuple[int, int]:
    number, size = _whole(query, "page", 1), _whole(query, "per_page", _DEFAULT)
    return number, min(size, _MAX)


def _whole(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 and int(text) > 0 else default
