"""How an attempt may end other than by success.

Postponed               something was not ready; the attempt does not count
GiveUp                  a retry cannot help: dead at once
model.errors.Cancelled  newer work made the job pointless; quiet
Fenced (store.queue)    the job belongs to another worker; quiet
InstallationPaused      the operator paused the installation; the job waits for the end of the pause

Any other exception counts, is logged with its trace and retried, up to the limit of attempts.
"""


class Postponed(Exception):
    """Something that a job needs is not ready: try the job again later; this attempt does not count."""

    def __init__(self, why: str, *, after_seconds: float) -> None:
        super().__init__(why)
        self.after_seconds = after_seconds


class GiveUp(Exception):
    """A job that no retry can help; the message says what somebody has to change first."""
