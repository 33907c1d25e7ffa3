"""The catalogue maps names to agents and imports each agent on first use."""

from typing import TYPE_CHECKING

from model.agents.agentless.search_replace import PARSERS
from model.errors import IncompatibleOptions, TemplateError, UnknownAgent
from model.protocols import Engine

if TYPE_CHECKING:  # the import also loads the tools and every parser
    from model.agents.parallel_attempts import Agent
    from model.agents.trajectories.trajectory import AttemptLimits

AGENTS = {
    "mini-se": "searches, edits and submits in a loop (the R4P paper's)",
    "agentless-mini": "locates, edits whole files many times, and votes (SWE-RL's)",
}
"""Every agent's name with a short description."""


def require_agent(name: str, repair_prompt: str | None = None) -> None:
    """Check the name of an agent and of its repair prompt, before a model is loaded.

    Raises UnknownAgent unless AGENTS has `name`, TemplateError unless PARSERS has `repair_prompt`, and IncompatibleOptions
    for a repair prompt of an agent that has no repair stage.
    """
    if name not in AGENTS:
        raise UnknownAgent(f"no agent is called {name!r}; there are {', '.join(AGENTS)}")
    if repair_prompt is None:
        return
    if name != "agentless-mini":
        raise IncompatibleOptions(f"--repair-prompt does nothing for agent {name}; leave it out")
    if repair_prompt not in PARSERS:
        raise TemplateError(
            f"no repair prompt is called {repair_prompt!r}; there are {', '.join(PARSERS)}"
        )


def build_agent(
    name: str,
    engine: Engine,
    limits: "AttemptLimits | None" = None,
    *,
    repair_prompt: str | None = None,
) -> "Agent":
    """Build the agent called `name`, which asks `engine` for its replies. Raises what `require_agent` raises.

    `limits` bounds each attempt; None means the defaults of AttemptLimits. `repair_prompt` names the prompt of Agentless
    Mini's repairs; None means the first of PARSERS.
    """
    require_agent(name, repair_prompt)
    if name == "agentless-mini":
        from model.agents.agentless.agentless_mini import AgentlessMini

        return AgentlessMini(
            engine, limits=limits, repair_prompt=repair_prompt or next(iter(PARSERS))
        )
    from model.agents.mini_se.mini_se import MiniSE

    return MiniSE(engine, limits=limits)
