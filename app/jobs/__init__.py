"""The contract between app and worker (pure): every job, its queue and its payload.
App creates jobs, the queue stores them, and the worker carries them out.
May call: values.
"""
