"""The offline commands of `r4p`: verify, propose, index, evaluate and report.
In: command-line options and files. Out: text or JSON on stdout and an exit code.
May call: every room of model. No room calls this one.
"""
