"""The journal of calls: it only grows, survives a cut line, and belongs to one run at a time."""

import os

import pytest

from gamut_analysis.errors import GamutError, InputError
from gamut_analysis.judge.grading import portions
from gamut_analysis.judge.journal import NAME, Journal
from tests.judging import a_call, a_grading, a_judge, a_reply

REPLY = a_reply({"c1": "meets", "c2": "meets", "c3": "meets"})


@pytest.fixture
def portion():
    return portions(a_judge(), a_grading(), [])[0]


def test_what_was_written_is_there_again(tmp_path, portion):
    first, second = a_call(portion, "one ✓\n</script>"), a_call(portion, None)
    with Journal(tmp_path / "new" / "folder") as journal:
        journal.append(first)
        journal.append(second)
        assert journal.calls == [first, second]
    with Journal(tmp_path / "new" / "folder") as journal:
        assert journal.calls == [first, second]
        assert (tmp_path / "new" / "folder" / NAME).read_text("utf-8").count("\n") == 2


@pytest.mark.parametrize("kept", [1, 40, -2, -1])
def test_a_line_that_was_cut_off_is_dropped_and_the_next_one_is_whole(tmp_path, portion, kept):
    call = a_call(portion, REPLY)
    with Journal(tmp_path) as journal:
        journal.append(call)
        journal.append(call)
    path = tmp_path / NAME
    line = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(line + line[:kept])
    with Journal(tmp_path) as journal:
        assert journal.calls == [call]
        journal.append(call)
    assert path.read_bytes() == line + line


@pytest.mark.parametrize("line", [b"not json", b"{}", b"[]", b'{"call_id": 1}', b"\xff\xfe"])
def test_a_damaged_line_is_named(tmp_path, portion, line):
    with Journal(tmp_path) as journal:
        journal.append(a_call(portion, REPLY))
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(InputError, match=rf"{NAME}:2: "):
        Journal(tmp_path)


def test_two_runs_cannot_write_at_once(tmp_path):
    with Journal(tmp_path), pytest.raises(GamutError, match="another run"):
        Journal(tmp_path)
    with Journal(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    for folder in (tmp_path / "file", tmp_path / "file" / "judged"):
        with pytest.raises(InputError, match="no folder that can be written to"):
            Journal(folder)


def test_a_folder_holds_calls_of_one_task(tmp_path, portion):
    with Journal(tmp_path) as journal:
        journal.append(a_call(portion, REPLY))
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(InputError, match=r"of the task 'gamut', not 'generate'; name another folder"):
        Journal(tmp_path, "generate")
    assert (tmp_path / NAME).read_bytes() == before


def test_a_line_that_does_not_fit_on_the_disk_leaves_none(tmp_path, portion, monkeypatch):
    call = a_call(portion, REPLY)
    with Journal(tmp_path) as journal:
        journal.append(call)
        before = (tmp_path / NAME).read_bytes()
        write, room = os.write, [40]

        def filling(file, line):
            if not room:
                raise OSError(28, "No space left on device")
            return write(file, line[: room.pop()])

        monkeypatch.setattr(os, "write", filling)
        with pytest.raises(OSError, match="No space left"):
            journal.append(call)
        monkeypatch.undo()
        assert (tmp_path / NAME).read_bytes() == before
        assert journal.calls == [call]
