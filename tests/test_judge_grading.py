"""Conversations with a judge: what is asked, asked again, kept, and taken up where it stopped."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamut_analysis.errors import InputError
from gamut_analysis.judge.grading import portions, settled
from tests.judging import CHECKS, a_call, a_grading, a_judge, a_reply, answered

ALL = {"c1": "meets", "c2": "missing", "c3": "contradicts"}


def verdicts(calls):
    return {check_id: check.verdict for check_id, (check, _) in settled(calls).items()}


def reasons(calls):
    return {check_id: check.ungraded_reason for check_id, (check, _) in settled(calls).items() if check.verdict is None}


def test_one_right_reply_is_all_that_is_asked_for():
    judge, grading = a_judge(), a_grading()
    (portion,) = portions(judge, grading, [])
    assert [role for role, _ in portion.messages] == ["system", "user"]
    assert portion.wanted == ("c1", "c2", "c3")
    calls = answered(judge, grading, [a_reply(ALL)])
    assert portions(judge, grading, calls)[0].is_done
    assert verdicts(calls) == ALL


def test_what_a_reply_leaves_open_is_asked_for_again_and_nothing_else():
    judge, grading = a_judge(), a_grading()
    calls = answered(judge, grading, [a_reply({"c1": "meets", "c3": "excellent"})])
    (portion,) = portions(judge, grading, calls)
    assert portion.wanted == ("c2", "c3")
    assert [role for role, _ in portion.messages] == ["system", "user", "assistant", "user"]
    fault = portion.messages[-1][1]
    assert 'Wanted: ["c2", "c3"]' in fault
    assert "excellent" in fault
    calls = answered(judge, grading, [a_reply({"c2": "missing", "c3": "meets"})], calls)
    assert verdicts(calls) == {"c1": "meets", "c2": "missing", "c3": "meets"}
    assert portions(judge, grading, calls)[0].is_done


def test_a_judge_that_does_not_mend_its_reply_leaves_checks_ungraded():
    judge, grading = a_judge(attempts=2), a_grading()
    calls = answered(judge, grading, ["no idea", a_reply({"c2": "meets"})])
    assert portions(judge, grading, calls)[0].is_done
    assert verdicts(calls) == {"c1": None, "c2": "meets", "c3": None}
    assert reasons(calls) == {"c1": "not in the reply", "c3": "not in the reply"}


def test_a_failed_call_is_no_attempt_and_no_verdict():
    judge, grading = a_judge(), a_grading()
    calls = answered(judge, grading, [None, None, None, None])
    (portion,) = portions(judge, grading, calls)
    assert (portion.attempt, portion.is_done) == (0, False)
    assert set(reasons(calls).values()) == {"HTTP 500"}
    assert verdicts(answered(judge, grading, [a_reply(ALL)], calls)) == ALL


def test_checks_can_be_asked_about_in_portions():
    judge, grading = a_judge(checks_per_call=2), a_grading()
    first, second = portions(judge, grading, [])
    assert (first.wanted, second.wanted) == (("c1", "c2"), ("c3",))
    assert "its 2 checks" in first.messages[1][1]
    # The second portion's reply may come first.
    calls = [a_call(second, a_reply({"c3": "meets"})), a_call(first, a_reply({"c1": "meets", "c2": "missing"}))]
    assert verdicts(calls) == {"c3": "meets", "c1": "meets", "c2": "missing"}
    assert all(portion.is_done for portion in portions(judge, grading, calls))


def test_asking_again_begins_a_new_conversation_about_what_is_open():
    judge, grading = a_judge(attempts=1), a_grading()
    calls = answered(judge, grading, [a_reply({"c1": "meets"})])
    assert portions(judge, grading, calls)[0].is_done
    (portion,) = portions(judge, grading, calls, again=True)
    assert (portion.round, portion.attempt, portion.wanted, portion.is_done) == (1, 0, ("c2", "c3"), False)
    assert len(portion.messages) == 2
    calls.append(a_call(portion, a_reply({"c2": "missing"})))
    assert verdicts(calls) == {"c1": "meets", "c2": "missing", "c3": None}
    assert portions(judge, grading, calls, again=True)[0].wanted == ("c3",)
    assert portions(judge, grading, calls, again=True)[0].round == 2


@pytest.mark.parametrize(
    "other",
    [
        a_grading("The Amazon."),
        a_grading(question="Which lake?"),
        a_grading(checks=(("c1", "Another text."), *CHECKS[1:])),
    ],
)
def test_calls_about_another_text_are_not_taken_for_this_one(other):
    calls = answered(a_judge(), a_grading(), [a_reply(ALL)])
    with pytest.raises(InputError, match="have changed since judge-a was asked"):
        portions(a_judge(), other, calls)


def test_every_request_has_an_id_of_its_own():
    judge, grading = a_judge(), a_grading()
    fresh = portions(judge, grading, [])[0].call_id
    ids = {
        fresh,
        portions(judge, a_grading(replicate=1), [])[0].call_id,
        portions(a_judge(temperature=0.0), grading, [])[0].call_id,
        portions(a_judge(model="other/m"), grading, [])[0].call_id,
        portions(a_judge(checks_per_call=1), grading, [])[0].call_id,
        portions(judge, grading, answered(judge, grading, ["?"]))[0].call_id,
    }
    assert len(ids) == 6
    assert portions(judge, grading, [])[0].call_id == fresh


SCRIPT = st.lists(
    st.one_of(
        st.none(),
        st.sampled_from(["", "no", "[", json.dumps({"verdicts": []})]),
        st.dictionaries(st.sampled_from(["c1", "c2", "c3", "c9"]), st.sampled_from(["meets", "missing", "?"])).map(
            a_reply
        ),
    ),
    max_size=6,
)


@given(SCRIPT, st.integers(0, 3), st.integers(0, 6))
def test_a_run_that_is_cut_anywhere_comes_to_the_same(script, per_call, cut):
    judge, grading = a_judge(checks_per_call=per_call), a_grading()

    def go_on(calls, replies):
        made = list(calls)
        for reply in replies:
            waiting = [part for part in portions(judge, grading, made) if not part.is_done]
            if not waiting:
                break
            made.append(a_call(waiting[0], reply))
        return made

    whole = go_on([], script)
    resumed = go_on(go_on([], script[:cut]), script[cut:])
    assert resumed == whole
    assert verdicts(resumed) == verdicts(whole)
    assert all((check.verdict is None) == (check.ungraded_reason is not None) for check, _ in settled(whole).values())
