"""Issues with two rivals each that wait to be judged."""

from app.db.session import transaction
from app.db.store.issues import candidates, evaluations, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation
from app.jobs.job import VerifyGroup
from app.values.identifiers import CommitSha
from tests.builders.github.pull_requests import build_pull
from tests.builders.history import judged_history

REPOSITORY = 70
GOOD = "return w * h"
"""What one of the two does; the other subtracts."""


def issues(database):
    """Has an issue wait as often as what it returns is called, which returns the job."""
    with transaction(database) as connection:
        judged_history.settle(connection, REPOSITORY)

    def wait(number=3):
        text = ("Area is wrong", "It adds.")
        with transaction(database) as connection:
            taken = []
            for pull, result in ((number * 10, GOOD), (number * 10 + 1, "return w - h")):
                head = CommitSha(f"{pull:040x}")
                rows = [build_pull(pull, "open", head, judged_history.BASE, "main")]
                groups.upsert_pulls(connection, REPOSITORY, rows)
                diff = f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-return w + h\n+{result}\n"
                taken.append(Candidate(pull, head, judged_history.BASE, diff, 1))
                candidates.save(connection, REPOSITORY, taken[-1])
            group = groups.upsert_group(connection, REPOSITORY, number, text, "open")
            new = NewEvaluation(group, "issue", "advisory", 2, *text, tuple(taken))
            evaluation = evaluations.create(connection, REPOSITORY, new).id
        return VerifyGroup(7, REPOSITORY, number, evaluation)

    return wait
