"""REST operations of an App: its installation, tokens and delivery log."""

from tests.github.clock import timestamp
from tests.github.objects import accounts
from tests.github.rest.paging import build_counted_page, build_page
from tests.github.world import auth
from tests.github.world.deliveries import Delivery
from tests.github.world.http_values import Answer, Call, Json, not_found
from tests.github.world.sign_ins import get_client_secret
from tests.github.world.state import Installation
from tests.github.world.world import World


def repository_installation(world: World, call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/installation"""
    record = auth.require_app(call.caller)
    for installation in world.installations_on(call.repo):
        if installation.app is record:
            return Answer(body=accounts.installation(world, installation))
    raise not_found()


def create_token(world: World, call: Call) -> Answer:
    """POST /app/installations/{installation_id}/access_tokens"""
    installation = _installation(world, call)
    if installation.suspended_at is not None:
        raise auth.build_suspension_error()
    by_id = {r.id: r for r in world.repositories.values()}
    wanted = call.body.get("repository_ids") or call.body.get("repositories")
    narrowed = auth.repository_ids(installation, by_id, wanted)
    permissions = auth.narrow_permissions(installation, call.body.get("permissions"))
    token = auth.issue_token(world, installation, narrowed, permissions)
    body: Json = {
        "token": token.value,
        # The client compares this with its own clock, so it is the real moment of expiry.
        "expires_at": timestamp(world.clock.wall_after(auth.TOKEN_SECONDS)),
        "permissions": token.permissions,
        "repository_selection": installation.selection,
    }
    if narrowed is not None:
        body["repositories"] = [accounts.repository(world, by_id[n]) for n in sorted(narrowed)]
    return Answer(201, body)


def list_deliveries(world: World, call: Call) -> Answer:
    """GET /app/hook/deliveries, newest first, paged by cursor"""
    record = auth.require_app(call.caller)
    size = min(int(call.query.get("per_page", "30")), 100)
    before = call.query.get("cursor", "v1_")[3:]
    mine = [d for d in world.deliveries.list_retained() if d.app is record]
    rest = [d for d in mine if not before or d.id < int(before)]
    shown = rest[:size]
    headers = {}
    if len(rest) > size:
        cursor = f"cursor=v1_{shown[-1].id}&per_page={size}"
        headers["Link"] = f'<{_url(world, call)}?{cursor}>; rel="next"'
    return Answer(body=[_delivery_item(d) for d in shown], headers=headers)


def get_delivery(world: World, call: Call) -> Answer:
    """GET /app/hook/deliveries/{delivery_id}"""
    delivery = _delivery(world, call)
    request = {"headers": dict(delivery.headers), "payload": delivery.payload}
    response = {"headers": {}, "payload": ""}
    more = {"url": delivery.url, "request": request, "response": response}
    return Answer(body=_delivery_item(delivery) | more)


def get_app(world: World, call: Call) -> Answer:
    """GET /app"""
    record = auth.require_app(call.caller)
    count = sum(item.app is record for item in world.installations.values())
    return Answer(body=accounts.app(world, record) | {"installations_count": count})


def list_installations(world: World, call: Call) -> Answer:
    """GET /app/installations"""
    record = auth.require_app(call.caller)
    mine = [item for item in world.installations.values() if item.app is record]
    items = [_installation_item(world, item) for item in mine]
    return build_page(items, call.query, _url(world, call))


def _installation_item(world: World, record: Installation) -> Json:
    """An installation in a list. GitHub's schema wants an enterprise's fields in every account there."""
    item = accounts.installation(world, record)
    del item["client_id"]
    login, day = record.account.login, timestamp(record.created_at)
    item["account"] |= {"name": login, "slug": login, "created_at": day, "updated_at": day}
    return item


def list_repositories(world: World, call: Call) -> Answer:
    """GET /installation/repositories"""
    token = auth.require_token(call.caller)
    mine = [r for r in world.repositories.values() if auth.covers(token, r)]
    items = [accounts.repository(world, repository) for repository in mine]
    return build_counted_page("repositories", items, call.query, _url(world, call))


def convert_manifest(world: World, call: Call) -> Answer:
    """POST /app-manifests/{code}/conversions, which works once for each code"""
    record = world.manifest_codes.pop(call.params["code"], None)
    if record is None:
        raise not_found()
    credentials = {
        "client_id": record.client_id,
        "client_secret": get_client_secret(record),
        "webhook_secret": record.webhook_secret,
        "pem": record.private_key,
    }
    return Answer(201, accounts.app(world, record) | credentials)


def redeliver(world: World, call: Call) -> Answer:
    """POST /app/hook/deliveries/{delivery_id}/attempts"""
    world.deliveries.redeliver(_delivery(world, call))
    return Answer(202, {})


def _installation(world: World, call: Call) -> Installation:
    record = auth.require_app(call.caller)
    installation = world.installations.get(call.number("installation_id"))
    if installation is None or installation.app is not record:
        raise not_found()
    return installation


def _delivery(world: World, call: Call) -> Delivery:
    record = auth.require_app(call.caller)
    wanted = call.number("delivery_id")
    for delivery in world.deliveries.list_retained():
        if delivery.id == wanted and delivery.app is record:
            return delivery
    raise not_found()


def _delivery_item(delivery: Delivery) -> Json:
    return {
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": timestamp(delivery.delivered_at),
        "redelivery": delivery.redelivery,
        "duration": delivery.duration,
        "status": delivery.status,
        "status_code": delivery.status_code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": delivery.installation_id,
        "repository_id": delivery.repository_id,
        "throttled_at": None,
    }


def _url(world: World, call: Call) -> str:
    return accounts.api(world, call.path)
