"""The example issue of the demo, with its base file and four rival patches."""
