"""Text in, text out: one module per way to run a language model."""
