"""Command lines of `r4p train`, `r4p labels` and `r4p models outcomes`.

In: arguments and options. Out: printed tables or JSON, files and exit codes.
May call every other room. No other room calls this one.
"""
