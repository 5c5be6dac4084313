"""The data dictionary describes every relation and column of a database, and none that does not exist."""

import re
import tomllib

import pytest
from delivered import built, put, verdict

from gamut_analysis import paths, tables
from gamut_analysis.readers.delivery import FIELDS, NEEDED, TABLES
from gamut_analysis.readers.folder import READERS, read_folder
from gamut_analysis.readers.manifest import DATASET

README = paths.data() / "README.md"


def text() -> str:
    return README.read_text(encoding="utf-8")


def described() -> dict[str, list[str]]:
    """The relations of the dictionary with their columns; ``n_00`` ... ``n_33`` stands for all sixteen."""
    dictionary = text().partition("## The dictionary")[2]
    found: dict[str, list[str]] = {}
    for section in re.split(r"^### ", dictionary, flags=re.MULTILINE)[1:]:
        name = section.split("\n", 1)[0].strip()
        columns = re.findall(r"^\| `(\w+)`(?: \.\.\. `n_33`)? \| \S", section, flags=re.MULTILINE)
        cells = [f"n_{a}{b}" for a in range(4) for b in range(4)]
        found[name] = [each for column in columns for each in (cells if column == "n_00" else [column])]
    return found


@pytest.fixture(scope="module")
def actual(tmp_path_factory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("dictionary")
    put(folder, "verdicts.jsonl", [verdict()])
    return {name: frame.columns for name, frame in tables.read_all(built(folder), tables.RELATIONS).items()}


def test_every_relation_has_a_section_in_the_dictionary(actual):
    assert sorted(described()) == sorted(actual)


@pytest.mark.parametrize("relation", tables.RELATIONS)
def test_every_column_has_a_line_and_no_other_has(actual, relation):
    assert described()[relation] == actual[relation]


def test_delivered_tables_and_what_they_need_are_told():
    rows = dict(
        re.findall(r"^\| `(\w+)` \| .*? \| (.*?) \| .*\|$", text().partition("### A folder")[0], flags=re.MULTILINE)
    )
    assert set(rows) >= set(TABLES)
    for table in TABLES:
        told = set(re.findall(r"`(\w+)`", rows[table]))
        assert told == {name for group in NEEDED[table] for name in group.split()}


def test_fields_that_are_told_of_exist():
    for table in TABLES:
        (row,) = re.findall(rf"^\| `{table}` \| .*\|$", text().partition("### A folder")[0], flags=re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row)) - {table} <= set(FIELDS[table])


def test_formats_are_told():
    for name in {name for name, _ in READERS.values()} - {"jsonl"}:
        assert name.upper() in text().upper()


def test_the_example_manifest_is_one(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", text(), flags=re.DOTALL)
    put(tmp_path, "gamut.toml", example)
    grades = "system,grader,doc,retriever,point,grade\ngpt-4o,grader-1,d1,bm25,p1,FULL\ngpt-4o,human,d1,bm25,p1,NONE\n"
    put(tmp_path, "grades-1.csv", grades)
    put(tmp_path, "points.jsonl", '{"doc": "d1", "check_id": "p1", "text": "It is a fern"}\n')
    assert set(tomllib.loads(example)["data"]) <= set(DATASET)
    assert read_folder(tmp_path).dataset["benchmark"] == "Ours"
    verdicts = tables.read(built(tmp_path), "verdicts").select("question_id", "verdict").rows()
    assert verdicts == [("d1|bm25", "meets"), ("d1|bm25", "missing")]


def test_every_published_table_has_a_line_on_its_source():
    lines = (paths.published() / "README.md").read_text(encoding="utf-8").splitlines()
    for path in paths.published().glob("*.csv"):
        (line,) = [line for line in lines if line.startswith(f"| `{path.name}`")]
        assert "2607.19322" in line
