"""The release's files, made here: found by content, every tolerance, every error, and nothing lost in silence."""

import gzip
import json
import uuid

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from gamut_analysis import paths, tables
from gamut_analysis.compiler import compile_rubric, variants
from gamut_analysis.errors import InputError
from gamut_analysis.readers import release
from gamut_analysis.readers.delivery import delivered_schema
from gamut_analysis.readers.folder import inputs, read_folder
from gamut_analysis.rubric import load_rubrics, to_data, to_yaml
from gamut_analysis.vocabulary import TIERS

AC, V, C = TIERS
COVERAGE = "Names at least 1 of the following 2: (1) Tomatoes; (2) Onions."
SNIPPETS = [{"id": "s1", "Title": "Jollof", "Text": "A dish.", "URL": "https://example.org/j"}]


def entry(text, *cited, **others):
    return {"Handle": text.split(" ")[0], "Ingredient": text, "Specifics": [{"Citation": c} for c in cited], **others}


def rubric(**others):
    """Two Answer-Critical checks, two Valuable ones and none of context."""
    return {
        "Answer_Critical": [entry("The dish is jollof rice.", "s1"), entry(COVERAGE)],
        "Valuable": [entry("Names: Onions"), entry("Names: Tomatoes")],
        "Context": [],
        "Snippets": SNIPPETS,
        **others,
    }


def row(session_id="q1", **others):
    return {"session_id": session_id, "question": "What is this dish?", "rubrics": rubric(), **others}


def write_lines(path, *rows):
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="utf-8")
    return path


def write_parquet(path, rows, schema=None):
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


def read_rows(tmp_path, *rows, name="test.jsonl", **options):
    return release.read([write_lines(tmp_path / name, *rows)], root=tmp_path, **options)


def oddities(found, number=0):
    return {oddity.what: (oddity.times, oddity.rows) for oddity in found.profiles[number].oddities}


def uses(found, number=0):
    return {column.name: column.use for column in found.profiles[number].columns}


def check_ids(found):
    return found.tables["checks"]["check_id"].to_list()


# --- what is read


def test_a_rubric_becomes_delivered_tables(tmp_path):
    found = read_rows(tmp_path, row(domain="Food"))
    assert {name: frame.schema for name, frame in found.tables.items()} == {
        name: pl.Schema(delivered_schema(name)) for name in ("questions", "checks", "items", "answers")
    }
    question = found.tables["questions"].row(0, named=True)
    assert {name: question[name] for name in ("question_id", "variant", "question", "domain", "image", "row")} == {
        "question_id": "q1",
        "variant": "text_only",
        "question": "What is this dish?",
        "domain": "Food",
        "image": None,
        "row": 1,
    }
    checks = found.tables["checks"].select("check_id", "tier", "position", "role", "role_inferred", "item_id", "needed")
    assert checks.rows() == [
        ("answer_critical/01", AC, "1", "fact", "true", None, None),
        ("answer_critical/02", AC, "2", "baseline", "true", "list-01", "1"),
        ("valuable/01", V, "1", "bonus", "true", "list-01", None),
        ("valuable/02", V, "2", "bonus", "true", "list-01", None),
    ]
    assert found.tables["checks"]["members"].to_list() == [None, '["Tomatoes", "Onions"]', '["Onions"]', '["Tomatoes"]']
    assert found.tables["checks"]["text"][0] == "The dish is jollof rice."
    assert found.dataset == {"benchmark": "gamut"}
    assert found.rejects == []


def test_snippets_handles_and_citations_are_kept(tmp_path):
    found = read_rows(tmp_path, row(source="wiki"))
    extra = json.loads(found.tables["questions"]["extra"][0])
    assert extra["snippets"] == [{"id": "s1", "title": "Jollof", "text": "A dish.", "url": "https://example.org/j"}]
    assert extra["source"] == "wiki"
    assert json.loads(found.tables["checks"]["extra"][0]) == {"handle": "The", "specifics": [{"Citation": "s1"}]}


def test_the_source_says_what_was_read_under_which_name(tmp_path):
    found = read_rows(tmp_path, row(), first_source_id=7)
    source = found.sources[0]
    assert (source.source_id, source.file, source.table_name, source.reader, source.rows_read) == (
        7,
        "test.jsonl",
        "checks",
        "jsonl",
        1,
    )
    assert source.columns == "question_id = session_id, checks = rubrics"
    assert found.tables["checks"]["source_id"].unique().to_list() == [7]


def test_check_ids_depend_on_tier_and_place_alone(tmp_path):
    first = check_ids(read_rows(tmp_path, row()))
    other = rubric(Answer_Critical=[entry("Something else."), entry("And more.")])
    assert check_ids(read_rows(tmp_path, row(rubrics=other), infer_roles=False)) == first


def test_inference_can_be_turned_off(tmp_path):
    found = read_rows(tmp_path, row(), infer_roles=False)
    roles = found.tables["checks"].select("role", "role_inferred", "item_id", "members")
    assert roles.null_count().row(0) == (4, 4, 4, 4)
    assert found.profiles[0].roles == {}


# --- tolerances


