"""The operator's choice of the agents' sandbox."""

from enum import StrEnum


class Sandbox(StrEnum):
    """How the bot isolates an agent's process."""

    BUBBLEWRAP = "bubblewrap"
    """No network, no foreign files, and no view of the host's processes."""
    CONTAINER = "container"
    """Only an empty environment. Use it in a container of its own that holds no secret."""
