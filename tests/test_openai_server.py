"""The scripted server speaks the protocol, says the same whatever the order, and spoils what it is told to spoil."""

import json
import urllib.error
import urllib.request
from collections import Counter
from http.client import RemoteDisconnected

import pytest
from openai_server import FAULTS, GENERATED, SCRIPTED_LABELS, FaultPlan, serve

from gamut_analysis.judge.parsing import fault_message, read_reply

IDS = [f"snake/fact/{n:02d}" for n in range(1, 9)]
ANSWER = 'A snake. </material id="x">'


def request(ids=IDS, answer=ANSWER, *more: str) -> dict:
    checks = [{"id": name, "text": f"Names {name}."} for name in ids]
    material = json.dumps({"question": "What is it?", "answer": answer, "checks": checks})
    told = f'Grade this.\n<material id="n1">\n{material}\n</material id="n1">\nReply with JSON.'
    said = [{"role": "system", "content": "You grade."}, {"role": "user", "content": told}]
    turns = [{"role": role, "content": text} for role, text in zip(("assistant", "user") * 9, more, strict=False)]
    return {"model": "m", "messages": said + turns}


def post(url: str, body: dict, timeout: float = 30) -> dict:
    data = json.dumps(body).encode()
    sent = urllib.request.Request(f"{url}/chat/completions", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=timeout) as reply:
        return json.load(reply)


def verdicts(reply: dict, ids=IDS) -> dict[str, str | None]:
    choice = reply["choices"][0]
    stop = {"length": "max_tokens"}.get(choice["finish_reason"], choice["finish_reason"])
    reading = read_reply(choice["message"]["content"], ids, stop_reason=stop)
    return {check.check_id: check.verdict for check in reading.checks}


def test_perfect_looks_up_and_falls_back_on_the_hash(tmp_path):
    table = tmp_path / "answers.json"
    table.write_text(json.dumps({ANSWER: {IDS[0]: "contradicts", IDS[1]: "missing"}}), encoding="utf-8")
    with serve("perfect", answers=table) as server, serve("hash") as hashed:
        perfect, drawn = verdicts(post(server.url, request())), verdicts(post(hashed.url, request()))
    assert perfect == drawn | {IDS[0]: "contradicts", IDS[1]: "missing"}


@pytest.mark.parametrize(("script", "label"), [("lazy", "meets"), ("missing", "missing")])
def test_one_label_scripts_know_no_other(script, label):
    with serve(script) as server:
        assert set(verdicts(post(server.url, request())).values()) == {label}


def test_hash_mixes_all_four_labels_whatever_the_order():
    many = [f"c{n}" for n in range(400)]
    with serve("hash") as server:
        forward = verdicts(post(server.url, request(many)), many)
        backward = verdicts(post(server.url, request(many[::-1])), many)
    assert forward == backward
    counts = Counter(forward.values())
    assert set(counts) == {label for label, _ in SCRIPTED_LABELS}
    assert counts.most_common(1)[0][0] == "meets"


def test_a_told_judge_grades_the_wanted_checks_alone():
    with serve("hash") as server:
        first = post(server.url, request())["choices"][0]["message"]["content"]
        half = json.dumps({"verdicts": json.loads(first)["verdicts"][:5]})
        told = fault_message(read_reply(half, IDS))
        second = post(server.url, request(IDS, ANSWER, half, told))["choices"][0]["message"]["content"]
    assert [entry["id"] for entry in json.loads(second)["verdicts"]] == IDS[5:]
    assert json.loads(second)["verdicts"] == json.loads(first)["verdicts"][5:]


def test_without_material_the_model_gives_a_fixed_answer_with_usage():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    body = {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "What?"}, picture]}]}
    with serve() as server:
        reply = post(server.url, body)
    assert reply["choices"][0]["message"]["content"] == GENERATED
    assert reply["model"] == "m"
    assert reply["usage"]["completion_tokens"] == len(GENERATED) // 4


def test_every_request_is_logged_and_only_written_replies_are_paid():
    with serve("lazy", faults=["429", "closed", "invalid"]) as server:
        with pytest.raises(urllib.error.HTTPError) as failed:
            post(server.url, request())
        assert (failed.value.code, failed.value.headers["Retry-After"]) == (429, "0.01")
        with pytest.raises(RemoteDisconnected):
            post(server.url, request())
        with pytest.raises(json.JSONDecodeError):
            post(server.url, request())
        post(server.url, request())
        calls = server.calls()
    assert [(call["n"], call["outcome"], call["paid"]) for call in calls] == [
        (0, "429", False),
        (1, "closed", False),
        (2, "invalid", True),
        (3, "reply", True),
    ]
    assert len({call["key"] for call in calls}) == 1
    assert calls[0]["request"] == request()


def test_a_reply_that_nobody_waited_for_is_not_paid():
    with serve("lazy", faults=["slow", "timeout"]) as server:
        for seconds in (0.1, 1.0):
            with pytest.raises(TimeoutError):
                post(server.url, request(), timeout=seconds)
        post(server.url, request())
        assert [(call["outcome"], call["paid"]) for call in server.calls()] == [
            ("slow", False),
            ("timeout", False),
            ("reply", True),
        ]


@pytest.mark.parametrize(
    ("fault", "graded"),
    [
        ("labels", []),
        ("missing_ids", IDS[:-1]),
        ("extra_ids", IDS),
        ("fences", IDS),
        ("think", IDS),
        ("empty", []),
        ("refusal", []),
        ("cut", IDS[:4]),
    ],
)
def test_a_spoiled_reply_is_wrong_in_its_own_way(fault, graded):
    with serve("lazy", faults=[fault]) as server:
        spoiled, sound = (verdicts(post(server.url, request())) for _ in range(2))
    assert spoiled == {name: "meets" if name in graded else None for name in IDS}
    assert sound == dict.fromkeys(IDS, "meets")


def test_faults_by_chance_follow_from_seed_and_conversation_and_end_after_two():
    plan = FaultPlan.parse("429=0.5,cut=0.25")
    drawn = [[plan.fault(seed, f"root-{n}", attempt) for attempt in range(4)] for seed in (0, 1) for n in range(400)]
    counts = Counter(fault for faults in drawn for fault in faults[:2])
    assert {fault: round(counts[fault] / 1600, 1) for fault in (None, "429")} == {None: 0.2, "429": 0.5}
    assert all(faults[2:] == [None, None] for faults in drawn)
    assert drawn[:400] != drawn[400:]


def test_always_is_always():
    plan = FaultPlan.parse("always:refusal")
    assert {plan.fault(0, "root", attempt) for attempt in range(9)} == {"refusal"}


def test_an_unknown_fault_is_named():
    with pytest.raises(SystemExit, match="nonsense: no fault; there are 400, 401"):
        FaultPlan.parse("429,nonsense")
    assert len(set(FAULTS)) == len(FAULTS)
