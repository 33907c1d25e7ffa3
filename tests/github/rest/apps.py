"""REST operations on Apps: tokens, installations, the delivery log, manifests, rate limits."""

from tests.github.clock import timestamp
from tests.github.objects import accounts
from tests.github.rest.paging import counted_page, page
from tests.github.world import auth
from tests.github.world.deliveries import Delivery
from tests.github.world.http_values import Answer, Call, Json, not_found
from tests.github.world.state import Installation
from tests.github.world.world import World


def get_app(world: World, call: Call) -> Answer:
    """GET /app"""
    record = auth.require_app(call.caller)
    count = sum(i.app is record for i in world.installations.values())
    return Answer(body=accounts.app(world, record) | {"installations_count": count})


def list_installations(world: World, call: Call) -> Answer:
    """GET /app/installations"""
    record = auth.require_app(call.caller)
    mine = [i for i in world.installations.values() if i.app is record]
    shown = [accounts.installation(world, i) for i in mine]
    for item in shown:
        # GitHub's schema of this list wants a user and an enterprise in one: `allOf`, not `anyOf`.
        del item["client_id"]  # nor does it know this one
        account = item["account"]
        account |= {"name": account["login"], "slug": account["login"], "description": None}
        account |= {"created_at": None, "updated_at": None, "website_url": None}
    return page(shown, call.query, _url(world, call))


def get_installation(world: World, call: Call) -> Answer:
    """GET /app/installations/{installation_id}"""
    return Answer(body=accounts.installation(world, _installation(world, call)))


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


def list_repositories(world: World, call: Call) -> Answer:
    """GET /installation/repositories"""
    token = auth.require_token(call.caller)
    covered = [r for r in world.repositories.values() if auth.covers(token, r)]
    shown = [accounts.repository(world, r) for r in sorted(covered, key=lambda r: r.id)]
    return counted_page("repositories", shown, call.query, _url(world, call))


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
    body = _delivery_item(delivery) | {
        "url": delivery.url,
        "request": {"headers": delivery.headers, "payload": delivery.payload},
        "response": {"headers": delivery.response_headers, "payload": delivery.response_body},
    }
    return Answer(body=body)


def redeliver(world: World, call: Call) -> Answer:
    """POST /app/hook/deliveries/{delivery_id}/attempts"""
    world.deliveries.redeliver(_delivery(world, call))
    return Answer(202, {})


def convert_manifest(world: World, call: Call) -> Answer:
    """POST /app-manifests/{code}/conversions: a code works once"""
    record = world.manifests.pop(call.params["code"], None)
    if record is None:
        raise not_found()
    secrets: Json = {
        "client_secret": f"{world.ids.random.getrandbits(160):040x}",
        "webhook_secret": record.webhook_secret,
        "pem": record.private_key,
    }
    return Answer(201, accounts.app(world, record) | secrets)


def rate_limit(world: World, call: Call) -> Answer:
    """GET /rate_limit: free of cost"""
    return Answer(body=world.limits.overview(call.caller.key))


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
