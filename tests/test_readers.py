"""The doors: every format, whole and broken, comes in as text with its line, or is listed, or is an error by name."""

import gzip
import io
import json
import os
import random
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from delivered import built, check, put, relation, verdict
from hypothesis import given, settings
from hypothesis import strategies as st

from gamut_analysis import tables
from gamut_analysis.errors import GamutError, InputError, ManifestError
from gamut_analysis.readers import delimited, jsonl, manifest, parquet
from gamut_analysis.readers import json as json_reader
from gamut_analysis.readers.compressed import read_bytes, read_utf8
from gamut_analysis.readers.delivery import as_text
from gamut_analysis.readers.folder import inputs, read_folder

LINES = b'{"a": "1"}\n{"a": "2"}\n'


def columns(rows) -> dict[str, list]:
    return rows.frame.to_dict(as_series=False)


def lines(*records: dict) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


# --- packed files ------------------------------------------------------------------------------------------------


def zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


SKIPPED_FRAME = b"\x50\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("two members.gz", gzip.compress(b"ab", mtime=0) + gzip.compress(b"c", mtime=0)),
        ("padded.gz", gzip.compress(b"abc", mtime=0) + b"\0" * 20),
        ("two frames.zst", zst(b"ab") + zst(b"c")),
        ("frame to skip first.zst", SKIPPED_FRAME + zst(b"abc")),
        ("frame to skip last.zst", zst(b"abc") + SKIPPED_FRAME),
        ("plain called.gz", b"abc"),
        ("packed called.jsonl", gzip.compress(b"abc", mtime=0)),
    ],
)
def test_packed_files_are_unpacked_whole_by_what_they_hold(tmp_path, name, content):
    assert read_bytes(put(tmp_path, name, content)) == b"abc"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(b"abc" * 100, mtime=0)[:-9], "the gzip file is cut off"),
        (gzip.compress(b"abc", mtime=0)[:5], "the gzip file is cut off"),
        (gzip.compress(b"abc", mtime=0) + gzip.compress(b"d", mtime=0)[:7], "the gzip file is cut off"),
        (gzip.compress(b"abc", mtime=0) + b"more", "the gzip file is damaged"),
        (zst(b"abc" * 100)[:-3], "the zstd file is cut off"),
        (zst(b"abc") + zst(b"d")[:6], "the zstd file is cut off"),
        (zst(b"abc") + b"more", "the zstd file is damaged"),
        (b"", "the file is empty"),
    ],
)
def test_a_packed_file_that_is_not_whole_is_an_error_by_name(tmp_path, content, words):
    name = "verdicts.jsonl.gz"
    with pytest.raises(InputError, match=rf"{name}: {words}"):
        read_bytes(put(tmp_path, name, content))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_marks_of_encoding_are_read_and_removed(tmp_path, encoding):
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    path = put(tmp_path, "x.csv", mark + "näive,😀\n".encode(encoding))
    assert read_utf8(path).decode() == "näive,😀\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfea", "starts as UTF-16 but is not"), ("model".encode("utf-16-le"), "not text in UTF-8")],
)
def test_other_encodings_are_an_error_by_name(tmp_path, content, words):
    with pytest.raises(InputError, match=rf"x\.csv: {words}"):
        read_utf8(put(tmp_path, "x.csv", content))


# --- JSON lines --------------------------------------------------------------------------------------------------


def test_lines_keep_their_numbers_across_blank_lines_and_crlf(tmp_path):
    rows = jsonl.read(put(tmp_path, "x.jsonl", b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \n{"a": 2}'))
    assert columns(rows) == {"a": ["1", "2"]}
    assert rows.numbers.to_list() == [1, 4]
    assert rows.rows_read == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"a": "cut', "not valid JSON"),
        (b'{"a": 1} {"a": 2}', "not valid JSON"),
        (b'{"a": 1}{"b": 2}', "not valid JSON"),
        (b"{'a': 1}", "not valid JSON"),
        (b'{"a": "\xff"}', "not valid JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b"[1, 2]", "a JSON object is needed"),
        (b'"text"', "a JSON object is needed"),
        (b"null", "a JSON object is needed"),
        (b"\x00", "not valid JSON"),
    ],
)
def test_a_bad_line_costs_only_itself(line, words):
    rows = jsonl.read_lines(b'{"a": "1"}\n' + line + b'\n{"a": "2"}\n')
    assert columns(rows) == {"a": ["1", "2"]}
    assert rows.numbers.to_list() == [1, 3]
    assert rows.rows_read == 3
    (reject,) = rows.rejects
    assert (reject.row, reject.field) == (2, "line")
    assert words in reject.reason
    assert len(reject.value) <= 121


def test_values_become_text_by_one_rule():
    values = [1, 1.0, -0.0, 1.5, "01", " x ", True, None, 10**30, 1e22, float("nan"), float("inf"), [1, float("nan")]]
    rows = jsonl.read_lines(b"".join(b'{"a": ' + json.dumps(value).encode() + b"}\n" for value in values))
    texts = ["1", "1", "0", "1.5", "01", " x ", "true", None, str(10**30), "1e+22", None, None, "[1, null]"]
    assert columns(rows) == {"a": texts}
    assert [as_text(value) for value in values] == texts


def test_half_a_surrogate_pair_is_marked_and_a_whole_one_is_read():
    rows = jsonl.read_lines(b'{"a": "x\\ud800y"}\n{"a": "\\ud83d\\ude00"}\n{"a": "nul\\u0000"}\n')
    assert columns(rows) == {"a": ["x\ufffdy", "😀", "nul\x00"]}


def test_fields_of_any_name_are_kept_even_ours():
    rows = jsonl.read_lines(lines({"row": 7, "source_id": 8, "extra": 9, "": 1, "class": 2, "a b": 3}))
    assert columns(rows) == {"row": ["7"], "source_id": ["8"], "extra": ["9"], "": ["1"], "class": ["2"], "a b": ["3"]}
    assert rows.numbers.to_list() == [1]


def test_a_field_that_first_appears_late_and_a_type_that_changes_late_are_kept(monkeypatch):
    monkeypatch.setattr(jsonl, "CHUNK", 7)
    records = [{"id": i, "value": 1} for i in range(20)] + [{"id": "3b", "value": 1.5, "why": "late"}, {"value": True}]
    rows = jsonl.read_lines(lines(*records))
    assert rows.frame["id"].to_list() == [str(i) for i in range(20)] + ["3b", None]
    assert rows.frame["value"].to_list() == ["1"] * 20 + ["1.5", "true"]
    assert rows.frame["why"].to_list() == [None] * 20 + ["late", None]
    assert rows.numbers.to_list() == list(range(1, 23))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
records = st.lists(st.dictionaries(st.sampled_from(["a", "b", "row", "", "é"]), json_values, min_size=1), max_size=12)


@settings(deadline=None, max_examples=60)
@given(records)
def test_lines_and_documents_of_any_records_read_alike(content):
    whole = jsonl.read_lines(lines(*content))
    names = list(dict.fromkeys(name for record in content for name in record))
    expected = {name: [as_text(json.loads(json.dumps(record.get(name)))) for record in content] for name in names}
    assert {name: columns(whole).get(name) for name in names} == expected
    assert whole.rejects == ()


# --- JSON documents ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'[{"a": "1"}, {"a": "2"}]', ["1", "2"]),
        (b'\xef\xbb\xbf[\r\n {"a": 1},\r\n {"a": NaN}\r\n]', ["1", None]),
        (b'{"rows": [{"a": "1"}, {"a": "2"}]}', ["1", "2"]),
        (b'{"a": "1"}', ["1"]),
        (LINES, ["1", "2"]),
    ],
)
def test_documents_of_every_shape_are_read(tmp_path, content, expected):
    assert columns(json_reader.read(put(tmp_path, "x.json", content))) == {"a": expected}


