"""Hold an issue's rivals and new evaluations to the operator's ceilings."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import issue_controls
from app.db.store.queue import installation_controls
from app.policy.ceilings import (
    clip_config,
    count_seconds_until_tomorrow,
    explain_excess,
    explain_issue_limit,
    explain_reached_ceiling,
    override_ceilings,
    select_excess_pulls,
)
from app.policy.event_policy import BY_COMMAND
from app.policy.group_policy import EvaluateNow, WaitForTomorrow
from app.settings import CeilingSettings
from app.values.identifiers import InstallationId, RepositoryRef
from worker.judging.rivals import Rivals
from worker.judging.submission import Submission
from worker.queue.context import Context
from worker.queue.errors import Postponed


@dataclass(frozen=True, slots=True)
class CeilingGuard:
    """Applies the operator's ceilings, or an installation's own limits, to one repository's work."""

    ceilings: CeilingSettings

    def limit_rivals(
        self, context: Context, installation: InstallationId, rivals: Rivals
    ) -> Rivals:
        """Return `rivals` with settings that the ceilings allow, and the pull requests beyond `max_rivals` marked."""
        with transaction(context.database) as connection:
            ceilings = self._load(connection, installation)
        config = clip_config(rivals.settings.config, ceilings)
        limited = replace(rivals, settings=replace(rivals.settings, config=config))
        strengths = {member.number: member.strength for member in rivals.members}
        most = ceilings.max_rivals
        excess = select_excess_pulls(config, limited.list_candidate_facts(), strengths, most)
        return replace(limited, excess=dict.fromkeys(excess, explain_excess(most)))

    def hold_back(
        self,
        connection: Connection,
        repository: RepositoryRef,
        submission: Submission,
        decision: EvaluateNow,
    ) -> EvaluateNow | WaitForTomorrow:
        """Return `decision`, or the decision to wait when a daily budget or the issue's own is used up.

        A part of each budget is kept for evaluations that a person asked for. Evaluations that are stored at the same moment do not see each other and may exceed a budget by their number.
        """
        is_commanded = submission.new_evaluation.trigger == BY_COMMAND
        today = issue_controls.count_evaluations_today(connection, submission.new_evaluation.group)
        if not is_commanded and today >= submission.most_per_day:
            limit = explain_issue_limit(submission.most_per_day)
            return WaitForTomorrow(limit, decision.left_out)
        ceilings = self._load(connection, repository.installation)
        usage = installation_controls.read_daily_usage(connection, repository.id)
        why = explain_reached_ceiling(ceilings, usage, is_commanded=is_commanded)
        return decision if why is None else WaitForTomorrow(why, decision.left_out)

    def _load(self, connection: Connection, installation: InstallationId) -> CeilingSettings:
        return override_ceilings(
            self.ceilings, installation_controls.read_limits(connection, installation)
        )


def postpone_until_tomorrow() -> Postponed:
    """Build the error that makes a job wait until shortly after midnight UTC."""
    after = count_seconds_until_tomorrow(datetime.now(UTC))
    return Postponed("the operator's daily budget is used up", after_seconds=after)
