"""The files of `deploy/`: each is read by its own tool, or by the program that it is for."""