def test_members_that_are_no_records_are_listed_by_place(tmp_path):
    rows = json_reader.read(put(tmp_path, "x.json", b'[{"a": 1}, 5, null, {"a": 2}]'))
    assert columns(rows) == {"a": ["1", "2"]}
    assert rows.numbers.to_list() == [1, 4]
    assert [reject.row for reject in rows.rejects] == [2, 3]
    assert rows.rows_read == 4


@pytest.mark.parametrize(
    "content",
    [
        b'[\n{"a": 1},\n{"a": 2}\n',  # cut
        b'[\n{"a": 1},\n{"a": }\n]',
        b'{"rows": [{"a": 1}',
        b"5",
        b'"text"',
        b"",
        b"[" * 100_000,
    ],
)
def test_a_document_that_is_not_whole_is_an_error_by_name(tmp_path, content):
    with pytest.raises(InputError, match=r"x\.json: "):
        json_reader.read(put(tmp_path, "x.json", content))


# --- CSV and TSV -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n3,4\n",
        b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n3,4",
        b"a;b\n1;2\n3;4\n",
        b"a\tb\n1\t2\n3\t4\n",
        b"\n\na,b\n1,2\n3,4\n",
        b"a,b\r1,2\r3,4\r",
        "a,b\n1,2\n3,4\n".encode("utf-16"),
        b' a , b \n1,2\n"3","4"\n',
    ],
)
def test_every_usual_dress_of_a_table_is_read(tmp_path, content):
    assert columns(delimited.read(put(tmp_path, "x.csv", content))) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_fields_stay_text_to_the_letter(tmp_path):
    rows = delimited.read(put(tmp_path, "x.csv", b'id,why\n007,nan\n1e5,None\n2026-07-01,"a, ""b""\nc"\n,NULL\n'))
    assert columns(rows) == {"id": ["007", "1e5", "2026-07-01", ""], "why": ["nan", "None", 'a, "b"\nc', "NULL"]}
    assert rows.numbers.to_list() == [2, 3, 4, 6]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"1", "1 fields, and the head names 2"),
        (b"1,2,3", "3 fields, and the head names 2"),
        (b'1,"open', "is a quote left open?"),
        (b'1,"open"x', "is a quote left open?"),
        (b'"1,2', "is a quote left open?"),
    ],
)
def test_a_line_that_breaks_the_form_costs_only_itself(tmp_path, line, words):
    rows = delimited.read(put(tmp_path, "x.csv", b"a,b\n1,2\n" + line + b'\n3,4\n5,"6"\n'))
    assert columns(rows) == {"a": ["1", "3", "5"], "b": ["2", "4", "6"]}
    assert rows.numbers.to_list() == [2, 4, 5]
    assert rows.rows_read == 4
    (reject,) = rows.rejects
    assert (reject.row, reject.value) == (3, line.decode())
    assert words in reject.reason


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty; a head with column names is needed"),
        (b"\n\n", "empty; a head with column names is needed"),
        (b"a,b,a\n1,2,3\n", r"x\.csv:1: the column 'a' stands twice"),
        (b'"a,b\n1,2\n', r"x\.csv:1: the head is not readable"),
        (b"a,b\n1,2\n\xff,3\n", r"x\.csv:3: not UTF-8"),
    ],
)
def test_a_table_without_a_sound_head_or_encoding_is_an_error_by_name(tmp_path, content, words):
    with pytest.raises(InputError, match=words):
        delimited.read(put(tmp_path, "x.csv", content))


def test_many_broken_lines_take_no_more_than_their_share(tmp_path):
    good, bad = b"1,2\n", b"1,2,3\n"
    rows = delimited.read(put(tmp_path, "x.csv", b"a,b\n" + (good + bad) * 20_000))
    assert rows.frame.height == len(rows.rejects) == 20_000


cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=8)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(cells, cells, cells), max_size=8), st.sampled_from(",;\t"))
def test_what_csv_writes_is_read_back(tmp_path_factory, content, delimiter):
    import csv

    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("a", "b", "c"), *content])
    path = put(tmp_path_factory.mktemp("csv"), "x.csv", buffer.getvalue())
    rows = delimited.read(path)
    assert list(zip(*columns(rows).values(), strict=True)) == content
    assert rows.rejects == ()


# --- Parquet -----------------------------------------------------------------------------------------------------


def test_columns_of_every_type_become_text(tmp_path):
    instant = datetime(2026, 7, 1, 9, 15, tzinfo=UTC)
    table = pa.table(
        {
            "id": pa.array([1.0, float("nan"), 2.5]),
            "n": pa.array([1, None, 3], pa.int8()),
            "big": pa.array([2**63, 1, None], pa.uint64()),
            "flag": pa.array([True, None, False]),
            "word": pa.array(["a", None, "b"]).dictionary_encode(),
            "none": pa.nulls(3),
            "day": pa.array([date(2026, 7, 1), None, None]),
            "at": pa.array([instant, None, None], pa.timestamp("us", tz="UTC")),
            "money": pa.array([Decimal("2.00"), Decimal("2.50"), None], pa.decimal128(10, 2)),
            "list": pa.array([[1, None], [], None]),
            "deep": pa.array([[{"a": 'é"', "b": float("nan")}], None, []]),
            "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
            "wait": pa.array([1, None, 2], pa.duration("s")),
            "text": pa.array([b"bytes", None, b"that are text"], pa.binary()),
            "blob": pa.array([b"\xff\xfe", None, b""], pa.binary()),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    rows = parquet.read(tmp_path / "x.parquet")
    assert columns(rows) == {
        "id": ["1", None, "2.5"],
        "n": ["1", None, "3"],
        "big": [str(2**63), "1", None],
        "flag": ["true", None, "false"],
        "word": ["a", None, "b"],
        "none": [None] * 3,
        "day": ["2026-07-01", None, None],
        "at": ["2026-07-01T09:15:00.000000+00:00", None, None],
        "money": ["2", "2.50", None],
        "list": ["[1,null]", "[]", None],
        "deep": ['[{"a":"\u00e9\\"","b":null}]', None, "[]"],
        "map": ['{"k": 1}', None, "{}"],
        "wait": ['"0:00:01"', None, '"0:00:02"'],
        "text": ["bytes", None, "that are text"],
    }
    assert rows.numbers.to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-4],
        lambda whole: whole[:4],
        lambda whole: b"",
        lambda whole: b"model,judge\n1,2\n",
        lambda whole: whole[: len(whole) // 2] + whole[len(whole) // 2 + 50 :],
    ],
)
def test_a_parquet_file_that_is_not_whole_is_an_error_by_name(tmp_path, damage):
    whole = put(tmp_path, "whole.parquet", [{"model": f"m{i}", "x": i} for i in range(1000)]).read_bytes()
    with pytest.raises(InputError, match=r"x\.parquet: not a whole Parquet file"):
        parquet.read(put(tmp_path, "x.parquet", damage(whole)))


