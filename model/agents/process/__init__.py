"""The process that an agent runs in, without secrets and without network.
In: one task as JSON lines on a pipe. Out: steps and finished attempts as JSON lines.
May call: trajectories, the modules of agents and engines.pipe_engine.
"""
