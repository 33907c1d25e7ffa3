"""Mini-SE is an agent that searches, edits and submits in a loop.
In: an issue and a tree. Out: an attempt. An engine without tools reads them described in words.
May call: tools, trajectories and the modules of agents.
"""
