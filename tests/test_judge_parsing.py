"""What a judge wrote comes back as the verdicts it gave, and as a reason wherever it gave none."""

import json
import re
import string
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gamut_analysis.judge import parsing
from gamut_analysis.judge.parsing import CheckVerdict, Reading, failed, fault_message, read_reply
from gamut_analysis.vocabulary import VERDICTS

C1 = '{"id": "c1", "verdict": "meets", "reason": "Stated."}'
C2 = '{"id": "c2", "verdict": "missing", "reason": "Not there."}'
BOTH = f'{{"verdicts": [{C1}, {C2}]}}'
SWAPPED = '{"verdicts": [{"id": "c1", "verdict": "missing"}, {"id": "c2", "verdict": "meets"}]}'


def read(reply, asked=("c1", "c2"), **options) -> dict[str, str]:
    """Each check's verdict, or in brackets why it has none."""
    reading = read_reply(reply, asked, **options)
    return {check.check_id: check.verdict or f"({check.ungraded_reason})" for check in reading.checks}


def both(first: str, second: str) -> dict[str, str]:
    return {"c1": first, "c2": second}


# The case folders.


@pytest.fixture
def case(shared):
    """The expectations of a case, its asked ids, and the reply and stop reason of each of its rows."""

    def take(number: int):
        (folder,) = (shared / "cases").glob(f"{number:02d}-*")
        lines = {
            name: [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
            for name in ("checks", "replies")
        }
        asked = list(dict.fromkeys(row["check_id"] for row in lines["checks"]))
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["expect"]
        return expected, asked, lines["replies"]

    return take


def test_01_every_wrapping_gives_the_same_verdicts(case):
    expected, asked, rows = case(1)
    assert [row["model"] for row in rows] == expected["models"]
    for row in rows:
        assert read(row["reply"], asked) == expected["verdicts_per_model"], row["model"]


def test_01_reasons_keep_their_fences_and_braces(case):
    _, asked, rows = case(1)
    (inner,) = (row for row in rows if row["model"] == "m-inner-fence")
    reasons = [check.rationale for check in read_reply(inner["reply"], asked).checks]
    assert reasons == ["The answer shows ```text``` in a block and a brace } here.", "Only the genus.", "Not there."]


def test_02_repair_never_touches_a_reason(case):
    expected, asked, rows = case(2)
    for row in rows:
        (check,) = read_reply(row["reply"], asked).checks
        assert check == CheckVerdict("c1", expected["verdict_each"], expected["reasons"][row["model"]], None)


def test_04_drafts_in_reasoning_blocks_are_not_read(case):
    expected, asked, rows = case(4)
    for row in rows:
        reason = expected["unusable"].get(row["model"])
        verdicts = expected["verdicts"].get(row["model"]) or dict.fromkeys(asked, f"({reason})")
        assert read(row["reply"], asked) == verdicts, row["model"]


def test_05_what_lies_beyond_the_cut_is_ungraded(case):
    expected, asked, rows = case(5)
    readings = {
        row["model"]: read_reply(row["reply"], asked, stop_reason=row.get("finish_reason", "stop")) for row in rows
    }
    for model, verdicts in expected["per_check"].items():
        assert {check.check_id: check.verdict for check in readings[model].checks} == verdicts
    for model, note in expected["unscored"].items():
        graded = sum(check.verdict is not None for check in readings[model].checks)
        assert f"incomplete: {graded} of {len(asked)} checks judged" == note
        assert [check.ungraded_reason for check in readings[model].checks[graded:]] == ["cut off"] * 2
    assert [model for model, reading in readings.items() if reading.complete] == list(expected["scored"])


def test_06_failures_are_told_apart_and_none_is_missing(case):
    expected, asked, rows = case(6)
    failures = dict.fromkeys(expected["judge_failures"], 0)
    kinds: dict[str, int] = {}
    for row in rows:
        reading = read_reply(row["reply"], asked)
        if not reading.complete:
            failures[row["model"]] += 1
            (reason,) = {check.ungraded_reason for check in reading.checks}
            kind = reason.split(": ")[0]
            kinds[kind] = kinds.get(kind, 0) + 1
    assert (failures, kinds) == (expected["judge_failures"], expected["failure_kinds"])


def test_07_labels_are_read_whole_or_not_at_all(shared):
    (folder,) = (shared / "cases").glob("07-*")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["expect"]
    for row, verdict in expected["labels"]:
        label = json.loads((folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()[row - 1])["verdict"]
        (check,) = read_reply(json.dumps([{"id": "c1", "verdict": label}]), ["c1"]).checks
        assert check.verdict == verdict, label
        assert (check.ungraded_reason is None) == (verdict is not None)


def test_08_ids_are_trimmed_and_what_was_not_asked_is_listed(shared):
    (folder,) = (shared / "cases").glob("08-*")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["expect"]
    rows = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
    reply = json.dumps([row for row in rows if row["question_id"] == "q1"])
    reading = read_reply(reply, ["c1", "c2", "c3", "c4", "c5"])
    assert sum(check.verdict == "meets" for check in reading.checks) == expected["joined"]
    assert [check.check_id for check in reading.checks if check.verdict is None] == [expected["unjudged"][0][-1]]
    assert reading.checks[-1].ungraded_reason == "not in the reply"
    assert list(reading.extra) == [expected["extra"][0][-1]]


# Shapes.


@pytest.mark.parametrize(
    "reply",
    [
        '{"c1": "meets", "c2": "missing"}',
        '{"verdicts": {"c1": {"label": "Meets", "why": "x"}, "c2": {"grade": "MISSING"}}}',
        '{"c1": "meets"}\n{"c2": "missing"}',
        f"{C1}\n{C2}\n",
        f"1. {C1}\n2. {C2}",
        f"```json\n[{C1}]\n```\nand\n```json\n[{C2}]\n```",
        f'{{"id": "review-7", "answer_critical": [{C1}], "context": [{C2}]}}',
        '[{"check_id": "`c1`", "label": "meets"}, {"check": "[c2]", "grade": "missing"}]',
        '[{"Check ID": "c1", "Verdict": "meets"}, {"checkId": " c2\\n", "VERDICT": "missing"}]',
        "[{'id': 'c1', 'verdict': 'meets', 'reason': \"it's there\"}, {'id': 'c2', 'verdict': 'missing', 'x': None}]",
        f"// my grades\n[{C1}, // first\n{C2},]",
        f"Labels are [meets, missing] {{so}} I say: {BOTH} [done",
        f"It isn't ['unclear {BOTH}",
        f'In the form {{"verdicts": [{{"id": "...", "verdict": "meets|missing"}}, ...]}}:\n{BOTH}',
        f'As {{"verdicts": [{{"id": <id>, "verdict": <label>}}]}}:\n{BOTH}',
        f"Draft: {SWAPPED}\nNo, finally: {BOTH}",
    ],
)
def test_shapes_that_judges_use_are_read(reply):
    assert read(reply) == both("meets", "missing")


def test_ids_given_as_numbers_are_text():
    assert read('[{"id": 1, "verdict": "meets"}, {"id": 2.0, "verdict": "missing"}]', ["1", "2"]) == {
        "1": "meets",
        "2": "missing",
    }
    assert read('[{"id": 1, "verdict": "meets"}]', ["01"]) == {"01": "(no verdicts in the reply)"}


def test_an_id_that_could_be_either_of_two_is_neither():
    assert read('[{"id": "(a)", "verdict": "meets"}]', ["a", "[a]"]) == {
        "a": "(no verdicts in the reply)",
        "[a]": "(no verdicts in the reply)",
    }


def test_a_text_of_the_check_beside_its_id_does_no_harm():
    assert read('[{"check": "Names the snake.", "id": "c1", "verdict": "meets"}]', ["c1"]) == {"c1": "meets"}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (r'"the formula \(x\) and \_"', r"the formula \(x\) and \_"),
        (r'"it\'s"', "it's"),
        (r"""'says "hi" \\ \x41 \u00e9 \U0001f600'""", 'says "hi" \\ A é \U0001f600'),
        ('"two\nlines"', "two\nlines"),
        (r'"\ud83d\ude00 \ud800"', "\U0001f600 \ufffd"),
        ("17", "17"),
        ('["a", "b"]', None),
    ],
)
def test_odd_strings_are_read_to_the_letter(written, reason):
    (check,) = read_reply(f'[{{"id": "c1", "verdict": "meets", "reason": {written}}}]', ["c1"]).checks
    assert check == CheckVerdict("c1", "meets", reason, None)


