"""One attempt at one job: claim, heartbeat, run, ending. Also the periodic upkeep of the queue.
In: a job id. Out: a job that is done, postponed or dead.
May call: git (its errors).
"""
