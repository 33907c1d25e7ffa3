"""Run the repository's own tests on the candidates of a group, in sandboxes, without any secret.
In: the job `run_tests` and a source tree that another process handed over. Out: stored evidence, and the next job.
May call: queue, git (trees).
"""
