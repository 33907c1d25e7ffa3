"""How an attempt may end other than by being done.

Postponed      somebody else was not ready; the attempt is not counted
GiveUp         another attempt would end the same way: dead at once
model.errors.Superseded    newer work made this pointless; quiet
app.db.store.queue.jobs.Fenced   the job belongs to another worker; quiet

Anything else is counted, logged with its trace and tried again, up to the limit of attempts.
"""


class Postponed(Exception):
    """Try the job again later; this attempt does not count."""

    def __init__(self, why: str, *, after_seconds: float) -> None:
        super().__init__(why)
        self.after_seconds = after_seconds


class GiveUp(Exception):
    """A retry cannot help; the message says what somebody has to change first."""
