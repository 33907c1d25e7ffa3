"""Create the whole schema. Each module of `migrations.initial` creates the tables of one subject."""

from alembic import op

from migrations.initial import (
    alternatives,
    ceilings,
    evidence,
    groups,
    learning,
    outcomes,
    partitions,
    queue,
    verdicts,
)

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SUBJECTS = (groups, queue, ceilings, verdicts, outcomes, alternatives, evidence, learning)
"""In the order of creation: later tables refer to earlier ones."""


def upgrade() -> None:
    """Create all tables, and the partitions of the next months."""
    for subject in SUBJECTS:
        subject.create()
    partitions.create()


def downgrade() -> None:
    """Drop the view, then all tables with their partitions, the referring ones first."""
    op.execute("drop view judged_evaluations")
    for subject in reversed(SUBJECTS):
        for table in reversed(subject.TABLES):
            op.drop_table(table)
    partitions.drop()
