"""The catalogue maps names to agents and imports each agent on first use."""

from typing import TYPE_CHECKING

from model.errors import UnknownAgent
from model.protocols import Engine

if TYPE_CHECKING:  # the import also loads the tools and every parser
    from model.agents.parallel_attempts import Agent
    from model.agents.trajectories.trajectory import AttemptLimits

AGENTS = {
    "mini-se": "searches, edits and submits in a loop (the R4P paper's)",
    "agentless-mini": "locates, edits whole files many times, and votes (SWE-RL's)",
}
"""Every agent's name with a short description."""


def require_agent(name: str) -> None:
    """Raise UnknownAgent unless AGENTS has an agent called `name`. Call it before a model is loaded."""
    if name not in AGENTS:
        raise UnknownAgent(f"no agent is called {name!r}; there are {', '.join(AGENTS)}")


def build_agent(name: str, engine: Engine, limits: "AttemptLimits | None" = None) -> "Agent":
    """Build the agent called `name`, which asks `engine` for its replies. Raises UnknownAgent.

    `limits` bounds each attempt; None means the defaults of AttemptLimits.
    """
    require_agent(name)
    if name == "agentless-mini":
        from model.agents.agentless.agentless_mini import AgentlessMini

        return AgentlessMini(engine, limits=limits)
    from model.agents.mini_se.mini_se import MiniSE

    return MiniSE(engine, limits=limits)