# Reasoning blocks.


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("<THINKING>", "</Thinking>"),
        ('<reasoning effort="high">', "</reasoning>"),
        ("<seed:think>", "</seed:think>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ],
)
def test_only_what_follows_the_reasoning_counts(opening, closing):
    nothing = both(*["(no verdict after the reasoning block)"] * 2)
    assert read(f"{opening}{SWAPPED} wait{closing}{BOTH}") == both("meets", "missing")
    assert read(f"{SWAPPED} and {{'id': 'c1' no{closing}{BOTH}") == both("meets", "missing")
    assert read(f"{opening}{SWAPPED} wait{closing}") == nothing
    assert read(f"{opening}{SWAPPED} wait", stop_reason="max_tokens") == nothing
    assert read(f"{BOTH}{opening}wait") == nothing
    assert read(f"{opening}x{closing}{BOTH[:-20]}") == both("meets", "(cut off)")


@pytest.mark.parametrize("tag", ["<think>", "</think>", "[/THINK]", "<thinking>x</thinking>"])
def test_a_tag_inside_a_reason_is_text(tag):
    reply = json.dumps([{"id": "c1", "reason": f"it says {tag} here", "verdict": "meets"}])
    assert read_reply(reply, ["c1"]).checks == (CheckVerdict("c1", "meets", f"it says {tag} here", None),)


