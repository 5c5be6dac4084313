"""Which data is meant, and when its database is built again."""

import os

import pytest

from gamut_analysis import datasets
from gamut_analysis.errors import InputError


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMUT_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "verdicts.csv").write_text(
        "model,judge,question_id,check_id,tier,verdict\nm,j,q,c,valuable,meets\n", encoding="utf-8"
    )
    return folder


def test_a_database_file_is_taken_as_it_is(small_database):
    assert datasets.database_of(str(small_database)) == small_database


def test_a_folder_is_built_once_and_again_when_a_file_of_it_changes(home, folder):
    database = datasets.database_of(str(folder))
    built = database.stat().st_mtime_ns
    assert datasets.database_of(str(folder)) == database
    assert database.stat().st_mtime_ns == built
    verdicts = folder / "verdicts.csv"
    verdicts.write_text(verdicts.read_text(encoding="utf-8") + "m,j,q,d,valuable,missing\n", encoding="utf-8")
    os.utime(verdicts, ns=(1, 1))
    datasets.database_of(str(folder))
    assert database.stat().st_mtime_ns > built


def test_folders_of_one_name_do_not_share_a_database(tmp_path):
    assert datasets.default_database(str(tmp_path / "a" / "x")) != datasets.default_database(str(tmp_path / "b" / "x"))


def test_what_is_neither_folder_nor_database_is_refused_with_what_ships():
    with pytest.raises(InputError, match="sample and paper ship"):
        datasets.database_of("nothing-of-that-name")


def test_the_sample_is_simulated_on_real_rubrics_the_first_time(home, monkeypatch):
    from gamut_analysis import paths

    monkeypatch.setattr(datasets.paths, "sample", lambda checkout=paths.PACKAGE.parent: checkout / "data" / "sample")
    folder = datasets.folder_of("sample")
    told = (folder / "gamut.toml").read_text(encoding="utf-8")
    assert "simulated = true" in told
    before = (folder / "verdicts.parquet").stat().st_mtime_ns
    assert datasets.folder_of("sample") == folder
    assert (folder / "verdicts.parquet").stat().st_mtime_ns == before
