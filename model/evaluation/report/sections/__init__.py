"""The sections of the report; one module per question.
In: series of judged groups. Out: tables and figures as values. No module draws or writes files.
May call: the modules of report and evaluation, and attacks.attack_table.
"""