# What is not a verdict.


@pytest.mark.parametrize(
    ("reply", "stop_reason", "reason"),
    [
        (None, "stop", "empty reply"),
        ("\ufeff \r\n", "stop", "empty reply"),
        (17, "stop", "empty reply"),
        ("", "max_tokens", "cut off"),
        ("The answer names", "model_length", "cut off"),
        (BOTH, "content_filter", "refusal"),
        ("I can’t assist with that.", "stop", "refusal"),
        ("Error: upstream timed out", "stop", "error: Error: upstream timed out"),
        ("503 Service Unavailable", "stop", "error: 503 Service Unavailable"),
        ("The answer is missing most facts. I am sorry.", "stop", "no verdicts in the reply"),
        ("missing", "stop", "no verdicts in the reply"),
        ('{"error": {"code": 429}}', "stop", "no verdicts in the reply"),
        ('{"verdicts": []}', "stop", "no verdicts in the reply"),
        ('{"verdicts": [{"id": "...", "verdict": "missing"}]}', "stop", "no verdicts in the reply"),
        ('{"verdicts": [{"id": "c1" "verdict": "meets"}', "stop", "malformed"),
        ("{" * 1000, "stop", "cut off"),
        ("[" * 100_000, "stop", "malformed"),
        ('{"verdicts":' * 1000, "stop", "malformed"),
        ('{"verdicts": [{"id": "c1", "verdict": "mee', "stop", "cut off"),
    ],
)
def test_a_reply_without_verdicts_says_why(reply, stop_reason, reason):
    reading = read_reply(reply, ["c1", "c2"], stop_reason=stop_reason)
    assert [check.ungraded_reason for check in reading.checks] == [reason] * 2
    assert len(reading.faults) >= 1
    assert not reading.complete


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (f'{C1}, {{"id": "c1", "verdict": "Meets."}}', "meets"),
        (f'{C1}, {{"id": "c1", "verdict": "missing"}}', "(answered twice: meets, missing)"),
        ('{"id": "c1", "verdict": "meets", "verdict": "missing"}', "(answered twice: meets, missing)"),
        ('{"c1": "meets", "c1": "contradicts"}', "(answered twice: meets, contradicts)"),
        (f'{C1}, {{"id": "c1", "verdict": "fine"}}', "(answered twice: meets, fine)"),
        ('{"id": "c1", "verdict": null}', "(no verdict)"),
        ('{"id": "c1", "reason": "Stated."}', "(no verdict)"),
        ('{"id": "c1", "verdict": ["meets"]}', "(unknown label: not a text)"),
        ('{"id": "c1", "verdict": "fully\\n met"}', "(unknown label: fully met)"),
        ('{"id": "c1", "verdict": ""}', "(unknown label: (blank))"),
        ('{"id": "c1", "verdict": NaN}', "(unknown label: NaN)"),
        ('{"id": "c1", "id": "c2", "verdict": "meets"}', "(no verdicts in the reply)"),
    ],
)
def test_one_check_has_one_known_label_or_none(entries, expected):
    assert read(f"[{entries}]", ["c1"]) == {"c1": expected}


def test_a_huge_number_is_only_a_text():
    assert read('[{"id": "c1", "verdict": "meets", "sure": ' + "9" * 10_000 + "}]", ["c1"]) == {"c1": "meets"}


def test_lists_that_disagree_leave_the_check_ungraded_unless_the_last_is_complete():
    assert read(f"{BOTH} Correction: {json.dumps({'c1': 'missing'})}") == both(
        "(answered twice: meets, missing)", "missing"
    )
    assert read(f"{BOTH} Correction: {SWAPPED}") == both("missing", "meets")


def test_a_draft_does_not_stand_in_for_a_list_that_was_cut_off():
    reply = f"Draft: {SWAPPED} Finally: {BOTH}"
    seen = {tuple(read(reply[:end]).values()) for end in range(reply.index("Finally: {") + 10, len(reply) + 1)}
    assert seen == {("(cut off)", "(cut off)"), ("meets", "(cut off)"), ("meets", "missing")}


