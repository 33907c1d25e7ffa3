"""The simulated GitHub: its records, accounts' rights, limits, faults, journal and delivery log."""
