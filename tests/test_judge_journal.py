"""The journal of calls: it only grows, survives a cut line, and belongs to one run at a time."""

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
