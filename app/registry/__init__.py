"""Models and calibrators in use. It registers a trained model, promotes it, rolls it back, and imports a first calibrator.
May call: db, learning, settings.
"""
