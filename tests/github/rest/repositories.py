"""REST operations on a repository and its collaborators."""

from tests.github.objects import accounts
from tests.github.world.http_values import Answer, Call
from tests.github.world.world import World


def get_repository(world: World, call: Call) -> Answer:
    """GET /repos/{owner}/{repo}"""
    counts = {"network_count": 0, "subscribers_count": 0}
    return Answer(body=accounts.repository(world, call.repo) | counts)


def get_permission(world: World, call: Call) -> Answer:
    """GET .../collaborators/{username}/permission"""
    who = world.user(call.params["username"])
    return Answer(body=accounts.permission(world, who, world.role(call.repo, who)))