def test_names_of_files_are_no_patterns_and_no_partitions(tmp_path):
    path = put(tmp_path, "model=x [1]/a*b?.parquet", [{"a": "1"}])
    put(tmp_path, "model=x [1]/aXbY.parquet", [{"a": "2"}])
    assert columns(parquet.read(path)) == {"a": ["1"]}


def test_packed_parquet_is_read(tmp_path):
    whole = put(tmp_path, "x.parquet", [{"a": "1"}]).read_bytes()
    assert columns(parquet.read(put(tmp_path, "x.parquet.gz", gzip.compress(whole, mtime=0)))) == {"a": ["1"]}


def test_pictures_leave_their_path_and_nothing_else(tmp_path):
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    one = pa.array([{"bytes": b"\x89PNG", "path": "a.png"}, {"bytes": b"\x89PNG", "path": None}, None], kind)
    pq.write_table(
        pa.table({"image": one, "images": pa.array([[one[0].as_py()], [], None], pa.list_(kind))}),
        tmp_path / "x.parquet",
    )
    rows = parquet.read(tmp_path / "x.parquet")
    assert columns(rows) == {"image": ["a.png", "", None], "images": ["a.png", None, None]}


# --- a folder: which file holds what -----------------------------------------------------------------------------


def test_files_are_found_by_name_in_any_format_and_case(tmp_path):
    names = [
        "verdicts.jsonl",
        "verdicts-2.csv",
        "VERDICTS_3.JSON",
        "verdicts.4.tsv",
        "verdicts/part 5.parquet",
        "verdicts 6.ndjson",
    ]
    for number, name in enumerate(names):
        if name.endswith("tsv"):
            put(tmp_path, name, "model\tjudge\tquestion_id\tcheck_id\tverdict\nalpha\tjudge-a\tq3\tc1\tmeets\n")
        elif name.endswith(("JSON", "ndjson")):
            put(tmp_path, name, lines(verdict(question_id=f"q{number}")))
        else:
            put(tmp_path, name, [verdict(question_id=f"q{number}")])
    delivery = read_folder(tmp_path)
    assert sorted(delivery.tables["verdicts"]["question_id"]) == [f"q{i}" for i in range(6)]
    assert {source.reader for source in delivery.sources} == {"jsonl", "csv", "json", "tsv", "parquet"}


def test_other_files_are_left_alone_and_named(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict()])
    for name in ("README.md", "notes.csv", ".~lock.verdicts.csv", "._verdicts.jsonl", "verdicts.xlsx"):
        put(tmp_path, name, b"\x00junk")
    put(tmp_path, "verdicts/._part.jsonl", b"\x00junk")
    put(tmp_path, ".cache/verdicts.jsonl", b"\x00junk")
    delivery = read_folder(tmp_path)
    assert [source.file for source in delivery.sources] == ["verdicts.jsonl"]
    assert delivery.unused == ["README.md", "notes.csv", "verdicts.xlsx"]


@pytest.mark.parametrize("files", [[], ["notes.txt", "answers.jsonl"]])
def test_a_folder_without_verdicts_says_what_it_holds_and_what_is_needed(tmp_path, files):
    for name in files:
        put(tmp_path, name, b"{}")
    with pytest.raises(InputError, match=r"no verdicts here.*`verdicts\.\*`.*gamut\.toml") as error:
        read_folder(tmp_path)
    assert all(name in str(error.value) for name in files or ["nothing"])


def test_no_folder_is_an_error_by_name(tmp_path):
    with pytest.raises(InputError, match="there is no such folder"):
        read_folder(tmp_path / "absent")
    with pytest.raises(InputError, match="a file; a folder is needed"):
        read_folder(put(tmp_path, "verdicts.jsonl", [verdict()]))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"junk\nmore junk\n", b"PK\x03\x04zip"])
def test_files_that_hold_no_row_are_an_error_and_never_an_empty_success(tmp_path, content):
    put(tmp_path, "verdicts.jsonl", content)
    with pytest.raises(InputError, match=r"not one row of verdicts that can be read in verdicts\.jsonl"):
        read_folder(tmp_path)


def test_an_empty_shard_beside_full_ones_is_no_harm(tmp_path):
    put(tmp_path, "verdicts-0.jsonl", b"")
    put(tmp_path, "verdicts-1.csv", "model,judge,question_id,check_id,verdict\n")
    put(tmp_path, "verdicts-2.jsonl", [verdict()])
    assert relation(tmp_path, "verdicts").height == 1


def test_parquet_under_another_name_is_read_as_what_it_is(tmp_path):
    put(tmp_path, "verdicts.csv", put(tmp_path, "x.parquet", [verdict()]).read_bytes())
    (tmp_path / "x.parquet").unlink()
    assert [source.reader for source in read_folder(tmp_path).sources] == ["parquet"]


@pytest.mark.parametrize("missing", ["model", "judge", "question_id", "check_id", "verdict"])
def test_a_file_without_a_needed_column_says_which_and_what_it_has(tmp_path, missing):
    row = verdict()
    del row[missing]
    put(tmp_path, "verdicts.jsonl", [row | {"grade": "meets"}])
    with pytest.raises(InputError, match=rf"need a column {missing}.*the file has: .*grade.*gamut\.toml"):
        read_folder(tmp_path)


def test_names_of_columns_may_differ_in_case_and_joints_and_it_is_told(tmp_path):
    put(tmp_path, "verdicts.csv", "Model,JUDGE,Question ID,check-id,Label\nalpha,judge-a,q1,c1,Meets\n")
    (source,) = read_folder(tmp_path).sources
    assert (
        source.columns
        == "model = Model, judge = JUDGE, question_id = Question ID, check_id = check-id, verdict = Label"
    )
    assert relation(tmp_path, "verdicts")["verdict"].to_list() == ["meets"]


def test_two_columns_that_could_be_one_field_are_an_error_and_the_exact_name_wins(tmp_path):
    put(tmp_path, "verdicts.csv", "Model,MODEL,judge,question_id,check_id,verdict\na,b,j,q,c,meets\n")
    with pytest.raises(InputError, match=r"'Model', 'MODEL' could all be verdicts\.model"):
        read_folder(tmp_path)
    put(tmp_path, "verdicts.csv", "Model,model,judge,question_id,check_id,verdict\na,b,j,q,c,meets\n")
    assert relation(tmp_path, "verdicts").select("model", "extra").rows() == [("b", '{"Model":"a"}')]


