"""The gym that comes with R4P bot: small fixes of TinyDB with their tests, built by `r4p gym build`. LICENSE-TinyDB is theirs.
In: nothing. Out: the files of a gym, `r4p.gym/1`, which `r4p gym sample` copies.
May call: nothing.
"""