def test_both_spellings_of_tiers_and_any_case_are_read_in_reporting_order(tmp_path):
    spelt = {
        "CONTEXT": [entry("c")],
        "valuable": [entry("v")],
        "Answer Critical": [entry("a")],
        "Question": "What is it?",
    }
    found = read_rows(tmp_path, {"id": 12, "Rubrics": spelt})
    assert check_ids(found) == ["answer_critical/01", "valuable/01", "context/01"]
    assert found.tables["questions"].select("question_id", "question").row(0) == ("12", "What is it?")


def test_a_tier_that_is_spelt_in_two_ways_in_one_file_is_one_tier(tmp_path):
    # In Parquet every row has the fields of all: one of the two spellings is null, or both hold checks.
    texts = ({"Answer_Critical": [entry("a")]}, {"Answer Critical": [entry("b")]})
    both = texts[0] | texts[1]
    rows = [row(f"q{number}", rubrics=one | {"Valuable": []}) for number, one in enumerate((*texts, both))]
    names = ["Answer_Critical", "Answer Critical", "Valuable"]
    rows = [one | {"rubrics": {name: one["rubrics"].get(name) for name in names}} for one in rows]
    found = release.read([write_parquet(tmp_path / "test.parquet", rows)])
    assert check_ids(found) == ["answer_critical/01"] * 3 + ["answer_critical/02"]
    assert found.tables["checks"]["text"].to_list() == ["a", "b", "a", "b"]


def test_tiers_as_columns_are_read_and_so_are_specifics_with_text(tmp_path):
    scholar = {
        "question_id": "k1",
        "Question": "Why?",
        "Answer Critical": [
            {"Ingredient": "Explain it.", "Handle": "Why", "Specifics": [{"Text": "As it is.", "Citation": "115"}]}
        ],
        "Valuable": [],
        "Context": [{"Ingredient": "Say when.", "Handle": "When", "Specifics": []}],
    }
    found = read_rows(tmp_path, scholar)
    assert check_ids(found) == ["answer_critical/01", "context/01"]
    assert uses(found)["Answer Critical"] == "-> checks of answer_critical"
    assert oddities(found) == {"citations stand in questions without snippets": (1, (1,))}


def test_a_rubric_written_as_text_is_read(tmp_path):
    found = read_rows(tmp_path, {"id": "k1", "ground_truth": json.dumps(rubric(Question="Why?"))})
    assert len(check_ids(found)) == 4
    assert found.tables["questions"]["question"].to_list() == ["Why?"]


def test_entries_that_are_plain_text_or_have_other_names_are_read(tmp_path):
    mixed = {"Answer_Critical": ["Plain.", {"criterion": "Named."}, {"Handle": "Only a handle"}], "Valuable": []}
    found = read_rows(tmp_path, row(rubrics=mixed))
    assert found.tables["checks"]["text"].to_list() == ["Plain.", "Named.", "Only a handle"]
    assert oddities(found) == {"checks without a text are read by their handle": (1, (1,))}


