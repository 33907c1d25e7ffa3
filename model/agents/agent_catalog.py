"""The catalogue maps names to agents and imports each agent on first use."""

from typing import TYPE_CHECKING, Final

from model.agents.agentless.sampling_plan import SamplingPlan, check_plan
from model.agents.agentless.search_replace import PARSERS
from model.errors import IncompatibleOptions, UnknownAgent
from model.protocols import Engine

if TYPE_CHECKING:  # the import also loads the tools and every parser
    from model.agents.agentless.agentless_mini import CandidateFilter
    from model.agents.parallel_attempts import Agent
    from model.agents.trajectories.trajectory import AttemptLimits
    from model.prompts.prompt_template import Template

AGENTS = {
    "mini-se": "searches, edits and submits in a loop (the R4P paper's)",
    "agentless-mini": "locates, edits whole files many times, and votes (SWE-RL's)",
}
"""Every agent's name with a short description."""


RUBRIC_WRITER: Final = "rubric-writer"
"""The agent that writes a checklist in place of a patch. Only the verifier `rubric` runs it, so nobody can choose it."""


def require_agent(
    name: str, repair_prompt: str | None = None, plan: SamplingPlan | None = None
) -> "Template | None":
    """Check the name and options of an agent, and load its repair prompt where another than the default is named.

    `repair_prompt` is a name in PARSERS or the path of a file. Raises UnknownAgent unless AGENTS has `name`,
    TemplateError for a prompt that cannot be used, and IncompatibleOptions for a plan with impossible numbers, or an
    option that the agent does not have.
    """
    if name not in AGENTS:
        raise UnknownAgent(f"no agent is called {name!r}; there are {', '.join(AGENTS)}")
    is_agentless = name == "agentless-mini"
    if plan and check_plan(plan) != SamplingPlan(tests=plan.tests) and not is_agentless:
        raise IncompatibleOptions(
            f"numbers of localisations and repairs do nothing for agent {name}; leave them out"
        )
    if repair_prompt is None:
        return None
    if not is_agentless:
        raise IncompatibleOptions(f"--repair-prompt does nothing for agent {name}; leave it out")
    from model.agents.agentless.repair_prompt import load_repair_prompt

    return load_repair_prompt(repair_prompt)


def build_agent(
    name: str,
    engine: Engine,
    limits: "AttemptLimits | None" = None,
    *,
    repair_prompt: "Template | None" = None,
    plan: SamplingPlan | None = None,
    keep: "CandidateFilter | None" = None,
) -> "Agent":
    """Build the agent called `name`, which asks `engine` for its replies. Raises UnknownAgent.

    `name` is in AGENTS, or RUBRIC_WRITER. `limits` bounds each attempt; None means the defaults of AttemptLimits. The
    rubric writer takes its seconds only. `repair_prompt` is the prompt of Agentless Mini's repairs, from
    `require_agent`; None means the first of PARSERS. `plan` and `keep` are Agentless Mini's too.
    """
    if name == RUBRIC_WRITER:
        from model.agents.mini_se import tree_reader

        return tree_reader.build_writer(engine, *([limits.seconds] if limits else []))
    require_agent(name)
    if name == "agentless-mini":
        from model.agents.agentless.agentless_mini import AgentlessMini

        return AgentlessMini(
            engine,
            limits=limits,
            plan=plan,
            keep=keep,
            repair_prompt=repair_prompt or next(iter(PARSERS)),
        )
    from model.agents.mini_se.mini_se import MiniSE

    return MiniSE(engine, limits=limits)