def test_a_link_a_read_only_folder_and_a_strange_path_are_read(tmp_path):
    real = put(tmp_path, "elsewhere/rows.jsonl", [verdict()])
    folder = tmp_path / "data [v1] *'\" #é"
    folder.mkdir()
    (folder / "verdicts.jsonl").symlink_to(real)
    folder.chmod(0o555)
    try:
        assert relation(folder, "verdicts").height == 1
    finally:
        folder.chmod(0o755)


def test_a_link_to_nothing_is_not_a_file(tmp_path):
    (tmp_path / "verdicts.jsonl").symlink_to(tmp_path / "absent")
    with pytest.raises(InputError, match="no verdicts here"):
        read_folder(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_an_error_by_name(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict()]).chmod(0)
    with pytest.raises(InputError, match=r"verdicts\.jsonl: not readable"):
        read_folder(tmp_path)


# --- what the rows say -------------------------------------------------------------------------------------------


def test_ids_are_text_and_numbers_join_their_text(tmp_path):
    ids = ["01", "1", "007", "1e5", "2026-07-01", "8c13977967504aca82806d447c97c2bb"]
    put(tmp_path, "checks.jsonl", [check(check_id=i) for i in ids])
    put(tmp_path, "verdicts.jsonl", [verdict(check_id=i) for i in ["01", 1, "007", "1e5", "2026-07-01", ids[5]]])
    assert sorted(relation(tmp_path, "verdicts")["check_id"]) == sorted(ids)


def test_ids_from_parquet_numbers_and_dates_join_their_text(tmp_path):
    put(tmp_path, "checks.csv", "question_id,check_id,tier\n2026-07-01,1,context\n2026-07-01,2,context\n")
    put(tmp_path, "verdicts.parquet", [verdict(question_id=date(2026, 7, 1), check_id=float(i)) for i in (1, 2)])
    assert relation(tmp_path, "coverage")["checks_graded"].to_list() == [2]


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "\u3000", "\ufeff", "\u200b", "\n"])
def test_blanks_around_ids_are_dropped(tmp_path, blank):
    put(tmp_path, "checks.jsonl", [check(question_id=f"q1{blank}", check_id=f"{blank}c1{blank}")])
    put(tmp_path, "verdicts.jsonl", [verdict(question_id=f"{blank}q1", check_id=f"c1{blank}{blank}")])
    assert relation(tmp_path, "verdicts").select("question_id", "check_id").rows() == [("q1", "c1")]


def test_names_are_kept_to_the_letter(tmp_path):
    names = [
        " 5",
        "5",
        "nan",
        "None",
        "null",
        "True",
        "1e5",
        "４",
        "cafe\u0301",
        "café",
        "x" * 300,
        "a\nb",
        "<b>&",
        "a'; drop",
    ]
    put(tmp_path, "verdicts.jsonl", [verdict(model=name) for name in names])
    put(tmp_path, "verdicts.csv", [verdict(model=name, judge="judge-b") for name in names])
    database = built(tmp_path)
    assert sorted(tables.read(database, "models")["model"]) == sorted(names)
    counts = tables.read(database, "verdict_counts")
    assert sorted(counts.filter(judge="judge-a")["model"]) == sorted(counts.filter(judge="judge-b")["model"])


def test_names_that_look_alike_stay_apart_and_are_listed(tmp_path):
    names = ["cafe\u0301", "café", "Café ", "other"]
    put(tmp_path, "verdicts.jsonl", [verdict(model=name) for name in names] + [verdict(check_id="C1")])
    found = tables.describe(built(tmp_path))["lookalikes"]
    assert found.select("kind", "within").rows() == [("check", "q1"), ("model", "")]
    assert sorted(found["names"][1]) == sorted(names[:3])


def test_long_text_and_text_with_nul_survive(tmp_path):
    long = "é" * 100_000
    put(tmp_path, "verdicts.jsonl", [verdict(rationale=long), verdict(check_id="c2", rationale="a\x00b")])
    assert relation(tmp_path, "verdicts")["rationale"].to_list() == [long, "a\x00b"]


def test_fields_without_a_name_of_ours_are_kept_as_json(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict(confidence=0.5, notes={"a": [1, None]}, row=3, source_id="x")])
    (extra,) = relation(tmp_path, "verdicts")["extra"]
    assert json.loads(extra) == {"confidence": "0.5", "notes": '{"a": [1, null]}', "row": "3", "source_id": "x"}


@pytest.mark.parametrize("field", ["model", "judge", "question_id", "check_id"])
@pytest.mark.parametrize("blank", [None, "", "  ", "\u200b"])
def test_a_blank_needed_value_is_a_reject_with_its_line(tmp_path, field, blank):
    put(tmp_path, "verdicts.jsonl", [verdict(), verdict(**{field: blank})])
    rejects = relation(tmp_path, "rejects")
    assert rejects.rows() == [("verdicts.jsonl", 2, field, None, f"blank: every verdict needs a {field}")]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "json", "parquet"])
@pytest.mark.parametrize(
    ("fields", "field", "value", "words"),
    [
        ({"variant": "video"}, "variant", "video", "unknown variant"),
        ({"verdict": "met"}, "verdict", "met", "unknown label"),
        ({"check_id": "c9"}, "check_id", "q1 / c9", "extra: the rubric of this question has no such check"),
        ({"question_id": "q9"}, "check_id", "q9 / c2", "extra"),
        ({"replicate": "1.5"}, "replicate", "1.5", "a whole number from 0 to 9999"),
        ({"replicate": "-1"}, "replicate", "-1", "a whole number from 0 to 9999"),
        ({"judged_at": "yesterday"}, "judged_at", "yesterday", "not a time"),
        ({"judged_at": "infinity"}, "judged_at", "infinity", "not a time"),
        ({"judged_at": "2026-02-30T00:00:00Z"}, "judged_at", "2026-02-30T00:00:00Z", "not a time"),
        ({"tier": "context"}, "tier", "context", "not the tier that the rubric gives"),
        ({"error": "429"}, "verdict", "meets", "a verdict beside an error"),
    ],
)
def test_a_value_that_cannot_be_used_is_listed_with_file_line_and_field(tmp_path, suffix, fields, field, value, words):
    put(tmp_path, "checks.jsonl", [check(), check(check_id="c2")])
    put(tmp_path, f"verdicts.{suffix}", [dict.fromkeys(fields) | verdict(), verdict(check_id="c2") | fields])
    (found,) = tables.read(built(tmp_path), "rejects").rows(named=True)
    line = 3 if suffix == "csv" else 2
    assert (found["file"], found["row"], found["field"], found["value"]) == (f"verdicts.{suffix}", line, field, value)
    assert words in found["reason"]


@pytest.mark.parametrize("nothing", ["false", "None", "null", "NaN", "0", "[]", "", None, False])
def test_an_error_that_says_there_is_none_is_none(tmp_path, nothing):
    put(tmp_path, "verdicts.jsonl", [verdict(error=nothing)])
    assert relation(tmp_path, "verdicts").select("verdict", "ungraded_reason").rows() == [("meets", None)]


