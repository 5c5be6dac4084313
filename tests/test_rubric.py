"""The meta-rubric: its files read and written, and every reason for which one is refused."""

import copy
import json
from typing import get_args

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from pydantic import ValidationError
from rubric_strategies import EXAMPLES, TRICKY, meta_rubrics

from gamut_analysis.errors import RubricError
from gamut_analysis.rubric import (
    ITEM_CLASSES,
    InvalidRubric,
    MetaRubric,
    Tier,
    load_rubrics,
    meta_rubric_schema,
    parse_rubric,
    rubric_from_yaml,
    rubrics_from_json,
    rubrics_from_jsonl,
    to_data,
    to_json,
    to_jsonl,
    to_yaml,
)
from gamut_analysis.vocabulary import ITEM_TYPES, TIERS

VALID = {
    "question_id": "q1",
    "question": "What is this?",
    "question_text_only": "What is a pear?",
    "entity": "Pear",
    "domain": "Food",
    "snippets": [{"id": "s1", "title": "Pear", "url": "https://example.org/pear"}],
    "items": [
        {"id": "name", "type": "simple_knowledge", "tier": "answer_critical", "description": "Name", "fact": "A pear."},
        {"id": "parts", "type": "strict_list", "tier": "valuable", "description": "Parts", "elements": ["Skin", "Pip"]},
        {
            "id": "kinds",
            "type": "flexible_list",
            "tier": "context",
            "description": "Kinds",
            "options": ["Conference", "Comice", "Abate", "Williams"],
            "baseline": 2,
        },
        {
            "id": "poach",
            "type": "process",
            "tier": "valuable",
            "description": "Poaching",
            "steps": [{"text": "Peel", "required": True}, {"text": "Simmer", "required": True}],
        },
        {
            "id": "kin",
            "type": "relationship",
            "tier": "context",
            "description": "Kin",
            "entities": ["Pear", "Apple"],
            "aspects": ["Both are pomes."],
        },
    ],
}  # fmt: skip


def changed(path, value):
    """The valid rubric with one place set, or removed when the value is `...`."""
    data = copy.deepcopy(VALID)
    *front, last = path
    place = data
    for step in front:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return data


def faults_of(call, *arguments):
    with pytest.raises(InvalidRubric) as raised:
        call(*arguments)
    return raised.value.faults


# --------------------------------------------------------------------------------------------------------------------
# What is refused

