"""Trained models and their aliases, calibrators, trainings, canary statistics.
May call: tables.
"""