@pytest.mark.parametrize(
    ("given", "instant"),
    [
        ("2026-07-01T10:30:00+02:00", datetime(2026, 7, 1, 8, 30, tzinfo=UTC)),
        ("2026-07-01T08:30:00Z", datetime(2026, 7, 1, 8, 30, tzinfo=UTC)),
        ("2026-07-01 08:30", datetime(2026, 7, 1, 8, 30, tzinfo=UTC)),
        ("2026-07-01", datetime(2026, 7, 1, tzinfo=UTC)),
        (1782894600, datetime(2026, 7, 1, 8, 30, tzinfo=UTC)),
        (1782894600.5, datetime(2026, 7, 1, 8, 30, 0, 500_000, tzinfo=UTC)),
        (1782894600000, datetime(2026, 7, 1, 8, 30, tzinfo=UTC)),
    ],
)
def test_times_are_read_as_instants(tmp_path, given, instant):
    put(tmp_path, "verdicts.jsonl", [verdict(judged_at=given)])
    assert relation(tmp_path, "verdicts")["judged_at"].to_list() == [instant]


def test_times_and_numbers_of_parquet_are_read(tmp_path):
    moments = [datetime(2026, 7, 1, 8, 30), datetime(2026, 7, 1, 9, 30)]
    put(tmp_path, "verdicts-1.parquet", [verdict(judged_at=moments[0], replicate=1)])
    zoned = pl.DataFrame([verdict(judged_at=moments[1], replicate=2.0)]).with_columns(
        pl.col("judged_at").dt.replace_time_zone("Europe/Berlin")
    )
    zoned.write_parquet(tmp_path / "verdicts-2.parquet")
    found = relation(tmp_path, "verdicts").select("replicate", pl.col("judged_at").dt.strftime("%H:%M")).rows()
    assert found == [(1, "08:30"), (2, "07:30")]


def test_verdicts_that_fit_no_rubric_at_all_are_an_error_and_no_empty_success(tmp_path):
    put(tmp_path, "checks.jsonl", [check(question_id="question-1")])
    put(tmp_path, "verdicts.jsonl", [verdict(), verdict(check_id="c2")])
    with pytest.raises(
        InputError, match=r"not one of the 2 delivered verdicts .* verdicts\.jsonl:1: .*'q1 / c1'.*extra"
    ):
        built(tmp_path)


def test_a_check_with_a_bad_tier_or_a_second_meaning_is_listed(tmp_path):
    rows = [
        check(),
        check(),
        check(tier="context"),
        check(check_id="c2", tier="Vital"),
        check(check_id="c3", tier=None),
    ]
    rows += [check(check_id="c4", role="riddle", item_type="riddle", position="first", is_identification="maybe")]
    put(tmp_path, "checks.jsonl", rows)
    put(tmp_path, "verdicts.jsonl", [verdict()])
    database = built(tmp_path)
    assert tables.read(database, "checks")["check_id"].to_list() == ["c1", "c4"]
    found = tables.read(database, "rejects").select("row", "field", "value").rows()
    assert found == [
        (3, "check_id", "c1"),
        (4, "tier", "Vital"),
        (5, "tier", None),
        (6, "is_identification", "maybe"),
        (6, "item_type", "riddle"),
        (6, "position", "first"),
        (6, "role", "riddle"),
    ]
    kept = (
        tables.read(database, "sources").filter(table_name="checks").select("rows_read", "rows_kept", "rows_rejected")
    )
    assert kept.rows() == [(6, 2, 4)]


def test_questions_answers_and_items_that_contradict_each_other_are_listed(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict()])
    put(tmp_path, "questions.csv", "id,domain,question\nq1,food,What?\nq1,food,What?\nq1,art,Who?\n,food,Where?\n")
    answers = [{"model": "alpha", "id": "q1", "answer": text} for text in ("one", "one", "two")]
    put(tmp_path, "answers.jsonl", [*answers, {"model": "", "id": "q1", "answer": "x"}])
    item = {"question_id": "q1", "item_id": "i1", "item_type": "process", "tier": "context"}
    put(
        tmp_path,
        "items.jsonl",
        [item, item, item | {"tier": "valuable"}, item | {"item_type": "poem"}, item | {"cap": 1.5}],
    )
    found = relation(tmp_path, "rejects").select("file", "row", "field", "value").rows()
    assert found == [
        ("answers.jsonl", 3, "answer", "two"),
        ("answers.jsonl", 4, "model", None),
        ("items.jsonl", 3, "item_id", "i1"),
        ("items.jsonl", 4, "item_type", "poem"),
        ("items.jsonl", 5, "cap", "1.5"),
        ("questions.csv", 4, "question_id", "q1"),
        ("questions.csv", 5, "question_id", None),
    ]


def test_a_later_answer_and_one_that_could_be_had_stand(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict()])
    rows = [
        {"model": "alpha", "question_id": "q1", "answer": "later", "answered_at": "2026-07-02T00:00:00Z"},
        {"model": "alpha", "question_id": "q1", "answer": "earlier", "answered_at": "2026-07-01T00:00:00Z"},
        {"model": "beta", "question_id": "q1", "error": "timeout"},
        {"model": "beta", "question_id": "q1", "answer": ""},
    ]
    put(tmp_path, "answers.jsonl", rows)
    answers = relation(tmp_path, "answers").select("model", "status", "answer").rows()
    assert answers == [("alpha", "answered", "later"), ("beta", "no_response", "")]


# --- variants ----------------------------------------------------------------------------------------------------


def test_data_without_a_variant_is_multimodal_and_says_so(tmp_path):
    row = verdict()
    del row["variant"]
    put(tmp_path, "verdicts.jsonl", [row])
    database = built(tmp_path)
    assert tables.read(database, "verdicts")["variant"].to_list() == ["multimodal"]
    assert "names no variant" in tables.read(database, "dataset")["assumptions"][0]


def test_a_verdict_without_a_variant_takes_the_only_one(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict(variant="text-only"), verdict(check_id="c2", variant=None)])
    assert relation(tmp_path, "verdicts")["variant"].to_list() == ["text_only", "text_only"]


def test_a_verdict_without_a_variant_is_not_counted_for_both(tmp_path):
    put(tmp_path, "checks.jsonl", [check()])
    rows = [verdict(), verdict(variant="text_only"), verdict(variant=None, model="beta")]
    put(tmp_path, "verdicts.jsonl", rows)
    database = built(tmp_path)
    assert tables.read(database, "verdicts").select("model", "variant").rows() == [
        ("alpha", "multimodal"),
        ("alpha", "text_only"),
    ]
    (reject,) = tables.read(database, "rejects").rows(named=True)
    assert (reject["row"], reject["field"]) == (3, "variant")
    assert "both variants" in reject["reason"]


