"""The sections of the report; one module per question.
In: series of judged groups. Out: paragraphs, tables, and functions that draw figures.
May call: the modules of report and evaluation, and attacks.attack_table.
"""
