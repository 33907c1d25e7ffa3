"""Read the issue or the pull request from the event of a GitHub Actions workflow."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from model.commands.inputs import BadInput

_Number = Annotated[int, Field(gt=0, lt=2**31)]


@dataclass(frozen=True, slots=True)
class EventSubject:
    """An issue or a pull request of the repository, by its number."""

    number: int
    is_pull: bool = False


class _Pull(BaseModel):
    number: _Number


class _Issue(BaseModel):
    number: _Number
    pull_request: dict[str, Any] | None = None
    """Present where GitHub shows a pull request as an issue, as for a comment on it."""


class _Event(BaseModel):
    pull_request: _Pull | None = None
    issue: _Issue | None = None


def read_event(path: Path) -> EventSubject:
    """Return the issue or the pull request that a GitHub event is about. Raises BadInput."""
    try:
        event = _Event.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadInput(f"event {path} can't be read: {error.strerror}") from error
    except ValidationError as error:
        raise BadInput(f"event {path} is no event of GitHub; give $GITHUB_EVENT_PATH") from error
    if event.pull_request is not None:
        return EventSubject(event.pull_request.number, is_pull=True)
    if event.issue is not None:
        return EventSubject(event.issue.number, is_pull=event.issue.pull_request is not None)
    raise BadInput(f"event {path} names no issue and no pull request; give --issue N")
