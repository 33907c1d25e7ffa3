"""Names to agents: the one place that knows every agent, and loads them late."""

from typing import TYPE_CHECKING

from model.errors import UnknownAgent
from model.protocols import Engine

if TYPE_CHECKING:  # the tools come along, with every parser
    from model.agents.agent import Agent

AGENTS = {
    "mini-se": "searches, edits and submits in a loop (the R4P paper's)",
    "agentless-mini": "locates, edits whole files many times, and votes (SWE-RL's)",
}
"""Every agent by name, and what it does."""


def agent(name: str, engine: Engine) -> "Agent":
    """An agent by its name in AGENTS that speaks through `engine`. Raises UnknownAgent."""
    match name:
        case "mini-se":
            from model.agents.mini_se import MiniSE

            return MiniSE(engine)
        case "agentless-mini":
            from model.agents.agentless_mini import AgentlessMini

            return AgentlessMini(engine)
        case unknown:
            raise UnknownAgent(f"no agent is called {unknown!r}; there are {', '.join(AGENTS)}")