SO = {"tier": "context", "text": "So."}
PEEL = {"text": "Peel", "required": True}
REFUSED = [
    (("items", 1, "id"), "name", "parts" and "name", "id", "already the id of items[1]"),
    (("snippets",), VALID["snippets"] * 2, None, "snippets[2].id", "already the id of snippets[1]"),
    (("items", 0, "citations"), ["s1", "s2"], "name", "citations[2]", "'s2' names no snippet; the snippets are s1"),
    (("items", 1, "insight"), {**SO, "citations": ["s9"]}, "parts", "insight.citations[1]", "names no snippet"),
    (("items", 1, "elements"), [], "parts", "elements", "at least one element"),
    (("items", 2, "options"), [], "kinds", "options", "at least one option"),
    (("items", 3, "steps"), [], "poach", "steps", "is empty; a process has at least two steps"),
    (("items", 3, "steps"), [PEEL], "poach", "steps", "has one step; a process has at least two"),
    (("items", 4, "aspects"), [], "kin", "aspects", "at least one aspect"),
    (("items", 4, "entities"), [], "kin", "entities", "at least one entity"),
    (("items",), [], None, "items", "at least one item"),
    (("items", 2, "baseline"), 0, "kinds", "baseline", "is 0; it must be within 1 and the number of options (4)"),
    (("items", 2, "baseline"), 5, "kinds", "baseline", "is 5; it must be within 1 and the number of options (4)"),
    (("items", 2, "baseline"), True, "kinds", "baseline", "must be a whole number"),
    (("items", 2, "baseline"), 2.0, "kinds", "baseline", "must be a whole number"),
    (("items", 2, "cap"), 1, "kinds", "cap", "is 1; it must be within the baseline (2) and the number of options (4)"),
    (("items", 2, "cap"), 5, "kinds", "cap", "is 5; it must be within the baseline (2) and the number of options (4)"),
    (("items", 2, "thresholds"), [2, 4], "kinds", "thresholds[1]", "is 2; it must be above the baseline (2)"),
    (("items", 2, "thresholds"), [3, 3], "kinds", "thresholds[2]", "must be above the threshold before it (3)"),
    (("items", 2, "thresholds"), [4, 3], "kinds", "thresholds[2]", "must be above the threshold before it (4)"),
    (("items", 2, "thresholds"), [3, 5], "kinds", "thresholds[2]", "must not be above the number of options (4)"),
    (("items", 2, "thresholds"), [], "kinds", "thresholds", "leave it out, or write null"),
    (("items", 1, "tier"), "vital", "parts", "tier", "must be answer_critical, valuable or context"),
    (("items", 1, "tier"), "valuabel", "parts", "tier", "did you mean 'valuable'?"),
    (("items", 1, "type"), "strict-list", "parts", "type", "did you mean 'strict_list'?"),
    (("items", 1, "type"), ..., "parts", "type", "is missing; it must be simple_knowledge"),
    (("items", 1, "insight"), {"tier": "vital", "text": "So."}, "parts", "insight.tier", "is an unknown tier"),
    (("items", 0, "insight"), SO, "name", "insight", "is an unknown field"),
    (("items", 0, "fact"), " \n\t", "name", "fact", "is blank"),
    (("items", 0, "fact"), "\u200b", "name", "fact", "is blank"),
    (("items", 0, "fact"), None, "name", "fact", "is null; it must be text"),
    (("items", 0, "fact"), 7, "name", "fact", "is int 7; it must be text"),
    (("items", 0, "fact"), ["a"], "name", "fact", "is a list; it must be text"),
    (("items", 1, "elements"), "Skin", "parts", "elements", "must be a list"),
    (("items", 1, "elements", 1), "", "parts", "elements[2]", "is blank"),
    (("items", 3, "steps", 1, "required"), "yes", "poach", "steps[2].required", "must be true or false"),
    (("items", 3, "steps", 1), "Simmer", "poach", "steps[2]", "must be a mapping"),
    (("items", 3, "steps", 1, "requried"), True, "poach", "steps[2].requried", "the fields here are text and required"),
    (("items", 0, "fct"), "x", "name", "fct", "did you mean 'fact'?"),
    (("qestion",), "x", None, "qestion", "did you mean 'question'?"),
    (("snippets", 0, "titel"), "x", None, "snippets[1].titel", "did you mean 'title'?"),
    (("snippets", 0, "text"), "word " * 41, None, "snippets[1].text", "holds 41 words; at most 40"),
    (("snippets", 0, "url"), ..., None, "snippets[1].url", "is missing; it must be text"),
    (("items", 2, "baseline"), ..., "kinds", "baseline", "is missing; it must be a whole number"),
    (("items", 2, "options"), ..., "kinds", "options", "is missing; it must be a list"),
    (("items", 2, "tier"), ..., "kinds", "tier", "is missing; it must be answer_critical"),
    (("items", 3, "steps", 0, "required"), ..., "poach", "steps[1].required", "is missing; it must be true or false"),
    (("question_text_only",), ..., None, "question_text_only", "write null when the question cannot be asked"),
    (("entity",), "  ", None, "entity", "is blank"),
    (("items", 0), "A pear.", None, "items[1]", "must be a mapping"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "item_id", "field", "message"), REFUSED)
def test_a_broken_rule_is_refused_with_question_item_field_and_remedy(path, value, item_id, field, message):
    (fault,) = faults_of(parse_rubric, changed(path, value))
    assert (fault.question_id, fault.item_id, fault.field) == ("q1", item_id, field)
    assert message in fault.message


# A number of JSON is read as its own spelling where text is meant, so 7 alone is no fault in a file.
@pytest.mark.parametrize(("path", "value"), [row[:2] for row in REFUSED if row[1] != 7])
def test_every_refusal_has_the_line_of_the_file(path, value):
    text = json.dumps(changed(path, value), indent=1)
    (fault,) = faults_of(rubrics_from_json, text)
    lines = text.split("\n")
    assert 1 <= fault.line <= len(lines)
    named = [step for step in path if isinstance(step, str)][-1]
    if value is not ... and fault.field.split(".")[-1] == named:
        assert f'"{named}"' in lines[fault.line - 1]


def test_a_cap_bounds_the_thresholds():
    data = changed(("items", 2), {**VALID["items"][2], "cap": 3, "thresholds": [3, 4]})
    (fault,) = faults_of(parse_rubric, data)
    assert fault.message == "is 4; it must not be above the cap (3)"


