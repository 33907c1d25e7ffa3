"""What an agent's process is shut in: a choice of the operator."""

from enum import StrEnum


class Sandbox(StrEnum):
    """How an agent's process is kept from everything but its tree and its model."""

    BUBBLEWRAP = "bubblewrap"
    """A process without network, without files but its own, and without the host's processes in sight."""
    CONTAINER = "container"
    """A process with an empty environment and no more: for a container of its own that holds no secret."""
