"""Everything that talks SQL: connections and transactions, migrations, `tables` and `store`.
May call: github (protocols), learning, outcomes, policy, events, jobs, settings, values.
"""