@pytest.mark.parametrize("words", [39, 40])
def test_a_snippet_of_at_most_forty_words_is_accepted(words):
    assert parse_rubric(changed(("snippets", 0, "text"), "word " * words)).snippets[0].text


def test_numbers_at_their_limits_are_accepted():
    for baseline, cap, thresholds in [(1, 1, None), (4, 4, None), (1, 4, [2, 3, 4]), (2, None, [4])]:
        data = changed(("items", 2), {**VALID["items"][2], "baseline": baseline, "cap": cap, "thresholds": thresholds})
        assert parse_rubric(data).items[2].baseline == baseline


def test_all_faults_of_a_file_are_raised_at_once(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        """\
question_id: 007
question: ' '
question_text_only: null
entity: Pear
domain: Food
items:
  - id: yes
    type: strict_lst
    tier: vital
    description: Parts
    elements: []
  - id: yes
    type: flexible_list
    tier: context
    tier: valuable
    description: Kinds
    options: [Comice, Abate]
    baseline: 3
    citations: [s1]
""",
        encoding="utf-8",
    )
    faults = faults_of(load_rubrics, [path])
    # Line 7 would be the second `yes`'s first use; elements of an unknown type cannot be judged.
    assert [(fault.line, fault.item_id, fault.field) for fault in faults] == [
        (2, None, "question"),
        (8, "yes", "type"),
        (9, "yes", "tier"),
        (12, "yes", "id"),
        (15, "yes", "tier"),
        (18, "yes", "baseline"),
        (19, "yes", "citations[1]"),
    ]
    assert {fault.question_id for fault in faults} == {"007"}
    assert all(str(fault).startswith(f"{path}:{fault.line}: question 007") for fault in faults)


def test_faults_of_all_files_are_raised_at_once_with_repeated_questions(tmp_path):
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(VALID))
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(VALID))
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(changed(("entity",), "")))
    faults = faults_of(load_rubrics, [tmp_path, tmp_path / "none.json", tmp_path / "x.txt"])
    assert [fault.file.rsplit("/", 1)[-1] for fault in faults] == ["c.yaml", "none.json", "x.txt", "b.yaml"]
    assert "already the id of a question in" in faults[-1].message and "a.yaml" in faults[-1].message


def test_objects_built_in_python_keep_the_same_rules():
    meta = parse_rubric(VALID)
    with pytest.raises(ValidationError, match="already the id"):
        MetaRubric(**{**dict(meta), "items": (meta.items[0], meta.items[0])})
    with pytest.raises(ValidationError, match="frozen"):
        meta.entity = "Apple"


def test_a_rubric_that_is_no_mapping_is_refused():
    (fault,) = faults_of(rubric_from_yaml, "- a\n- b\n")
    assert fault.message == "is a list; a meta-rubric is a mapping of fields"
    (fault,) = faults_of(rubric_from_yaml, "# nothing here\n")
    assert fault.message.startswith("is empty")


def test_a_long_list_of_faults_is_cut_in_the_message_alone():
    data = changed(("items", 1, "elements"), [""] * 60)
    faults = faults_of(parse_rubric, data)
    assert len(faults) == 60
    assert str(InvalidRubric(faults)).endswith("... and 10 more faults")
    assert issubclass(InvalidRubric, RubricError)


# --------------------------------------------------------------------------------------------------------------------
# What stays text, and what becomes a number


@pytest.mark.parametrize("name", ["007", "1e5", "yes", "2026-07-01", "0x1F", "1_000", "12:30", ".inf", "on", "<<"])
def test_unquoted_ids_and_texts_stay_what_was_written(name):
    text = yaml.safe_dump(VALID).replace("question_id: q1", f"question_id: {name}").replace("id: name", f"id: {name}")
    meta = rubric_from_yaml(text.replace("- Skin", f"- {name}"))
    assert meta.question_id == meta.items[0].id == meta.items[1].elements[0] == name


def test_numbers_of_json_stay_text_where_text_is_meant():
    text = json.dumps(VALID).replace('"q1"', "1e5")
    assert rubrics_from_json(text)[0].question_id == "1e5"


