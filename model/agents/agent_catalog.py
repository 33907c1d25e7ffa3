"""Names to agents: the one place that knows every agent, and loads them late."""

from typing import TYPE_CHECKING

from model.errors import UnknownAgent
from model.protocols import Engine

if TYPE_CHECKING:  # the tools come along, with every parser
    from model.agents.agent import Agent
    from model.agents.trajectories.trajectory import Limits

AGENTS = {
    "mini-se": "searches, edits and submits in a loop (the R4P paper's)",
    "agentless-mini": "locates, edits whole files many times, and votes (SWE-RL's)",
}
"""Every agent by name, and what it does."""


def require(name: str) -> None:
    """Raises UnknownAgent for what is not in AGENTS: before a model is loaded for it."""
    if name not in AGENTS:
        raise UnknownAgent(f"no agent is called {name!r}; there are {', '.join(AGENTS)}")


def agent(name: str, engine: Engine, limits: "Limits | None" = None) -> "Agent":
    """An agent by its name in AGENTS that speaks through `engine`. Raises UnknownAgent."""
    require(name)
    if name == "agentless-mini":
        from model.agents.agentless.agentless_mini import AgentlessMini

        return AgentlessMini(engine, limits=limits)
    from model.agents.mini_se.mini_se import MiniSE

    return MiniSE(engine, limits=limits)
