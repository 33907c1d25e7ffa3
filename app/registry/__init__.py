"""Models and calibrators in use: register, promote, roll back, and import a first calibrator.
In: the folder of a training run, or a calibrator's file. Out: rows of models and calibrators, with the reason of each move.
May call: db, learning, settings.
"""