def test_nothing_is_read_inside_a_string_that_broke():
    reply = '[{"id": "c1", "reason": "it says "hi" {\'id\': \'c1\', \'verdict\': \'meets\'}", "verdict": "missing"}]'
    assert read(reply, ["c1"]) == {"c1": "(malformed)"}
    cut = "[{\"id\": \"c1\", \"reason\": \"it says {'id': 'c2', 'verdict': 'meets'} and"
    assert read(cut) == both("(cut off)", "(cut off)")


def test_entries_that_closed_before_the_json_broke_stand():
    assert read(f'[{C1}, {{"id": "c2", verdict: "missing"}}]') == both("meets", "(malformed)")


def test_a_user_can_add_spellings_but_not_change_the_four():
    labels = {"fully met": "meets", "missing": "contradicts", "odd": "nothing"}
    reply = '{"c1": "Fully-Met", "c2": "missing", "c3": "odd"}'
    assert list(read(reply, ["c1", "c2", "c3"], labels=labels).values()) == ["meets", "missing", "(unknown label: odd)"]


# What the judge is told.


def test_a_failed_call_leaves_every_check_ungraded_with_its_reason():
    reading = failed(["c1", "c2"], "timeout")
    assert reading.checks == tuple(CheckVerdict(name, None, None, "timeout") for name in ("c1", "c2"))
    assert reading.faults == ('There was no reply: "timeout".',)


def test_a_clean_reply_has_no_faults():
    assert read_reply(BOTH, ["c1", "c2"]).faults == ()


def test_the_judge_is_told_each_fault_and_which_checks_are_wanted():
    reply = '{"c1": "met", "c2": "meets", "c3": null, "c9": "missing"}'
    message = fault_message(read_reply(reply, ["c1", "c2", "c3", "c4"]))
    assert message.splitlines() == [
        "Your last reply could not be used in full.",
        '- "met" for "c1" is none of the labels meets, partially_meets, missing, contradicts.',
        '- "c3" was given no label.',
        '- "c4" was not in the reply.',
        '- Not asked for: "c9".',
        "Grade the checks below, and these alone, each by itself, in the format asked for. Reply with JSON only.",
        'Wanted: ["c1", "c3", "c4"]',
    ]


# Laws.

ids = st.lists(st.text(min_size=1, max_size=8) | st.sampled_from(["c1", "1", "a/b/01"]), max_size=5, unique=True)
hostile = st.lists(
    st.sampled_from(
        [*"{}[]\",:'\\/", "```", "<think>", "</think>", "null", "c1", '"id":', '"verdict":', '"meets"', "NaN", "\ud800"]
    )
    | st.text(max_size=5),
    max_size=40,
).map("".join)
planted = st.sampled_from([BOTH, SWAPPED, C1, f"</think>{SWAPPED}", "{'id': 'c2', 'verdict': 'meets'}", f"<think>{C2}"])
reasons = st.text(max_size=20) | hostile.map(lambda text: text.replace("\ud800", "")) | planted
plain_ids = st.lists(
    st.sampled_from(["c1", "c2"]) | st.text(string.ascii_lowercase + string.digits + "-/_é", min_size=1, max_size=9),
    min_size=1,
    max_size=5,
    unique=True,
)
WRAPPINGS = (
    "{}",
    "\ufeff{}\r\n",
    "```json\n{}\n```",
    "~~~\n{}\n~~~ {{smile}}",
    "Sure [1]! {} Hope it's of help.",
    '<think>{{"verdicts": [{{"id": "c1", "verdict": "missing"}}</think>{}',
    "so it is done</thinking>\n{}",
    'In the form {{"verdicts": [{{"id": "...", "verdict": "..."}}, ...]}}\n{}',
)

# Where a block of reasoning or a brace of the prose after the list may be cut, more is lost than the entries after it.
CUTTABLE = [wrapping for wrapping in WRAPPINGS if "think" not in wrapping and "smile" not in wrapping]


WRITERS = (json.dumps, partial(json.dumps, ensure_ascii=False), repr)


@st.composite
def graded(draw):
    """Entries for some ids, and one way to write them as JSON."""
    entries = [
        {"id": name, "reason": draw(reasons), "verdict": draw(st.sampled_from(VERDICTS))} for name in draw(plain_ids)
    ]
    write = draw(st.sampled_from(WRITERS))
    shape = draw(st.sampled_from(["list", "object", "lines", "indented"]))
    if shape == "lines":
        return entries, "\n".join(map(write, entries))
    if shape == "indented":
        return entries, json.dumps(entries, indent=draw(st.sampled_from([0, 2, "\t"])))
    return entries, write({"verdicts": entries} if shape == "object" else entries)


