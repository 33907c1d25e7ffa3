"""What the bench of prompts times is what `r4p evaluate` runs; nothing here is timed."""

from model.engines.scripted import ScriptLine
from model.evaluation import run_file
from model.evaluation.labelled_group import read_groups
from tests.bench.subjects import prompts
from tests.model.chat_server import MODELS, build_completion, serve_chat
from tests.model.evaluation.builders import build_row, format_lines
from tests.model.fake_engines import RecordingEngine
from tests.vllm_server import Server


def write_groups(folder, count):
    path = folder / "groups.jsonl"
    path.write_text(
        format_lines(*[build_row(at, True, False, False, False) for at in range(count)])
    )
    return path


def test_groups_are_judged_as_by_evaluate_and_requests_are_kept(tmp_path):
    part = list(read_groups(write_groups(tmp_path, 3)))
    engine = RecordingEngine(
        ScriptLine(reply="I forgot.", repeat=True)
    )  # no box: each vote is continued once
    speed, requests = prompts._judge_part(engine, part, tmp_path / "kept.jsonl", together=2)
    assert speed > 0
    judged = list(run_file.read_run_file(tmp_path / "kept.jsonl"))
    assert [len(one.votes) for one in judged] == [prompts.VOTES] * 3
    assert len(requests) == 3 * prompts.VOTES * 2
    assert sum(one.prefill is not None for one in requests) == 3 * prompts.VOTES
    assert {one.max_tokens for one in requests if one.prefill is None} == {prompts.REPLY_TOKENS}
    with serve_chat(models=[MODELS], chat=[build_completion("\\boxed{}")]) as server:
        server_facts = Server(server.url.removesuffix("/v1"), "r4p", None)
        with prompts._client(server_facts) as client:
            prompts._one_by_one(client, server_facts, requests)
        sent = server.list_bodies("/v1/chat/completions")
    assert len({body["cache_salt"] for body in sent}) == len(sent) == len(requests)
    assert sum("continue_final_message" in body for body in sent) == len(requests) / 2
    assert server.most_together == 1


def test_no_group_is_in_two_parts(tmp_path):
    parts, alone = prompts._draw_parts(write_groups(tmp_path, 30), prompts.PARTS)
    assert [len(part) for part in parts] == [prompts.PART] * prompts.PARTS
    taken = [group.id for part in (*parts, alone) for group in part]
    assert len(set(taken)) == len(taken) == 24
    (part,), (single,) = prompts._draw_parts(write_groups(tmp_path, 30), 1)
    assert len(part) == prompts.PART
    assert single not in part
