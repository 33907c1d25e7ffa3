"""From what was recorded to what may be learnt from: every drop has a reason."""
