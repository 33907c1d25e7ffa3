"""The control port: what people, CI, time and bad luck do to the simulated GitHub.

Commands are POSTed as `/_control/NAME` with their arguments as a JSON object.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.github.control import app_commands, scene_commands
from tests.github.world.faults import Fault, Kind
from tests.github.world.http_values import ApiError
from tests.github.world.world import World

_TOKENS = "POST /app/installations/{installation_id}/access_tokens"


def _violations(world: World) -> object:
    return [asdict(broken) for broken in world.journal.violations]


def _history(world: World, since: int = 0) -> object:
    return [asdict(request) for request in world.journal.requests[since:]]


def _calls(world: World, since: int = 0) -> object:
    counts = world.journal.counts(since)
    tokens = counts.pop(_TOKENS, 0)
    return {"operations": dict(counts), "tokens": tokens}


def _mark(world: World) -> object:
    return len(world.journal.requests)


def _advance(world: World, seconds: float) -> object:
    world.clock.advance(seconds)
    return world.clock.now()


def _now(world: World) -> object:
    return world.clock.now()


def _fault(world: World, **rule: Any) -> object:
    rule["kind"] = Kind(rule["kind"])
    world.faults.rules.append(Fault(**rule))
    return len(world.faults.rules) - 1


def _clear_faults(world: World) -> object:
    hits = [rule.hits for rule in world.faults.rules]
    world.faults.rules.clear()
    return hits


def _fault_hits(world: World) -> object:
    return [rule.hits for rule in world.faults.rules]


def _meters(world: World) -> object:
    return {
        key: {
            "content_last_hour": len(meters.content),
            "requests_while_blocked": meters.requests_while_blocked,
            "refused": meters.refused,
        }
        for key, meters in world.limits.meters.items()
    }


def _set_limit(world: World, resource: str, limit: int) -> object:
    world.limits.limits[resource] = limit
    return limit


def _exhaust(world: World, installation_id: int, resource: str = "core") -> object:
    world.limits.exhaust(f"installation:{installation_id}", resource)
    return None


def _set_listing_lag(world: World, seconds: float) -> object:
    world.listing_lag = seconds
    return None


def _hold(world: World) -> object:
    world.deliveries.hold()
    return None


def _release(world: World, order: list[int] | None = None) -> object:
    return world.deliveries.release(order)


def _deliveries(world: World) -> object:
    return [
        {
            "id": d.id,
            "guid": d.guid,
            "event": d.event,
            "action": d.action,
            "status": d.status,
            "status_code": d.status_code,
            "redelivery": d.redelivery,
            "installation_id": d.installation_id,
            "payload": d.payload,
        }
        for d in world.deliveries.log.values()
    ]


def _redeliver(world: World, guid: str) -> object:
    newest = [d for d in world.deliveries.log.values() if d.guid == guid]
    if not newest:
        raise ApiError(404, f"no delivery has the GUID {guid}")
    return world.deliveries.redeliver(newest[-1]).id


def _answer_within(world: World, seconds: float) -> object:
    world.deliveries.answer_seconds = seconds
    return None


async def _drain(world: World, timeout_seconds: float) -> object:
    return await world.deliveries.drain(timeout_seconds)


Command = Callable[..., object | Awaitable[object]]
COMMANDS: dict[str, Command] = {
    "violations": _violations,
    "history": _history,
    "calls": _calls,
    "mark": _mark,
    "advance": _advance,
    "now": _now,
    "fault": _fault,
    "clear_faults": _clear_faults,
    "fault_hits": _fault_hits,
    "meters": _meters,
    "set_limit": _set_limit,
    "exhaust": _exhaust,
    "set_listing_lag": _set_listing_lag,
    "hold_webhooks": _hold,
    "release": _release,
    "deliveries": _deliveries,
    "redeliver": _redeliver,
    "answer_within": _answer_within,
    "drain": _drain,
    **app_commands.COMMANDS,
    **scene_commands.COMMANDS,
}


async def serve(world: World, request: Request) -> Response:
    """Run one command; its result is under `result`, a refusal under `error` with status 400."""
    command = COMMANDS.get(request.path_params["command"])
    if command is None:
        names = ", ".join(sorted(COMMANDS))
        return JSONResponse({"error": f"unknown command; there are: {names}"}, 404)
    arguments = json.loads(await request.body() or b"{}")
    try:
        result = command(world, **arguments)
        if isinstance(result, Awaitable):
            result = await result
    except ApiError as error:
        return JSONResponse({"error": f"{error.status}: {error}"}, 400)
    except (TypeError, ValueError, KeyError) as error:
        return JSONResponse({"error": f"{type(error).__name__}: {error}"}, 400)
    return JSONResponse({"result": result})
