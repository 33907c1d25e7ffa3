"""The evaluation report: a page with figures and tables.
In: a folder of run files. Out: one HTML file and one PNG per figure.
May call: attacks, the modules of evaluation and prompts.
"""
