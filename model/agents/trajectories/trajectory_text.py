"""Write a trajectory as the text that a judge reads: thoughts, actions and observations (pure)."""

from collections.abc import Iterator

from model.agents.trajectories.trajectory import Step, Trajectory, find_patch_steps
from model.agents.trajectories.trajectory_json import load_trajectory
from model.errors import BadTrajectory
from model.prompts.record import hide_marks
from model.prompts.untrusted import HINT_TAG, escape_patch, restore_escapes


def read_record(raw: bytes) -> str:
    """Return the text of a stored trajectory, `r4p.trajectory/1`. Raises BadTrajectory, also for one with a hint."""
    trajectory = load_trajectory(raw)
    if trajectory.guidance is not None:
        raise BadTrajectory("it was made with a hint, which no judge may see; give another")
    try:
        return format_trajectory(trajectory)
    except (ValueError, TypeError, AttributeError) as error:
        # the outcomes of a pipeline's steps are text, which only this reads
        raise BadTrajectory(f"an outcome of its steps can't be read: {error}") from error


def format_trajectory(trajectory: Trajectory) -> str:
    """Return an attempt's steps as text (R2E-Gym, section 4.1: thoughts, actions and observations).

    A verifier's prompt holds the issue already, so the agent's prompt is left out. Of a pipeline only the replies that
    led to the patch remain. Special characters stand as the agent's tree has them: the reader of the text escapes them.
    """
    steps = enumerate(find_patch_steps(trajectory), 1)
    return "\n".join(line for number, step in steps for line in _format_step(number, step))


def _format_step(number: int, step: Step) -> Iterator[str]:
    yield f"[step {number}]"
    if step.reply.content.strip():
        yield _quote(step.reply.content)
    for call in step.reply.tool_calls:
        yield f"[call] {_quote(f'{call.name} {call.arguments}')}"
    for answer in step.answers:
        yield f"[result]\n{_quote(answer.content)}"


def _quote(text: str) -> str:
    """Return a text without the escapes of the agent's prompt, and without lines that look like marks."""
    # Code may hold the tag of a hint. Unescaped, readers would take the record for that of a guided attempt.
    hidden = restore_escapes(text.strip("\n")).replace(HINT_TAG, escape_patch(HINT_TAG).text)
    return hide_marks(hidden)
