"""Gyms in evaluation: run their tests on the candidates, and measure verifiers on their tasks.
In: the folder of a gym, and a record of runs. Out: that record, labelled groups, and how much each test tells.
May call: execution and gyms.
"""
