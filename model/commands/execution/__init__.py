"""The commands of `r4p` that run tests: on candidates, on the tasks of a gym, and in environments that are built here.
In: command-line options, patches and gyms. Out: text or JSON on stdout, records of runs and an exit code.
May call: the room above, execution, environments, gyms, evaluation and sandbox.
"""