@pytest.mark.parametrize("null", ["", "~", "null", "Null", "NULL"])
def test_an_unquoted_null_is_null_and_a_quoted_one_is_text(null):
    text = yaml.safe_dump(VALID).replace("question_text_only: What is a pear?", f"question_text_only: {null}")
    assert rubric_from_yaml(text).question_text_only is None
    quoted = yaml.safe_dump(VALID).replace("entity: Pear", f"entity: '{null or 'null'}'")
    assert rubric_from_yaml(quoted).entity == (null or "null")
    (fault,) = faults_of(rubric_from_yaml, yaml.safe_dump(VALID).replace("entity: Pear", f"entity: {null}"))
    assert (fault.field, fault.message) == (
        "entity",
        "is null; it must be text; put quotes around it when the word itself is meant",
    )


@pytest.mark.parametrize("number", ["two", "2.0", "0x2", "1_0", "2e0", "", "9" * 5000])
def test_a_baseline_that_is_no_whole_number_is_refused(number):
    (fault,) = faults_of(rubric_from_yaml, yaml.safe_dump(VALID).replace("baseline: 2", f"baseline: {number}"))
    assert (fault.item_id, fault.field) == ("kinds", "baseline")
    assert "must be a whole number" in fault.message


@pytest.mark.parametrize("word", ["yes", "on", "1", "y"])
def test_only_true_and_false_are_truth_values(word):
    text = yaml.safe_dump(VALID).replace("required: true", f"required: {word}", 1)
    (fault,) = faults_of(rubric_from_yaml, text)
    assert (fault.field, fault.message) == ("steps[1].required", f"is '{word}'; it must be true or false")


# --------------------------------------------------------------------------------------------------------------------
# Files that are broken or hostile


def test_repeated_fields_are_refused_in_yaml_and_json():
    (fault,) = faults_of(rubric_from_yaml, yaml.safe_dump(VALID) + "entity: Apple\n")
    assert (fault.field, fault.message) == ("entity", "is written twice (first on line 2); keep one")
    (fault,) = faults_of(rubrics_from_json, json.dumps(VALID).replace('"entity"', '"domain": "x", "entity"'))
    assert fault.field == "domain"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: &x [1]\nb: *x\n", 1, "anchors and aliases"),
        ("a: 1\nb: *x\n", 2, "anchors and aliases"),
        ("a: &a [&b [*a, *a]]", 1, "anchors and aliases"),
        ("a: 1\nb: !!python/object/apply:os.system ['true']", 2, "is not read"),
        ("!!python/name:os.system\n", 1, "is not read"),
        ("a: !!str 007", 1, "is not read"),
        ("a: " + "[" * 30, 1, "more than 20 levels"),
        ("a: " + "[" * 50000, 1, "nest"),
        ("? [a]\n: b", 1, "not plain text"),
        ("? {a: b}\n: b", 1, "not plain text"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: 'x\n\nb", 3, "is not YAML"),
        ("a: b\n c: d", 2, "is not YAML"),
        ("a: \x07", 1, "is not YAML"),
        ("\t- a", 1, "is not YAML"),
    ],
)
def test_hostile_and_broken_yaml_is_refused_with_its_line(text, line, message):
    (fault,) = faults_of(rubric_from_yaml, text)
    assert message in fault.message
    assert abs(fault.line - line) <= 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("{", 1, "a field name in double quotes expected"),
        ('{"a": 1,}', 1, "a field name in double quotes expected"),
        ('{\n"a" 1}', 2, "':' expected"),
        ('{"a": NaN}', 1, "a value expected"),
        ('{"a": 01}', 1, "',' or '}' expected"),
        ('{"a": "b\n"}', 1, "Invalid control character"),
        ('{"a": "b', 1, "Unterminated string"),
        ("[" * 50000, 1, "more than 20 levels"),
        ("{} {}", 1, "the end of the text expected"),
        ("", 1, "a value expected"),
        ("[1\n", 2, "',' or ']' expected"),
    ],
)
def test_hostile_and_broken_json_is_refused_with_its_line(text, line, message):
    (fault,) = faults_of(rubrics_from_json, text)
    assert message in fault.message
    assert fault.line == line


def test_a_message_shows_control_characters_and_does_not_send_them():
    text = json.dumps({**VALID, "\x1b[2J": "x", "question_id": "q\x07\u202e"})
    with pytest.raises(InvalidRubric) as raised:
        rubrics_from_json(text)
    assert str(raised.value).isprintable()
    assert "question q\\x07\\u202e, field \\x1b[2J: is an unknown field" in str(raised.value)


