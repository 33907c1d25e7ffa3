"""An issue and a tree in, a patch and the record of how it came about out: one module per agent."""