@pytest.mark.parametrize("name", ["data.json", "data.jsonl", "wrapped.json", "pretty.json", "lines.json"])
def test_json_of_every_form_is_read(tmp_path, name):
    rows = [row("q1"), row("q2")]
    path = tmp_path / name
    content = {
        "data.json": json.dumps(rows),
        "wrapped.json": json.dumps({"data": rows}),
        "pretty.json": json.dumps(rows, indent=2),
    }
    path.write_text(content.get(name) or "\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert release.recognise(path) == "rubrics"
    assert release.read([path]).tables["questions"]["question_id"].to_list() == ["q1", "q2"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_packed_files_are_read(tmp_path, pack, kind):
    path = tmp_path / f"plain.{kind}"
    write_lines(path, row()) if kind == "jsonl" else write_parquet(path, [row()])
    packed = tmp_path / f"packed.{kind}.gz"
    packed.write_bytes(pack(path.read_bytes()))
    assert release.recognise(packed) == "rubrics"
    assert len(check_ids(release.read([packed]))) == 4


def test_a_mark_and_windows_lines_and_utf_16_are_read(tmp_path):
    text = json.dumps(row("é1"), ensure_ascii=False) + "\r\n"
    for encoding in ("utf-8-sig", "utf-16"):
        path = tmp_path / f"{encoding}.jsonl"
        path.write_bytes(text.encode(encoding))
        assert release.recognise(path) == "rubrics"
        assert release.read([path]).tables["questions"]["question_id"].to_list() == ["é1"]


def test_ids_are_text_and_lose_the_blanks_around_them(tmp_path):
    found = read_rows(tmp_path, row("007"), row(8), row(" q9\u200b"), row(10.0))
    assert found.tables["questions"]["question_id"].to_list() == ["007", "8", "q9", "10"]


def test_typed_ids_dictionaries_null_types_and_large_types_are_read_from_parquet(tmp_path):
    key = uuid.UUID(int=5)
    check = pa.struct([("Handle", pa.large_string()), ("Ingredient", pa.string()), ("Specifics", pa.null())])
    rubrics = pa.array(
        [{"Answer_Critical": [{"Ingredient": "a"}], "Valuable": None, "Context": None}],
        pa.struct(
            [("Answer_Critical", pa.large_list(check)), ("Valuable", pa.null()), ("Context", pa.list_(pa.null()))]
        ),
    )
    table = pa.table(
        {
            "session_id": pa.array([key.bytes], pa.uuid()),
            "question": pa.array(["What?"]).dictionary_encode(),
            "domain": pa.nulls(1),
            "rubrics": rubrics,
            "day": pa.array([20_000], pa.date32()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = release.read([tmp_path / "t.parquet"])
    assert found.tables["questions"].select("question_id", "question", "domain").row(0) == (str(key), "What?", None)
    assert json.loads(found.tables["questions"]["extra"][0]) == {"day": "2024-10-04"}
    assert check_ids(found) == ["answer_critical/01"]


def test_text_that_a_writer_left_as_bytes_is_read(tmp_path):
    table = pa.table(
        {
            "session_id": pa.array([b"q1"]),
            "question": pa.array([b"What?"]),
            "rubrics": pa.array([{"Answer_Critical": [{"Ingredient": b"a"}], "Valuable": []}]),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = release.read([tmp_path / "t.parquet"])
    assert found.tables["questions"]["question_id"].to_list() == ["q1"]
    assert found.tables["checks"]["text"].to_list() == ["a"]


def test_a_map_of_tiers_is_read_from_parquet(tmp_path):
    kind = pa.map_(pa.string(), pa.list_(pa.struct([("Ingredient", pa.string())])))
    maps = pa.array([[("Answer_Critical", [{"Ingredient": "a"}]), ("Context", [{"Ingredient": "c"}])]], kind)
    pq.write_table(pa.table({"id": ["q"], "question": ["What?"], "rubrics": maps}), tmp_path / "t.parquet")
    assert release.recognise(tmp_path / "t.parquet") == "rubrics"
    assert check_ids(release.read([tmp_path / "t.parquet"])) == ["answer_critical/01", "context/01"]


# --- pictures

PNG = b"\x89PNG" + bytes(2000)
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def picture_file(path, pictures, kind=IMAGE):
    rows = [row(f"q{number}") for number in range(1, len(pictures) + 1)]
    table = pa.Table.from_pylist(rows).append_column("image", pa.array(pictures, kind))
    pq.write_table(table, path, row_group_size=2)
    return path


@pytest.mark.parametrize(
    ("pictures", "kind", "expected"),
    [
        (
            [
                {"bytes": PNG, "path": "a.png"},
                {"bytes": PNG, "path": None},
                None,
                {"bytes": None, "path": None},
                {"bytes": None, "path": "e.png"},
                {"bytes": None, "path": ""},
            ],
            IMAGE,
            ["a.png", "", None, None, "e.png", None],
        ),
        ([[{"bytes": PNG, "path": "a.png"}], [], None], pa.list_(IMAGE), ["a.png", None, None]),
        ([PNG, None, PNG, PNG], pa.binary(), ["", None, "", ""]),
        ([{"bytes": PNG}, {"bytes": None}, None], pa.struct([("bytes", pa.binary())]), ["", None, None]),
        (["a.png", None], pa.string(), ["a.png", None]),
        (
            [{"bytes": PNG, "path": "a.png"}],
            pa.struct([("bytes", pa.large_binary()), ("path", pa.string())]),
            ["a.png"],
        ),
    ],
)
def test_pictures_leave_their_path_and_whether_they_are_there(tmp_path, pictures, kind, expected):
    found = release.read([picture_file(tmp_path / "t.parquet", pictures, kind)])
    questions = found.tables["questions"]
    assert questions["image"].to_list() == expected
    assert questions["variant"].unique().to_list() == ["multimodal"]
    assert "PNG" not in questions.write_json()
    assert uses(found)["image"] == "-> image (the path; bytes are not read)"


@pytest.mark.parametrize("nothing", [None, {"bytes": None, "path": None}])
def test_a_column_of_no_pictures_makes_a_file_text_only(tmp_path, nothing):
    found = release.read([picture_file(tmp_path / "t.parquet", [nothing] * 3)])
    assert found.tables["questions"]["variant"].to_list() == ["text_only"] * 3
    assert found.tables["questions"]["image"].null_count() == 3


def test_bytes_of_pictures_are_not_read_where_the_file_tells_who_has_them(tmp_path, monkeypatch):
    path = picture_file(tmp_path / "t.parquet", [{"bytes": PNG, "path": None}] * 4 + [None, None])
    asked = []
    iter_batches = pq.ParquetFile.iter_batches

    def recorded(self, *args, columns=None, **options):
        asked.extend(columns)
        return iter_batches(self, *args, columns=columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", recorded)
    assert release.recognise(path) == "rubrics"
    assert release.read([path]).tables["questions"]["image"].to_list() == ["", "", "", "", None, None]
    assert "image.path" in asked
    assert "image.bytes" not in asked


def test_pictures_under_another_name_are_found_by_type(tmp_path):
    table = pa.Table.from_pylist([row()]).append_column("photo", pa.array([{"bytes": PNG, "path": "p.png"}], IMAGE))
    pq.write_table(table, tmp_path / "t.parquet")
    assert release.read([tmp_path / "t.parquet"]).tables["questions"]["image"].to_list() == ["p.png"]


def test_other_bytes_are_not_read_and_that_is_said(tmp_path):
    table = pa.Table.from_pylist([row()]).append_column("sound", pa.array([PNG]))
    pq.write_table(table, tmp_path / "t.parquet")
    found = release.read([tmp_path / "t.parquet"])
    assert uses(found)["sound"] == "not read, being bytes"
    assert "sound" not in (found.tables["questions"]["extra"][0] or "")


def test_pictures_in_json_leave_their_path(tmp_path):
    code = "iVBORw0KGgo" + "A" * 3000
    found = read_rows(
        tmp_path,
        row("q1", image={"bytes": code, "path": "a.png"}),
        row("q2", image=code, thumbnail=code),
        row("q3", image="data:image/png;base64,AAAA"),
        row("q4", image={"bytes": None, "path": None}),
        row("q5", image=["b.png", "c.png"]),
        row("q6", image=None),
    )
    assert found.tables["questions"]["image"].to_list() == ["a.png", "", "", None, "b.png", None]
    assert "AAAA" not in found.tables["questions"].write_json()
    assert uses(found)["thumbnail"] == "not read, being bytes"


def test_the_shared_case_of_pictures_without_rubrics_is_no_release(shared):
    assert release.recognise(shared / "cases" / "18-hf-image-column" / "questions.parquet") is None


# --- the variant


@pytest.mark.parametrize(
    ("name", "fields", "variant", "why"),
    [
        ("test_text_only-00000-of-00001.jsonl", {}, "text_only", "text-only: the file's name says so"),
        (
            "test-text-only.jsonl",
            {"image": "a.png"},
            "text_only",
            "text-only: the file's name says so, though it holds pictures",
        ),
        ("test-00000-of-00001.jsonl", {"image": "a.png"}, "multimodal", "multimodal: it holds pictures"),
        ("test.jsonl", {}, "text_only", "text-only: it holds no pictures"),
        ("test.jsonl", {"image": None}, "text_only", "text-only: it holds no pictures"),
        ("test.jsonl", {"image": {"bytes": None, "path": None}}, "text_only", "text-only: it holds no pictures"),
        ("test.jsonl", {"variant": "Multimodal"}, "multimodal", "the column variant tells the variant: multimodal"),
    ],
)
def test_the_variant_is_told_by_name_by_a_column_or_by_pictures(tmp_path, name, fields, variant, why):
    found = read_rows(tmp_path, row(**fields), name=name)
    assert found.tables["questions"]["variant"].to_list() == [variant]
    assert found.tables["checks"]["variant"].unique().to_list() == [variant]
    assert found.profiles[0].decisions[0] == why


def test_rows_of_both_variants_in_one_file_are_told_by_their_column(tmp_path):
    rows = [row("q1", variant=name) for name in ("multimodal", "text-only", None, "video")]
    found = read_rows(tmp_path, *rows, row("q2"))
    questions = found.tables["questions"].select("question_id", "variant").rows()
    assert questions == [("q1", "multimodal"), ("q1", "text_only"), ("q2", "text_only")]
    assert [(reject.row, reject.field, reject.value) for _, reject in found.rejects] == [
        (3, "session_id", "q1"),
        (4, "variant", "video"),
    ]


def test_a_column_that_contradicts_the_name_of_the_file_is_odd(tmp_path):
    found = read_rows(tmp_path, row(variant="multimodal"), name="test_text_only.jsonl")
    assert found.tables["questions"]["variant"].to_list() == ["text_only"]
    assert "rows name another variant than the file, and the file's counts" in oddities(found)


def test_two_files_of_one_variant_are_said_and_the_first_of_a_question_stands(tmp_path):
    first = write_lines(tmp_path / "a.jsonl", row("q1"), row("q2"))
    longer = rubric(Answer_Critical=[entry("x"), entry("y"), entry("z")])
    second = write_lines(tmp_path / "b.jsonl", row("q2", rubrics=longer), row("q3"))
    found = release.read([first, second])
    assert found.tables["questions"]["question_id"].to_list() == ["q1", "q2", "q3"]
    assert found.tables["checks"].filter(question_id="q2").height == 4
    assert [(source, reject.row, reject.value) for source, reject in found.rejects] == [(2, 1, "q2")]
    assert "row 2 of a.jsonl" in found.rejects[0][1].reason
    assert any(note.startswith("2 files hold text-only questions: a.jsonl, b.jsonl.") for note in found.notes)


def test_checks_that_the_text_only_rubric_leaves_out_name_the_subject(tmp_path):
    shown = write_lines(tmp_path / "test.jsonl", row(image="a.png"), row("q2", image="b.png"), row("q3", image="c.png"))
    without_name = rubric(Answer_Critical=[entry(COVERAGE)])
    reworded = rubric(Answer_Critical=[entry("Something else.")])
    told = write_lines(tmp_path / "test_text_only.jsonl", row(rubrics=without_name), row("q2", rubrics=reworded))
    found = release.read([shown, told])
    checks = found.tables["checks"].filter(variant="multimodal")
    assert checks.filter(is_identification="true").select("question_id", "check_id").rows() == [
        ("q1", "answer_critical/01")
    ]
    # Where the two rubrics differ otherwise, or one is not there, nothing is said.
    assert checks.filter(pl.col("question_id") != "q1")["is_identification"].null_count() == 8
    assert any(note.startswith("1 multimodal checks that the text-only rubric") for note in found.notes)


# --- the meta-rubric


@pytest.fixture(scope="module")
def meta():
    return load_rubrics([paths.sample() / "questions"])[0]


def flat(meta, variant):
    """A compiled rubric in the release's shape."""
    checks = compile_rubric(meta, variant)
    return {tier: [entry(check.text) for check in checks if check.tier == tier] for tier in TIERS}


@pytest.mark.parametrize("where", ["column", "rubric", "json", "yaml"])
def test_a_meta_rubric_of_our_shape_gives_items_and_true_roles(tmp_path, meta, where):
    told, compiled = to_data(meta), flat(meta, "multimodal")
    one = {"session_id": meta.question_id, "question": meta.question, "image": "a.png", "rubrics": compiled}
    if where == "rubric":
        compiled["Meta Rubric"] = told
    else:
        one["structured_rubric"] = {"column": told, "json": json.dumps(told), "yaml": to_yaml(meta)}[where]
    found = read_rows(tmp_path, one)
    assert found.tables["items"]["item_id"].to_list() == [item.id for item in meta.items]
    true = {(check.tier, check.text): check for check in compile_rubric(meta, "multimodal")}
    for check in found.tables["checks"].iter_rows(named=True):
        known = true[check["tier"], check["text"]]
        assert (check["role"], check["item_id"], check["role_inferred"]) == (known.role, known.item_id, "false")
    assert found.tables["questions"].select("entity", "domain").row(0) == (meta.entity, meta.domain)
    identifying = [check for check in true.values() if check.is_identification]
    assert found.tables["checks"].filter(is_identification="true").height == len(identifying)


def test_items_that_have_the_null_fields_of_all_types_are_read_from_parquet(tmp_path, meta):
    one = {"session_id": "x", "question": meta.question, "entity": meta.entity, "domain": meta.domain}
    items = [{name: value for name, value in item.items() if name != "citations"} for item in to_data(meta)["items"]]
    rows = [one | {"rubrics": flat(meta, "multimodal"), "meta_rubric": {"items": items}}]
    found = release.read([write_parquet(tmp_path / "test.parquet", rows)])
    assert found.tables["items"]["question_id"].to_list() == ["x"] * len(meta.items)
    assert uses(found)["meta_rubric"] == "-> items (read 1)"


def test_a_meta_rubric_of_another_shape_is_left_and_said(tmp_path):
    found = read_rows(tmp_path, row(meta_rubric={"list": ["a"]}), row("q2", meta_rubric="plain words"))
    assert found.tables["items"].height == 0
    assert json.loads(found.tables["questions"]["extra"][0])["meta_rubric"] == {"list": ["a"]}
    assert found.tables["checks"]["role"][1] == "baseline"
    said = found.profiles[0].decisions[-1]
    assert said.startswith("meta-rubrics not of our shape, kept in extra 2 (row 1: ")


# --- what is odd


def test_all_that_is_odd_is_counted_and_nothing_is_lost(tmp_path):
    checks = [
        entry("a", "s1", "s9"),
        entry("a"),
        {"Ingredient": " "},
        entry("Names at least 9 of the following: (1) x; (2) y."),
        7,
    ]
    found = read_rows(
        tmp_path,
        row("q1", rubrics=rubric(Answer_Critical=checks, Snippets=SNIPPETS * 2)),
        row("q2", rubrics=None),
        row("q3", rubrics={"Answer_Critical": [], "Valuable": None}),
        row("q1"),
        row(" "),
        row("q4", question=""),
        row("q5", rubrics={"Answer_Critical": [entry("a")], "Nice to have": [entry("b"), entry("c")]}),
        row("q6", rubrics="no rubric"),
        row("q7", rubrics={"Answer_Critical": "text", "Valuable": [entry("b")]}),
    )
    assert oddities(found) == {
        "citations name no snippet": (1, (1,)),
        "checks say the same as another of their tier": (1, (1,)),
        "checks have no text": (1, (1,)),
        "checks are neither objects nor text": (1, (1,)),
        "snippet ids stand twice in their question": (1, (1,)),
        "coverage checks write out a list that cannot be read": (1, (1,)),
        "rubrics are empty": (3, (2, 3, 8)),
        "question ids stand twice": (1, (4,)),
        "question ids are blank": (1, (5,)),
        "questions are blank": (1, (6,)),
        "tiers are unknown: 'Nice to have'": (1, (7,)),
    }
    assert [(reject.row, reject.field, reject.value) for _, reject in found.rejects] == [
        (4, "session_id", "q1"),
        (5, "session_id", None),
        (8, "rubrics", "no rubric"),
        (9, "Answer_Critical", "text"),
    ]
    # A tier that is not known is handed on under its own name, for the manifest's [tiers] or the list of rejects.
    handed_on = found.tables["checks"].filter(tier="Nice to have")
    assert handed_on["check_id"].to_list() == ["nice_to_have/01", "nice_to_have/02"]
    first = found.tables["checks"].filter(question_id="q1", tier=AC)
    assert first["text"].to_list() == ["a", "a", None, "Names at least 9 of the following: (1) x; (2) y.", "7"]
    assert first["role"].to_list() == ["fact", "fact", "fact", None, "fact"]


def test_a_bad_line_costs_only_itself(tmp_path):
    path = write_lines(tmp_path / "test.jsonl", row("q1"), row("q2"))
    path.write_text(path.read_text().replace("\n", "\n{broken\n", 1))
    found = release.read([path])
    assert found.tables["questions"].select("question_id", "row").rows() == [("q1", 1), ("q2", 3)]
    assert [(reject.row, reject.field) for _, reject in found.rejects] == [(2, "line")]
    assert found.sources[0].rows_read == 3


def test_the_profile_says_all_this_in_plain_text(tmp_path):
    found = read_rows(tmp_path, row(source="wiki", domain="Food"), row())
    assert str(found.profiles[0]).splitlines() == [
        "test.jsonl: 2 rows of rubrics",
        "  session_id  text    -> question_id",
        "  question    text    -> question",
        "  rubrics     object  -> checks",
        "  source      text    kept in extra",
        "  domain      text    -> domain",
        "  text-only: it holds no pictures",
        "  roles of 4 of 4 checks inferred from their wording",
        "  checks: 4 (answer_critical 2, valuable 2)",
        "  roles: bonus (inferred) 2, fact (inferred) 1, baseline (inferred) 1",
        "  odd: question ids stand twice: 1 (row 2)",
    ]
    assert found.notes[0] == (
        "test.jsonl: 2 rubrics; text-only: it holds no pictures; roles of 4 of 4 checks inferred from their wording. "
        "Read as: question_id = session_id, checks = rubrics. Kept in extra: source."
    )


HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "'; drop table checks; --",
    '{"Answer_Critical": []}',
    "[1, 2]",
    "{broken",
    "a\x00b",
    "\u202egnp.exe",
    "x" * 100_000,
    "=cmd|' /C calc'!A0",
    "{{7*7}} ${x}",
    "line\nbreak\r\nand\ttab",
]


def test_hostile_texts_are_kept_to_the_letter(tmp_path):
    rows = [row(f"q{n}", question=text, rubrics=rubric(Valuable=[entry(text)])) for n, text in enumerate(HOSTILE)]
    for path in (write_lines(tmp_path / "a.jsonl", *rows), write_parquet(tmp_path / "b.parquet", rows)):
        found = release.read([path])
        assert found.tables["questions"]["question"].to_list() == HOSTILE
        assert found.tables["checks"].filter(tier=V)["text"].to_list() == HOSTILE


def test_half_surrogates_and_nan_in_json_are_read(tmp_path):
    path = tmp_path / "t.jsonl"
    content = json.dumps(row(question="half \ud83d", weight=float("nan")))
    path.write_text(content, encoding="utf-8")
    question = release.read([path]).tables["questions"]
    assert question["question"].to_list() == ["half \ufffd"]
    assert question["extra"].str.contains("weight").to_list() == [False]


def test_columns_without_a_name_and_names_of_ours_in_odd_places_do_no_harm(tmp_path):
    found = read_rows(tmp_path, row(**{"": "nameless", "context": "prose", "check_id": "x"}))
    assert len(check_ids(found)) == 4
    extra = json.loads(found.tables["questions"]["extra"][0])
    assert (extra[""], extra["context"], extra["check_id"]) == ("nameless", "prose", "x")


# --- errors


@pytest.mark.parametrize(
    ("one", "needed", "has"),
    [
        ({"key": "q", "question": "?", "rubrics": rubric()}, "a question id (a column session_id or", "key, question"),
        ({"id": "q", "rubrics": rubric()}, "a question (a column `question`, or `Question` in the", "id, rubrics"),
        ({"rubrics": rubric()}, "a question id (a column session_id or question_id or id) and a question", "rubrics"),
        ({"id": "q", "question": "?"}, "A column `rubrics` with lists of checks under", "id, question"),
    ],
)
def test_a_file_that_lacks_what_is_needed_is_refused_with_what_it_has(tmp_path, one, needed, has):
    with pytest.raises(InputError) as error:
        read_rows(tmp_path, one)
    assert needed in str(error.value)
    assert f"the file has: {has}" in str(error.value)
    assert str(tmp_path / "test.jsonl") in str(error.value)


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    path = write_parquet(tmp_path / "t.parquet", [row()])
    path.write_bytes(path.read_bytes()[:-100])
    assert release.recognise(path) is None
    with pytest.raises(InputError, match="not a whole file"):
        release.read([path])
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(row()).encode())[:-20])
    with pytest.raises(InputError, match=r"t\.jsonl\.gz"):
        release.read([packed])


def test_a_file_that_is_not_there_is_refused(tmp_path):
    assert release.recognise(tmp_path / "none.jsonl") is None
    with pytest.raises(InputError, match="not readable"):
        release.read([tmp_path / "none.jsonl"])


# --- found by content


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (json.dumps(row()), "rubrics"),
        ("not json at all", None),
        ("", None),
        ("[]", None),
        ("[" * 100_000, None),
        (json.dumps({"id": "q", "question": "?", "context": ["prose"]}), None),
        (json.dumps({"question_id": "q", "check_id": "c", "verdict": "meets", "answer": "x"}), None),
        (json.dumps({"question_id": "q", "model": "m", "answer": "x", "verdicts": []}), None),
        (json.dumps({"id": "q", "response": "x"}), "answers"),
        (json.dumps({"Session ID": "q", "Prediction": "x"}), "answers"),
    ],
)
def test_files_are_told_by_content(tmp_path, content, kind):
    path = tmp_path / "verdicts-of-nothing.jsonl"
    path.write_text(content, encoding="utf-8")
    assert release.recognise(path) == kind


def test_a_first_record_longer_than_the_beginning_is_read_on(tmp_path):
    path = write_lines(tmp_path / "t.jsonl", row(question="answer " * 700_000))
    assert release.recognise(path) == "rubrics"


def test_all_files_of_a_folder_are_found_below_it_and_hidden_ones_left_out(tmp_path):
    for folder in ("data", ".cache", "answers"):
        (tmp_path / folder).mkdir()
    wanted = [
        write_lines(tmp_path / "answers" / "gpt-4o.jsonl", {"session_id": "q1", "response": "Jollof."}),
        write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", [row()]),
        write_lines(tmp_path / "unlikely name.json", row()),
    ]
    write_lines(tmp_path / ".cache" / "test.jsonl", row())
    write_lines(tmp_path / "verdicts.jsonl", {"question_id": "q", "check_id": "c", "verdict": "meets"})
    (tmp_path / "README.md").write_text("Answer_Critical")
    kinds = dict(zip(wanted, ("answers", "rubrics", "rubrics"), strict=True))
    assert release.find(tmp_path) == kinds
    assert release.find(tmp_path, but=wanted[1:]) == {}, "answers without a rubric are not the release's"


# --- answers


def answers_of(tmp_path, *rows, name="gpt-4.1.jsonl"):
    """The release that these answers to two text-only questions are."""
    questions = write_lines(tmp_path / "test_text_only.jsonl", row("q1"), row("q2"))
    return release.read([write_lines(tmp_path / name, *rows), questions], root=tmp_path)


@pytest.mark.parametrize("key", ["session_id", "question_id", "id"])
@pytest.mark.parametrize("answer", ["response", "answer", "prediction", "output"])
def test_answers_are_read_under_common_names(tmp_path, key, answer):
    found = answers_of(tmp_path, {key: "q1", answer: "Jollof.", "tokens": 3})
    one = found.tables["answers"].row(0, named=True)
    assert (one["question_id"], one["answer"], one["model"], one["variant"], one["row"]) == (
        "q1",
        "Jollof.",
        "gpt-4.1",
        "text_only",
        1,
    )
    assert json.loads(one["extra"]) == {"tokens": "3"}
    profile = next(profile for profile in found.profiles if profile.holds == "answers")
    assert profile.decisions[0] == "model: 'gpt-4.1', from the file's name"


def test_a_column_names_the_model_before_the_file_does(tmp_path):
    found = answers_of(tmp_path, {"id": "q1", "response": "a", "model": "m|1"}, {"id": "q2", "response": "b"})
    assert found.tables["answers"]["model"].to_list() == ["m|1", None]
    assert found.profiles[1].decisions[0] == "model: the column model"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("gpt-4.1.jsonl", "gpt-4.1"),
        ("gpt-4.1_text_only.jsonl", "gpt-4.1"),
        ("text-only.gpt-4.1.json", "gpt-4.1"),
        ("text_only.jsonl", "text_only"),
    ],
)
def test_the_name_of_a_file_tells_the_model_without_the_variant(tmp_path, name, model):
    assert answers_of(tmp_path, {"id": "q1", "response": "a"}, name=name).tables["answers"]["model"].to_list() == [
        model
    ]


def test_empty_answers_errors_and_answers_that_are_not_text_are_kept(tmp_path):
    found = answers_of(
        tmp_path,
        {"id": "q1", "response": "", "error": None},
        {"id": "q2", "response": None, "error": "timeout"},
        {"id": "q9", "response": {"text": "a"}, "error": ""},
    )
    rows = found.tables["answers"].select("question_id", "answer", "error").rows()
    assert rows == [("q1", "", None), ("q2", None, "timeout"), ("q9", '{"text": "a"}', None)]
    assert oddities(found, 1) == {
        "answers are to questions that are not here": (1, (3,)),
        "answers are JSON rather than prose": (1, (3,)),
    }


def test_the_variant_of_answers_is_told_by_column_name_or_questions(tmp_path):
    shown = write_lines(tmp_path / "test.jsonl", row("q1", image="a.png"), row("q3", image="b.png"))
    told = write_lines(tmp_path / "test_text_only.jsonl", row("q1"))
    files = {
        "a.jsonl": {"id": "q3", "response": "x"},
        "b.jsonl": {"id": "q1", "response": "x"},
        "b_text_only.jsonl": {"id": "q1", "response": "x"},
        "c.jsonl": {"id": "q1", "response": "x", "variant": "text_only"},
    }
    paths_ = [write_lines(tmp_path / name, one) for name, one in files.items()]
    found = release.read([shown, told, *paths_])
    assert found.tables["answers"].select("model", "variant").rows() == [
        ("a", "multimodal"),
        ("b", "multimodal"),
        ("b", "text_only"),
        ("c", "text_only"),
    ]
    assert [profile.decisions[1] for profile in found.profiles[2:]] == [
        "variant: multimodal, the only one of its questions here",
        "variant: multimodal, as the file's name does not say text_only",
        "variant: text-only, from the file's name",
        "variant: the column variant",
    ]


def test_answers_alone_are_read_without_a_variant(tmp_path):
    path = write_lines(tmp_path / "m.jsonl", {"id": "q1", "response": "x"})
    assert release.read([path]).tables["answers"]["variant"].to_list() == [None]


def test_a_file_that_answers_none_of_the_questions_is_left_and_said(tmp_path):
    found = answers_of(tmp_path, {"id": "other", "answer": "42"}, name="trivia.jsonl")
    assert found.tables["answers"].height == 0
    assert "trivia.jsonl: not read; it answers none of the questions that are here." in found.notes
    assert [source.file for source in found.sources] == ["test_text_only.jsonl"]


# --- the whole size


def test_the_whole_release_is_read(tmp_path):
    metas = load_rubrics([paths.sample() / "questions"])
    rubrics = [flat(meta, "multimodal") | {"Snippets": SNIPPETS} for meta in metas]
    rows = [
        {
            "session_id": str(uuid.UUID(int=number)),
            "question": f"What is number {number}?",
            "rubrics": rubrics[number % len(rubrics)],
            "image": {"bytes": PNG, "path": None},
        }
        for number in range(1813)
    ]
    path = write_parquet(tmp_path / "test-00000-of-00001.parquet", rows)
    found = release.read([path])
    assert found.tables["questions"].height == 1813
    assert found.tables["questions"]["variant"].unique().to_list() == ["multimodal"]
    assert found.tables["checks"].height == sum(len(tier) for one in rows for tier in list(one["rubrics"].values())[:3])
    assert found.tables["checks"].select("question_id", "check_id").is_unique().all()
    assert found.rejects == []


def test_inferred_roles_agree_with_the_true_ones_after_a_round_trip(tmp_path):
    # The sample, compiled and flattened into the release's shape: what one writes out or names is found again by its
    # words; elements of strict lists, aspects and insights read as facts.
    true, rows = {}, []
    for meta in load_rubrics([paths.sample() / "questions"]):
        for variant in variants(meta):
            one = {"session_id": meta.question_id, "question": "?", "variant": variant, "rubrics": flat(meta, variant)}
            rows.append(one)
            checks = compile_rubric(meta, variant)
            for tier in TIERS:
                of_tier = (check for check in checks if check.tier == tier)
                for place, check in enumerate(of_tier, 1):
                    true[variant, meta.question_id, f"{tier}/{place:02d}"] = check.role
    checks = read_rows(tmp_path, *rows).tables["checks"]
    keys = checks.select("variant", "question_id", "check_id").rows()
    pairs = pl.DataFrame({"true": [true[key] for key in keys], "found": checks["role"]})
    statements = ["list_item", "relationship", "insight"]
    expected = pl.when(pl.col("true").is_in(statements)).then(pl.lit("fact")).otherwise("true")
    agreement = pairs.group_by("true").agg((pl.col("found") == expected).mean().alias("share"))
    assert len(true) == checks.height
    assert agreement["share"].min() >= 0.98, agreement
    exact = (pairs["true"] == pairs["found"]).mean()
    assert exact >= 0.85


# --- in a folder


def test_a_folder_that_holds_a_download_is_imported(tmp_path):
    (tmp_path / "data").mkdir()
    write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", [row(image={"bytes": PNG, "path": "a.png"})])
    write_parquet(tmp_path / "data" / "test_text_only-00000-of-00001.parquet", [row()])
    write_lines(tmp_path / "m.jsonl", {"session_id": "q1", "response": "Jollof."})
    delivery = read_folder(tmp_path)
    assert delivery.dataset["benchmark"] == "gamut"
    assert delivery.tables["checks"].group_by("variant").len().sort("variant").rows() == [
        ("multimodal", 4),
        ("text_only", 4),
    ]
    assert delivery.tables["answers"].select("model", "variant").rows() == [("m", "multimodal")]
    assert delivery.notes[0].startswith("data/test-00000-of-00001.parquet: 1 rubrics; multimodal: it holds pictures")
    assert [path.name for path in inputs(tmp_path)] == [
        "test-00000-of-00001.parquet",
        "test_text_only-00000-of-00001.parquet",
        "m.jsonl",
    ]
    built = tables.build(delivery, tmp_path / "x.duckdb")
    assert (built.rows["checks"], built.rows["questions"], built.rejected) == (8, 2, 0)
    checks = tables.read(tmp_path / "x.duckdb", "checks").filter(role="baseline", variant="multimodal")
    assert checks["members"].to_list() == [["Tomatoes", "Onions"]]


def test_rubrics_under_the_name_of_a_table_are_still_rubrics_and_named_answers_are_read_by_name(tmp_path):
    write_lines(tmp_path / "questions.jsonl", row())
    write_lines(tmp_path / "answers.jsonl", {"question_id": "q1", "model": "m", "answer": "Jollof."})
    delivery = read_folder(tmp_path)
    assert delivery.tables["checks"].height == 4
    assert [(source.file, source.table_name) for source in delivery.sources] == [
        ("answers.jsonl", "answers"),
        ("questions.jsonl", "checks"),
    ]