def test_text_that_is_no_unicode_is_refused(tmp_path):
    (fault,) = faults_of(rubrics_from_json, json.dumps(VALID).replace("Pear", "\\ud800", 1))
    assert "must be text" in fault.message or "Unicode" in fault.message
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"question_id: a\nentity: caf\xe9\n")
    (fault,) = faults_of(load_rubrics, [path])
    assert (fault.line, "is not UTF-8" in fault.message) == (2, True)


def test_a_bad_line_does_not_hide_the_other_lines():
    good = json.dumps(VALID)
    faults = faults_of(rubrics_from_jsonl, "\n".join([good, "{", "", good.replace('"entity": "Pear", ', "")]))
    assert [(fault.line, fault.field) for fault in faults] == [(2, None), (4, "entity")]


def test_byte_order_marks_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + yaml.safe_dump(VALID).replace("\n", "\r\n").encode())
    assert load_rubrics([path]) == [parse_rubric(VALID)]
    path = tmp_path / "windows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(VALID).encode() + b"\r\n\r\n")
    assert load_rubrics([path]) == [parse_rubric(VALID)]


def test_a_folder_stands_for_its_yaml_files_in_sorted_order(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ["deep/2.yml", "1.yaml", ".hidden/3.yaml"]:
        (tmp_path / name).write_text(yaml.safe_dump({**VALID, "question_id": name}))
    (tmp_path / "meta-rubric.schema.json").write_text("{}")
    assert [meta.question_id for meta in load_rubrics([tmp_path])] == ["1.yaml", "deep/2.yml"]
    (tmp_path / "empty").mkdir()
    (fault,) = faults_of(load_rubrics, [tmp_path / "empty"])
    assert "holds no .yaml file" in fault.message


# --------------------------------------------------------------------------------------------------------------------
# Round trips and the schema


@given(meta_rubrics())
@settings(max_examples=50, deadline=None)
def test_every_rubric_survives_every_format(meta):
    assert rubric_from_yaml(to_yaml(meta)) == meta
    assert rubrics_from_json(to_json([meta, meta])) == [meta, meta]
    assert rubrics_from_jsonl(to_jsonl([meta, meta])) == [meta, meta]
    assert parse_rubric(to_data(meta)) == meta


@given(meta_rubrics())
@settings(max_examples=30, deadline=None)
def test_written_bytes_are_stable_and_plain_to_other_readers(meta):
    text = to_yaml(meta)
    assert text == to_yaml(rubric_from_yaml(text))
    assert yaml.safe_load(text) == to_data(meta)
    assert json.loads(to_json([meta])) == [to_data(meta)]


@pytest.mark.parametrize("text", TRICKY)
def test_texts_that_look_like_something_else_survive(text):
    meta = parse_rubric(changed(("entity",), f"{text}x{text}"))
    assert rubric_from_yaml(to_yaml(meta)).entity == f"{text}x{text}".strip()


def test_the_examples_are_read_as_written():
    jollof, sancai = load_rubrics([EXAMPLES])
    assert jollof.image_id == "0042"
    assert [item.type for item in sancai.items] == list(ITEM_TYPES)
    assert jollof.items[2].steps[0].required is False
    head = "# yaml-language-server: $schema=../../data/sample/meta-rubric.schema.json\n"
    assert to_yaml(sancai, schema="../../data/sample/meta-rubric.schema.json").startswith(head)


def test_the_schema_accepts_what_the_reader_accepts_and_refuses_most_of_what_it_refuses():
    schema = meta_rubric_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(VALID)
    for meta in load_rubrics([EXAMPLES]):
        assert validator.is_valid(to_data(meta))
    # A schema cannot compare one field with another, nor count words, nor see invisible characters.
    beyond = (
        "already the id",
        "names no snippet",
        "it must be within",
        "must be above",
        "must not be above",
        "41 words",
    )
    for path, value, *_, message in REFUSED:
        if not any(words in message for words in beyond) and value not in ("\u200b", 2.0):
            assert not validator.is_valid(changed(path, value)), (path, value)


def test_the_words_are_those_of_the_vocabulary():
    assert get_args(Tier) == TIERS
    assert tuple(get_args(each.model_fields["type"].annotation)[0] for each in ITEM_CLASSES) == ITEM_TYPES