def test_checks_hold_for_every_variant_unless_they_name_one(tmp_path):
    put(tmp_path, "checks.jsonl", [check(), check(check_id="c2", variant="multimodal")])
    rows = [
        verdict(),
        verdict(check_id="c2"),
        verdict(variant="text_only"),
        verdict(variant="text_only", check_id="c2"),
    ]
    put(tmp_path, "verdicts.jsonl", rows)
    database = built(tmp_path)
    checks = tables.read(database, "checks").select("variant", "check_id").rows()
    assert checks == [("multimodal", "c1"), ("multimodal", "c2"), ("text_only", "c1")]
    assert tables.read(database, "rejects")["value"].to_list() == ["q1 / c2"]


# --- verdicts without a rubric -----------------------------------------------------------------------------------


def test_verdicts_tell_the_checks_where_no_rubric_is_delivered(tmp_path):
    rows = [
        verdict(tier="Valuable", text="Fern"),
        verdict(model="beta", tier=None),
        verdict(check_id="c2", tier="Context"),
    ]
    put(tmp_path, "verdicts.jsonl", rows)
    database = built(tmp_path)
    assert tables.read(database, "checks").select("check_id", "tier", "text").rows() == [
        ("c1", "valuable", "Fern"),
        ("c2", "context", None),
    ]
    assert tables.read(database, "rejects").height == 0
    assert "no rubric" in tables.read(database, "dataset")["assumptions"][0]


def test_data_without_tiers_is_answer_critical_and_says_so(tmp_path):
    put(tmp_path, "verdicts.csv", "model,judge,question_id,check_id,verdict,tier\na,j,q,c,meets,\n")
    database = built(tmp_path)
    assert tables.read(database, "checks")["tier"].to_list() == ["answer_critical"]
    assert "Answer-Critical" in tables.read(database, "dataset")["assumptions"][0]


def test_tiers_that_verdicts_disagree_on_are_listed_and_the_first_stands(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict(tier="valuable"), verdict(model="beta", tier="context")])
    database = built(tmp_path)
    assert tables.read(database, "checks")["tier"].to_list() == ["valuable"]
    assert set(tables.read(database, "rejects")["row"]) == {2}


def test_a_rubric_alone_is_data_and_its_checks_are_numbered_for_want_of_ids(tmp_path):
    put(tmp_path, "checks.csv", "question_id,tier,text\nq1,context,one\nq2,valuable,two\nq1,valuable,three\n")
    database = built(tmp_path)
    assert tables.read(database, "checks").select("question_id", "check_id", "text").rows() == [
        ("q1", "c002", "three"),
        ("q1", "c001", "one"),
        ("q2", "c001", "two"),
    ]
    assert tables.read(database, "rubric_profile")["checks"].to_list() == [2, 1]
    assert tables.read(database, "verdict_counts").height == tables.read(database, "models").height == 0
    assert "numbered" in tables.read(database, "dataset")["assumptions"][0]


def test_checks_without_ids_are_an_error_where_verdicts_refer_to_them(tmp_path):
    put(tmp_path, "checks.csv", "question_id,tier,text\nq1,context,one\n")
    put(tmp_path, "verdicts.jsonl", [verdict()])
    with pytest.raises(InputError, match="the checks need a column check_id"):
        read_folder(tmp_path)


# --- nested verdicts ---------------------------------------------------------------------------------------------

NESTED = [
    {"question_id": "q1", "model": "alpha", "judge": "j", "verdicts": [{"id": "c1", "verdict": "meets"}]},
    {"question_id": "q2", "model": "alpha", "judge": "j", "verdicts": {"c1": "missing", "c2": {"verdict": "meets"}}},
    {"question_id": "q3", "model": "alpha", "judge": "j", "verdicts": []},
    {"question_id": "q4", "model": "alpha", "judge": "j", "verdicts": None},
]


def test_lists_and_objects_of_verdicts_become_rows(tmp_path):
    put(tmp_path, "verdicts.jsonl", NESTED)
    database = built(tmp_path)
    assert tables.read(database, "verdicts").select("question_id", "check_id", "verdict", "row").rows() == [
        ("q1", "c1", "meets", 1),
        ("q2", "c1", "missing", 2),
        ("q2", "c2", "meets", 2),
    ]
    assert tables.read(database, "questions")["question_id"].to_list() == ["q1", "q2", "q3", "q4"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_null_typed_and_full_shards_read_alike_in_either_order(tmp_path, order):
    empty = pa.table(
        {"question_id": ["q1"], "model": ["alpha"], "judge": ["j"], "verdicts": pa.array([[]], pa.list_(pa.null()))}
    )
    full = pl.DataFrame(
        [
            {
                "question_id": "q2",
                "model": "alpha",
                "judge": "j",
                "verdicts": [{"id": "c1", "verdict": "meets"}],
                "epoch": 1,
            }
        ]
    )
    pq.write_table(empty, tmp_path / f"verdicts-{order[0]}.parquet")
    full.write_parquet(tmp_path / f"verdicts-{order[1]}.parquet")
    database = built(tmp_path)
    assert tables.read(database, "verdicts").select("question_id", "replicate").rows() == [("q2", 1)]
    assert tables.read(database, "answers")["question_id"].to_list() == ["q1", "q2"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("not a list", "not valid JSON"),
        ([{"id": "c2", "verdict": "meets"}, "meets"], "an object is needed for each check"),
        ({"c2": "meets", "c3": 5}, "an object is needed for each check"),
        (5, "a list of objects"),
    ],
)
def test_a_member_that_is_no_verdict_is_listed_and_costs_no_other(tmp_path, value, words):
    put(tmp_path, "verdicts.jsonl", [NESTED[0], NESTED[0] | {"verdicts": value}])
    database = built(tmp_path)
    (reject,) = tables.read(database, "rejects").rows(named=True)
    assert (reject["row"], reject["field"]) == (2, "verdicts")
    assert words in reject["reason"]
    kept = ["c1"] + (["c2"] if isinstance(value, list | dict) else [])
    assert tables.read(database, "verdicts")["check_id"].to_list() == kept


def test_lists_of_verdicts_in_other_words_are_told_by_the_manifest(tmp_path):
    columns_ = '{ model = "who", judge = "by", check_id = "id", verdict = "grade", error = "fault" }'
    put(tmp_path, "gamut.toml", f"[verdicts]\ncolumns = {columns_}\n[labels]\nyes = 'meets'\n")
    rows = [
        {"who": "alpha", "by": "j", "question_id": "q1", "fault": None, "verdicts": [{"id": "c1", "grade": "YES"}]},
        {"who": "alpha", "by": "k", "question_id": "q1", "fault": "x", "verdicts": [{"id": "c1", "grade": None}]},
    ]
    put(tmp_path, "verdicts.jsonl", rows)
    found = relation(tmp_path, "verdicts").select("judge", "check_id", "verdict", "ungraded_reason").rows()
    assert found == [("j", "c1", "meets", None), ("k", "c1", None, "error: x")]


