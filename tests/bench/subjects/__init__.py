"""One module for each subject that `make bench` measures."""
