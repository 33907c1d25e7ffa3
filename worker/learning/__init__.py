"""Training as a job: run its stages, register the model, refit calibrators, unload unused adapters.
In: trainings and plans. Out: run folders and registered models.
May call: queue, launchers.
"""
