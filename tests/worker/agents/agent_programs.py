"""What tests of agents in processes of their own are made of: agents that do as a program says, behind real walls."""

from app.sandbox import build_command

SAYS = """
import json, os, sys, time
from model.agents.process import messages
from model.engines.pipe_engine import CompletionQuestion, TokenCountQuestion
from model.protocols import Message, Request

def say(*said):
    for one in said:
        sys.stdout.buffer.write(one if isinstance(one, bytes) else messages.encode_message(one))
        sys.stdout.buffer.flush()

def task():
    return messages.parse_parent_message(sys.stdin.buffer.readline())

def asked(id, most=64, **values):
    return CompletionQuestion(id, (Request((Message("user", "more"),), most, 1.0, 1, **values),))

say(messages.Ready())
"""


def program(code):
    """Stands for `build_command`: an agent's process that runs this code instead, after it said that it is ready."""

    def start(tree):
        return build_command(tree, ("-c", SAYS + code))

    return start