def test_an_error_of_a_record_that_names_its_judge_is_the_judges(tmp_path):
    put(tmp_path, "checks.jsonl", [check(), check(question_id="q2")])
    failed = NESTED[0] | {"judge": "k", "error": "timeout"}
    rows = [NESTED[0], failed, failed | {"question_id": "q2", "verdicts": []}]
    put(tmp_path, "verdicts.jsonl", rows)
    database = built(tmp_path)
    found = tables.read(database, "verdicts").select("judge", "verdict", "ungraded_reason").rows()
    assert found == [("j", "meets", None), ("k", None, "error: timeout")]
    assert set(tables.read(database, "answers")["status"]) == {"unrecorded"}
    assert (3, "error", "timeout") in tables.read(database, "rejects").select("row", "field", "value").rows()


def test_an_error_of_a_record_without_a_judge_is_the_answers(tmp_path):
    put(tmp_path, "gamut.toml", '[verdicts]\nconstants = { judge = "j" }\n')
    row = {"question_id": "q1", "model": "alpha", "error": "timeout", "verdicts": [{"id": "c1", "verdict": "missing"}]}
    put(tmp_path, "verdicts.jsonl", [row])
    database = built(tmp_path)
    assert tables.read(database, "answers").select("status", "error").rows() == [("error", "timeout")]
    assert tables.read(database, "verdicts")["verdict"].to_list() == ["missing"]
    assert tables.read(database, "verdict_counts")["ungraded"].to_list() == [1]


def test_a_recorded_answer_stands_beside_a_nested_record_of_it(tmp_path):
    put(tmp_path, "verdicts.jsonl", NESTED[:1])
    put(tmp_path, "answers.jsonl", [{"model": "alpha", "question_id": "q1", "answer": "A fern."}])
    assert relation(tmp_path, "answers").select("status", "answer").rows() == [("answered", "A fern.")]


# --- the manifest ------------------------------------------------------------------------------------------------

GRADES = ("FULL", "none", "+", "full")
FOREIGN = "who,by,qid,point,grade\n" + "".join(f"alpha,j,q1,p{n},{grade}\n" for n, grade in enumerate(GRADES, 1))
MAPPING = """columns = { model = "who", judge = "by", question_id = "qid", check_id = "point", verdict = "grade" }"""


def test_a_manifest_names_columns_labels_tiers_constants_models_and_judges(tmp_path):
    put(tmp_path, "grades.csv", FOREIGN)
    put(tmp_path, "points.csv", "qid,point,weight\nq1,p1,Must\nq1,p2,Nice\nq1,p3,Nice\nq1,p4,Nice\n")
    put(
        tmp_path,
        "gamut.toml",
        """
        [data]
        title = "Grades of another benchmark"
        default_judge = "j"
        [verdicts]
        files = "grades.csv"
        columns = { model = "who", judge = "by", question_id = "qid", check_id = "point", verdict = "grade" }
        constants = { variant = "text-only" }
        [checks]
        files = ["points.csv"]
        columns = { question_id = "qid", check_id = "point", tier = "weight" }
        [labels]
        "FULL" = "meets"
        "none" = "missing"
        "+" = "partially_meets"
        [tiers]
        "Must" = "answer_critical"
        "Nice" = "context"
        [models."alpha"]
        name = "Alpha One"
        maker = "Acme"
        [judges.j]
        kind = "person"
        """,
    )
    database = built(tmp_path)
    verdicts = tables.read(database, "verdicts").select("variant", "check_id", "verdict").rows()
    assert verdicts == [
        ("text_only", "p1", "meets"),
        ("text_only", "p2", "missing"),
        ("text_only", "p3", "partially_meets"),
        ("text_only", "p4", "meets"),
    ]
    assert tables.read(database, "checks")["tier"].to_list() == ["answer_critical", "context", "context", "context"]
    assert tables.read(database, "models").row(0) == ("alpha", "Alpha One", "Acme", None, None)
    assert tables.read(database, "judges").row(0) == ("j", "j", "person", None)
    assert tables.read(database, "dataset")["title"].to_list() == ["Grades of another benchmark"]


def test_a_mapped_label_may_differ_in_dress_unless_two_would_be_meant(tmp_path):
    put(tmp_path, "gamut.toml", '[labels]\n"Fully Covered" = "meets"\n"-" = "missing"\n"--" = "contradicts"\n')
    grades = ["fully_covered", "-", "--", "---"]
    put(tmp_path, "verdicts.jsonl", [verdict(check_id=f"c{n}", verdict=grade) for n, grade in enumerate(grades)])
    assert relation(tmp_path, "verdicts")["verdict"].to_list() == ["meets", "missing", "contradicts", None]


def test_a_constant_fills_what_a_column_leaves_blank(tmp_path):
    put(tmp_path, "gamut.toml", '[verdicts]\nconstants = { judge = "j" }\n')
    put(tmp_path, "verdicts.csv", "model,judge,question_id,check_id,verdict\na,k,q,c,meets\na, ,q,c,missing\n")
    assert relation(tmp_path, "verdicts").select("judge", "verdict").rows() == [("j", "missing"), ("k", "meets")]


def test_a_joined_id_keeps_what_is_told_of_its_base_and_shares_its_cluster(tmp_path):
    put(tmp_path, "gamut.toml", '[verdicts]\ncolumns = { question_id = ["question_id", "retriever"] }\n')
    put(tmp_path, "verdicts.jsonl", [verdict(retriever=name) for name in ("bm25", "oracle")])
    put(tmp_path, "checks.jsonl", [check(), check(question_id="q2")])
    put(tmp_path, "questions.jsonl", [{"question_id": "q1", "domain": "food"}, {"question_id": "q2"}])
    database = built(tmp_path)
    questions = tables.read(database, "questions").select("question_id", "cluster", "domain").rows()
    assert questions == [("q1|bm25", "q1", "food"), ("q1|oracle", "q1", "food"), ("q2", "q2", None)]
    assert tables.read(database, "verdicts")["question_id"].to_list() == ["q1|bm25", "q1|oracle"]
    assert tables.read(database, "rejects").height == 0


