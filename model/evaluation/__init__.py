"""How good a verifier is: labelled groups in, metrics with their intervals out."""