def pairs(reading: Reading) -> list[tuple[str, str | None, str | None]]:
    return [(check.check_id, check.verdict, check.rationale) for check in reading.checks]


@given(st.text() | hostile, ids, st.sampled_from(["stop", "max_tokens", "tool_calls", "unknown"]))
@example('{"":', [""], "stop")
def test_whatever_is_read_each_asked_check_comes_back_with_a_verdict_or_a_reason(reply, asked, stop_reason):
    reading = read_reply(reply, asked, stop_reason=stop_reason)
    assert [check.check_id for check in reading.checks] == asked
    assert all((check.verdict in VERDICTS) != bool(check.ungraded_reason) for check in reading.checks)
    assert read_reply(reply, asked, stop_reason=stop_reason) == reading
    wanted = json.loads(fault_message(reading).splitlines()[-1].removeprefix("Wanted: "))
    assert wanted == [check.check_id for check in reading.checks if check.verdict is None]
    assert reading.complete == (not wanted)


@given(st.text().filter(lambda text: "c1" not in text) | hostile.map(lambda text: text.replace("c1", "c7")))
def test_a_check_that_a_reply_does_not_name_is_never_graded(reply):
    (check,) = read_reply(reply, ["c1"]).checks
    assert check.verdict is None


@given(graded(), st.sampled_from(WRAPPINGS))
def test_a_valid_reply_reads_back_exactly_in_any_wrapping(written, wrapping):
    entries, text = written
    reading = read_reply(wrapping.format(text), [entry["id"] for entry in entries])
    assert pairs(reading) == [(entry["id"], entry["verdict"], entry["reason"]) for entry in entries]
    assert (reading.faults, reading.extra) == ((), ())


@given(graded(), st.data())
def test_the_quick_way_reads_what_the_careful_way_reads(written, data):
    entries, _ = written
    text = json.dumps({"verdicts": entries}, ensure_ascii=data.draw(st.booleans()))
    asked = [entry["id"] for entry in entries]
    # Any key or label may be doubled, dropped or renamed; both ways must then say the same.
    old = data.draw(st.sampled_from(['"id"', '"reason"', '"verdict"', '"verdict": "meets"', "}", " "]))
    new = data.draw(st.sampled_from([old, f'"id": "x", {old}', f'"verdict": "missing", {old}', "", "\\", '"label"']))
    spoiled = text.replace(old, new, 1)
    with pytest.MonkeyPatch.context() as patch:
        quick = read_reply(spoiled, asked)
        patch.setattr(parsing, "_exact", lambda reply, asked: None)
        assert quick == read_reply(spoiled, asked)


@given(graded(), st.data())
def test_cutting_a_reply_changes_no_verdict_and_adds_none_beyond_the_cut(written, data):
    entries, text = written
    wrapping = data.draw(st.sampled_from(CUTTABLE))
    whole = wrapping.format(text)
    end = data.draw(st.integers(0, len(whole)))
    closed, position = 0, whole.index(text)
    for entry in entries:
        position = closing_brace(whole, position, entry) + 1
        closed += position <= end
    reading = read_reply(whole[:end], [entry["id"] for entry in entries], stop_reason="max_tokens")
    verdicts = [entry["verdict"] for entry in entries]
    assert [check.verdict for check in reading.checks] == verdicts[:closed] + [None] * (len(entries) - closed)
    assert {check.ungraded_reason for check in reading.checks[closed:]} <= {"cut off"}


def closing_brace(text: str, start: int, entry: dict[str, str]) -> int:
    """Where the entry's object closes: the first brace after its verdict, which stands last."""
    for write in WRITERS:
        head = re.compile(rf"{write('id')}: {re.escape(write(entry['id']))},\s+{write('reason')}: ")
        body = re.escape(write(entry["reason"]))
        if found := re.compile(head.pattern + body).search(text, start):
            return text.index("}", found.end())
    raise LookupError(entry["id"])


@pytest.mark.parametrize(
    "garbage",
    ["{", "[", '{"', "['", "[//\n", "[ ", '{"a":', '{"a":"', "<think>", "</think>", "[1],", C1, "[" + " " * 999, "[,"],
)
def test_a_megabyte_of_garbage_is_read_in_bounded_work(garbage):
    reading = read_reply(garbage * (1_000_000 // len(garbage)), ["c7"])
    assert reading.checks[0].verdict is None
