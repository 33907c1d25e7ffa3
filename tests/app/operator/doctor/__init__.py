"""Tests of `app/operator/doctor/`."""
