"""A judge over the wire: 1,000 answers with 15 checks each, 50 ms a call, 20 calls under way, so 2.5 s at best.

Inspect's own share is what the same task takes when its scorer sends the same requests and keeps nothing of the
replies. Ours (messages, journal, reading, tables) is timed alone, with replies that are there at once.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.openai_server import serve

ANSWERS, CHECKS, DELAY, CONNECTIONS = 1_000, 15, 0.05, 20
IDEAL = ANSWERS * DELAY / CONNECTIONS
TIMED = """
import json, resource, sys, time
from tests.bench import bench_judge
began = time.perf_counter()
told = getattr(bench_judge, sys.argv[1])(*sys.argv[2:])
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"wall": time.perf_counter() - began, "cpu": usage.ru_utime + usage.ru_stime, "told": told}))
"""


def order(place: str, url: str) -> Any:
    """The order of the benchmark."""
    from gamut_analysis.judge.run import Order

    folder = Path(place)
    return Order(
        folder / "answers.jsonl",
        "scripted",
        folder / "judged",
        str(folder / "rubrics"),
        base_url=url,
        connections=CONNECTIONS,
    )


def ours(place: str, url: str) -> int:
    """The whole run; the number of calls."""
    from gamut_analysis.judge.run import judge_answers

    return judge_answers(order(place, url)).calls


def inspect_alone(place: str, url: str) -> int:
    """The same task for Inspect, whose scorer sends the same requests and keeps nothing of the replies."""
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, ModelOutput
    from inspect_ai.scorer import Score, scorer
    from inspect_ai.solver import solver

    from gamut_analysis.judge.calling import Caller, _response_schema, model_of
    from gamut_analysis.judge.journal import Journal
    from gamut_analysis.judge.protocol import load_prompt
    from gamut_analysis.judge.task import run_task

    told = [json.loads(line) for line in (Path(place) / "requests.jsonl").read_text("utf-8").splitlines()]
    model = model_of("scripted", url, connections=CONNECTIONS)
    config = GenerateConfig(response_schema=_response_schema(load_prompt().schema))
    sent = {str(n): [ChatMessageSystem(content=a), ChatMessageUser(content=b)] for n, (a, b) in enumerate(told)}

    @solver
    def given():
        async def solve(state, generate):
            state.output = ModelOutput.from_content("alpha", "an answer")
            return state

        return solve

    @scorer(metrics=[])
    def asked():
        async def score(state, target):
            await model.generate(sent[str(state.sample_id)], config=config)
            return Score(value=1)

        return score

    samples = MemoryDataset([Sample(input="?", id=name) for name in sent])
    with Journal(Path(place) / "alone") as journal:
        caller = Caller(model, journal, connections=CONNECTIONS)
        run_task(Task(dataset=samples, solver=given(), scorer=asked()), caller, Path(place) / "alone")
    return len(sent)


def ours_alone(place: str) -> float:
    """Seconds for everything of ours: requests, journal, reading and tables, with replies that are there at once."""
    from gamut_analysis.judge.grading import Grading, Judge, portions, settled
    from gamut_analysis.judge.inputs import read_answers, read_rubrics
    from gamut_analysis.judge.journal import Journal
    from gamut_analysis.judge.protocol import load_prompt
    from gamut_analysis.judge.task import Session
    from gamut_analysis.judge.written import settle, write_tables
    from tests.judging import a_call

    made = order(place, "")
    began = time.perf_counter()
    rubrics, answers = read_rubrics(made.rubrics), read_answers(made.answers)
    judge = Judge("scripted", "local/scripted", load_prompt())
    folder = Path(place) / "pure"
    with Journal(folder) as journal, (Path(place) / "requests.jsonl").open("w", encoding="utf-8") as requests:
        settle(folder, answers, rubrics, simulated=True)
        gradings = [
            Grading(answer, rubrics.question_of[place_], rubrics.checks_of[place_])
            for answer in answers
            for place_ in [(answer.variant, answer.question_id)]
        ]
        session = Session(judge, None, gradings, {})  # type: ignore[arg-type]
        for grading in gradings:
            for portion in portions(judge, grading, ()):
                request = session.request(portion)
                requests.write(json.dumps([text for _, text in request.messages]) + "\n")
                entries = [{"id": name, "reason": "Scripted: meets.", "verdict": "meets"} for name in portion.wanted]
                call = a_call(portion, json.dumps({"verdicts": entries}))
                journal.append(call)
                portion.take(call)
                settled([call])
        write_tables(folder, journal.calls, answers, rubrics)
    return time.perf_counter() - began


def timed(name: str, *arguments: str) -> dict[str, Any]:
    """Run one of these in a process of its own."""
    command = [sys.executable, "-c", TIMED, name, *arguments]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def prepare(place: Path) -> None:
    """Write the answers and the rubrics."""
    folder = place / "rubrics"
    folder.mkdir()
    texts = [
        f"States fact number {check} of the subject, with its year and the place where it was."
        for check in range(CHECKS)
    ]
    files = {
        folder / "checks.jsonl": (
            {"question_id": f"q{q}", "check_id": f"item-{c}/fact/01", "tier": "valuable", "text": text}
            for q in range(ANSWERS)
            for c, text in enumerate(texts)
        ),
        folder / "questions.jsonl": (
            {"question_id": f"q{q}", "variant": "text_only", "question": f"What is to be known of subject {q}?"}
            for q in range(ANSWERS)
        ),
        place / "answers.jsonl": (
            {"model": "alpha", "variant": "text_only", "question_id": f"q{q}", "answer": f"Subject {q} is old. " * 80}
            for q in range(ANSWERS)
        ),
    }
    for path, rows in files.items():
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def rows() -> list[dict[str, Any]]:
    """The run, Inspect's share of it, and ours."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        prepare(place)
        timed("ours_alone", name)  # builds the database of the rubrics, and writes the requests down
        pure = timed("ours_alone", name)["told"]
        with serve("hash", delay=DELAY) as server:
            whole = timed("ours", name, server.url)
        with serve("hash", delay=DELAY) as server:
            alone = timed("inspect_alone", name, server.url)
    assert whole["told"] == alone["told"] == ANSWERS
    task = f"judge {ANSWERS:,} answers x {CHECKS} checks, {DELAY * 1000:.0f} ms a call, {CONNECTIONS} under way"
    beyond = whole["wall"] - alone["wall"]
    return [
        {
            "task": task,
            "ours": whole["wall"],
            "peer_name": "Inspect alone, the same calls",
            "peer": alone["wall"],
            "ratio": alone["wall"] / whole["wall"],
            "note": f"ideal {IDEAL:.1f} s, which Inspect's own work for each call exceeds; beyond it {beyond:+.2f} s; "
            f"CPU {whole['cpu']:.1f} s, Inspect's {alone['cpu']:.1f} s",
        },
        {
            "task": "of this ours alone: messages, journal, reading, tables",
            "ours": pure,
            "note": f"{pure / IDEAL:.0%} of the ideal (aim: under 20 %)",
        },
    ]
