"""Everything that talks SQL: connections and transactions, migrations, `tables` and `store`.
In: jobs, verdicts, outcomes and other frozen values. Out: the same values, read from PostgreSQL.
May call: github (protocols), learning, outcomes, policy, events, jobs, settings, values.
"""
