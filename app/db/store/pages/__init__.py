"""What the pages show, read with few statements: groups, track records, deliveries.
In: ids of repositories that the person may read. Out: frozen values. Nothing is written.
"""