def test_joined_ids_that_could_come_from_two_places_are_an_error(tmp_path):
    put(tmp_path, "gamut.toml", '[verdicts]\ncolumns = { question_id = ["a", "b"] }\n')
    rows = [{"a": "x|y", "b": "z"}, {"a": "x", "b": "y|z"}]
    put(
        tmp_path,
        "verdicts.jsonl",
        [{"model": "m", "judge": "j", "check_id": "c", "verdict": "meets"} | row for row in rows],
    )
    with pytest.raises(ManifestError, match=r"two different ids join to 'x\|y\|z'"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[verdict]\n", r"'verdict' is no section; did you mean 'verdicts'\?"),
        ("verdicts = 'x.csv'\n", r"verdicts = 'x\.csv': a section in brackets"),
        ("[verdicts]\nfile = 'x.csv'\n", r"'file' is no key of \[verdicts\]; did you mean 'files'"),
        ("[verdicts]\nfiles = 3\n", r"\[verdicts\] files = 3: a file name in quotes"),
        ("[verdicts]\nfiles = ['']\n", "a file name in quotes"),
        ("[verdicts]\nfiles = 'absent*.csv'\n", r"nothing in .* matches 'absent\*\.csv'"),
        ("[verdicts]\nfiles = '/etc/passwd-none'\n", "nothing in .* matches"),
        ("[verdicts]\ncolumns = 'model'\n", "pairs in braces are needed"),
        ("[verdicts]\ncolumns = { modl = 'm' }\n", r"'modl' is no field of \[verdicts\]; did you mean 'model'"),
        ("[verdicts]\ncolumns = { model = 3 }\n", r"columns\.model = 3: a column name in quotes"),
        (
            "[verdicts]\ncolumns = { model = 'who' }\n",
            r"no column 'who' for verdicts\.model; the file has: model, judge",
        ),
        ("[verdicts]\nconstants = { replicate = 1 }\n", r"constants\.replicate = 1: a text in quotes"),
        ("[verdicts]\nconstants = { variant = 'video' }\n", "one of multimodal, text_only is needed"),
        ("[checks]\nconstants = { tier = 'vital' }\n", "one of answer_critical, valuable, context is needed"),
        ("[labels]\nyes = 'met'\n", r"\[labels\] 'yes' = 'met': one of meets"),
        ("[tiers]\nhigh = ['context']\n", r"\[tiers\] 'high' = \['context'\]: one of answer_critical"),
        ("[models.alpha]\nnmae = 'x'\n", r"'nmae' is no key of \[models\.alpha\]; did you mean 'name'"),
        ("[models.alpha]\nname = 3\n", r"\[models\.alpha\] name = 3: a text in quotes"),
        ("[models]\nalpha = 'x'\n", r"'alpha' is no key of \[models\]"),
        ("[data]\nsimulated = 'no'\n", "simulated = 'no': true or false is needed"),
        ("[data]\ntitle = 3\n", r"\[data\] title = 3: a text in quotes is needed"),
        ("[data]\nseed = true\n", "seed = True: a whole number is needed"),
        ("[data]\nfolder = 'x'\n", r"'folder' is no key of \[data\]"),
        ("[data]\ndefault_judge = 'judge-b'\n", "default_judge = 'judge-b' graded nothing; judges: judge-a"),
        ("[data\n", "not readable as TOML"),
        ("x = '\xff'", "not readable as TOML"),
    ],
)
def test_a_manifest_that_does_not_describe_its_folder_says_why(tmp_path, text, words):
    put(tmp_path, "verdicts.jsonl", [verdict()])
    path = put(tmp_path, "gamut.toml", text.encode("latin-1"))
    with pytest.raises(ManifestError, match=words) as error:
        read_folder(tmp_path)
    assert str(error.value).startswith(str(path)) or "the file has" in str(error.value)


def test_a_manifest_may_lie_elsewhere_and_must_be_there(tmp_path):
    put(tmp_path, "data/grades.csv", FOREIGN)
    told = put(tmp_path, "told.toml", f"\ufeff[verdicts]\nfiles = 'grades.csv'\n{MAPPING}\n")
    delivery = read_folder(tmp_path / "data", told)
    assert delivery.tables["verdicts"].height == 4
    assert inputs(tmp_path / "data", told) == sorted([tmp_path / "data/grades.csv", told])
    with pytest.raises(ManifestError, match="there is no such manifest"):
        manifest.load(tmp_path / "absent.toml")
    with pytest.raises(ManifestError, match="not readable"):
        manifest.load(tmp_path)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    put(tmp_path, "v[1].csv", FOREIGN.replace("alpha", "one"))
    put(tmp_path, "v1.csv", FOREIGN)
    put(tmp_path, "gamut.toml", f"[verdicts]\nfiles = 'v[1].csv'\n{MAPPING}\n")
    assert set(read_folder(tmp_path).tables["verdicts"]["model"]) == {"one"}


def test_names_that_nothing_in_the_data_bears_are_told(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict()])
    put(tmp_path, "gamut.toml", '[models."alpha "]\nname = "A"\n[judges.judge-b]\nname = "B"\n')
    notes = read_folder(tmp_path).notes
    assert "Named but not in the data: the models alpha ." in notes
    assert "Named but not in the data: the judges judge-b." in notes


def test_a_table_without_files_is_left_out(tmp_path):
    put(tmp_path, "gamut.toml", "[answers]\nfiles = []\n")
    put(tmp_path, "verdicts.jsonl", [verdict()])
    put(tmp_path, "answers.jsonl", b"not read")
    delivery = read_folder(tmp_path)
    assert [source.table_name for source in delivery.sources] == ["verdicts"]
    assert delivery.unused == ["answers.jsonl"]


def test_progress_is_told_for_each_file(tmp_path):
    put(tmp_path, "verdicts.jsonl", [verdict()])
    put(tmp_path, "checks.jsonl", [check()])
    seen = []
    read_folder(tmp_path, progress=lambda *step: seen.append(step))
    assert seen == [("verdicts.jsonl", 1, 2), ("checks.jsonl", 2, 2)]


def test_paths_given_as_relative_are_read(tmp_path, monkeypatch):
    put(tmp_path, "verdicts.jsonl", [verdict()])
    monkeypatch.chdir(tmp_path)
    delivery = read_folder(Path())
    assert delivery.dataset["name"] == tmp_path.name
    assert delivery.sources[0].file == "verdicts.jsonl"


# --- whatever else -----------------------------------------------------------------------------------------------

WEDGES = [
    b'"',
    b",",
    b"\n",
    b"{",
    b"]",
    b"\x00",
    b"\xff",
    b"null",
    b"NaN",
    b"\\",
    b"\r",
    b";",
    b"1e400",
    b"\xef\xbb\xbf",
]


def harmed(content: bytes, chance: random.Random) -> bytes:
    """The content with bytes changed, wedged in, left out, repeated or cut off."""
    for _ in range(chance.choice([1, 2, 8])):
        place = chance.randrange(len(content) or 1)
        after = chance.choice([place, place + 1, place + 20, len(content)])
        wedge = chance.choice([b"", chance.choice(WEDGES), content[max(0, place - 60) : place]])
        content = content[:place] + wedge + content[after:]
    return content


@pytest.mark.parametrize("seed", range(16))
def test_harmed_files_give_a_database_or_an_error_that_people_can_mend(tmp_path, seed):
    chance = random.Random(seed)
    rows = [
        verdict(model=f"m{i % 2}", question_id=f"q{i % 4}", check_id=f"c{i % 3}", replicate=i % 2) for i in range(40)
    ]
    for name, content in (
        (f"verdicts.{chance.choice(['jsonl', 'json', 'csv', 'parquet'])}", rows),
        (f"checks.{chance.choice(['jsonl', 'csv'])}", [check(question_id=f"q{i}", check_id=f"c{i}") for i in range(4)]),
    ):
        path = put(tmp_path, name, content)
        path.write_bytes(harmed(path.read_bytes(), chance))
    try:
        database = built(tmp_path)
    except GamutError as error:
        assert tmp_path.name in str(error) or "delivered verdicts" in str(error)
        return
    sources = tables.read(database, "sources")
    assert (sources["rows_kept"] + sources["rows_rejected"]).equals(sources["rows_read"])
