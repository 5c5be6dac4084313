"""Calling a model: names, endpoints, reasons for failure, and servers without structured output."""

import json
from dataclasses import replace

import anyio
import pytest

from gamut_analysis.errors import InputError, UnknownName
from gamut_analysis.judge.calling import Caller, Request, check_reachable, model_of
from gamut_analysis.judge.grading import portions
from gamut_analysis.judge.journal import Journal
from gamut_analysis.judge.prices import Price
from gamut_analysis.judge.protocol import REPLY_SCHEMA
from gamut_analysis.judge.task import Session
from tests.judging import a_grading, a_judge
from tests.openai_server import serve


@pytest.fixture
def request_of(tmp_path):
    """The first request about an answer."""
    judge, grading = a_judge(), a_grading()
    return Session(judge, None, [grading], {}).request(portions(judge, grading, [])[0])


def called(request, folder, url, **options):
    with Journal(folder) as journal:
        caller = Caller(model_of("scripted", url), journal, **options)
        return anyio.run(caller.call, request), caller


def test_a_bare_name_needs_an_endpoint(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UnknownName, match=r"openai/gpt-4o.*--base-url"):
        model_of("gpt-4o")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert str(model_of("gpt-4o")) == "openai-api/openai/gpt-4o"


def test_a_name_with_a_slash_that_is_no_provider_is_the_name_of_a_model():
    assert str(model_of("Qwen/Qwen3-32B", "http://127.0.0.1:9/v1")) == "openai-api/openai/Qwen/Qwen3-32B"


def test_a_missing_key_is_named(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("NOWHERE_API_KEY", raising=False)
    with pytest.raises(InputError, match="NOWHERE_API_KEY defined in the environment"):
        model_of("openai-api/nowhere/m", "http://127.0.0.1:9/v1")


def test_the_key_of_the_environment_is_sent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert model_of("m", "http://127.0.0.1:9/v1").api.client.api_key == "secret"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert model_of("m", "http://127.0.0.1:9/v1").api.client.api_key == "none"


def test_a_key_in_a_file_of_the_folder_is_found(monkeypatch, tmp_path):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "")  # so that what is read here is forgotten afterwards
        monkeypatch.delenv(name)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=from-file\nOPENAI_BASE_URL=http://127.0.0.1:9/v1\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert model_of("m").api.client.api_key == "from-file"
    monkeypatch.setenv("OPENAI_API_KEY", "exported")
    assert model_of("m").api.client.api_key == "exported"


def test_the_schema_is_sent_where_there_is_one(request_of, tmp_path):
    with serve() as server:
        called(request_of, tmp_path / "with", server.url, schema=REPLY_SCHEMA)
        called(request_of, tmp_path / "without", server.url)
        first, second = (call["request"] for call in server.calls())
    held = first["response_format"]["json_schema"]["schema"]["properties"]["verdicts"]["items"]
    assert list(held["properties"]) == ["id", "reason", "verdict"]
    assert held["properties"]["verdict"]["enum"] == ["meets", "partially_meets", "missing", "contradicts"]
    assert "response_format" not in second


def test_a_server_that_refuses_schemas_is_asked_without(request_of, tmp_path):
    with serve(faults=["400"]) as server:
        call, caller = called(request_of, tmp_path, server.url, schema=REPLY_SCHEMA)
        assert ["response_format" in one["request"] for one in server.calls()] == [True, False]
    assert call.error is None
    assert caller.schema is None


@pytest.mark.parametrize(("fault", "reason"), [("401", "HTTP 401"), ("404", "HTTP 404"), ("400", "HTTP 400")])
def test_a_request_that_is_wrong_is_not_repeated(fault, reason, request_of, tmp_path):
    with serve(faults=[f"always:{fault}"]) as server:
        call, caller = called(request_of, tmp_path, server.url)
        assert len(server.calls()) == 1
    assert (call.error, call.reply, call.cost_usd) == (reason, None, None)
    # Without a key or a model there is no sense in asking on; one bad request says nothing of the next.
    assert bool(caller.stopped) == (fault != "400")
    assert ("--base-url right?" in caller.stopped) == (fault == "404")


def test_an_unreadable_response_is_asked_for_again_and_then_given_up(request_of, tmp_path):
    with serve(faults=["invalid"]) as server:
        call, _ = called(request_of, tmp_path / "once", server.url)
        assert (call.error, len(server.calls())) == (None, 2)
    with serve(faults=["always:invalid"]) as server:
        call, _ = called(request_of, tmp_path / "ever", server.url)
        assert (call.error, len(server.calls())) == ("unreadable response", 3)


def test_a_server_that_does_not_answer_in_time_is_a_reason(request_of, tmp_path, monkeypatch):
    monkeypatch.setattr("gamut_analysis.judge.calling.TIMEOUT", 1)
    monkeypatch.setattr("gamut_analysis.judge.calling._FIRST_WAIT", 0)
    with serve(faults=["always:timeout"]) as server:
        call, _ = called(request_of, tmp_path, server.url)
        assert len(server.calls()) == 3  # each of them may have been paid for
    assert call.error == "timed out"


def test_a_busy_server_is_asked_again_when_it_says_then_ever_later(request_of, tmp_path, monkeypatch):
    waits = []
    wait = Caller._wait

    def noted(self, error, tried):
        waits.append(wait(self, error, tried))
        return None if waits[-1] is None else 0.0

    monkeypatch.setattr(Caller, "_wait", noted)
    with serve(faults=["always:429"]) as server:
        call, _ = called(request_of, tmp_path, server.url)
        assert len(server.calls()) == len(waits) == 11
    assert call.error == "HTTP 429"
    assert waits[:4] == [0.01] * 4
    # Twice as long each time, 8 seconds after the fifth attempt, give or take a quarter, and never beyond a minute.
    assert all(6 * 2**n <= each <= 10 * 2**n for n, each in enumerate(waits[4:7]))
    assert all(45 <= each <= 60 for each in waits[7:10])
    assert waits[10] is None


def test_ctrl_c_ends_a_wait_at_once(request_of, tmp_path, monkeypatch):
    async def cancelled_while_waiting(caller):
        with anyio.CancelScope() as scope:
            monkeypatch.setattr(caller, "_wait", lambda error, tried: scope.cancel() or 3600.0)
            await caller.call(request_of)
        return scope.cancelled_caught

    with serve(faults=["always:429"]) as server, Journal(tmp_path) as journal:
        caller = Caller(model_of("scripted", server.url), journal, Price(1, 1))
        assert anyio.run(cancelled_while_waiting, caller)
        assert len(server.calls()) == 1
    assert journal.calls == []
    assert caller._promised == 0


def test_ctrl_c_waits_for_a_request_that_was_sent(request_of, tmp_path, monkeypatch):
    async def cancelled_while_sent(caller):
        sent = caller._sent

        async def stopped(messages):
            scope.cancel()
            return await sent(messages)

        monkeypatch.setattr(caller, "_sent", stopped)
        with anyio.CancelScope() as scope:
            await caller.call(request_of)
            await anyio.sleep(3600)
        return scope.cancelled_caught

    with serve() as server, Journal(tmp_path) as journal:
        assert anyio.run(cancelled_while_sent, Caller(model_of("scripted", server.url), journal))
        assert [call["paid"] for call in server.calls()] == [True]
    assert [call.error for call in journal.calls] == [None]


def test_calls_that_are_dearer_than_expected_are_told_in_the_budget(request_of, tmp_path):
    price = Price(0, 1e6)  # a dollar for each token that comes out

    async def twice(caller):
        return await caller.call(request), await caller.call(request)

    request = replace(request_of, output_tokens=1)
    with serve() as server:
        first, _ = called(request, tmp_path / "one", server.url, price=price)
        assert first.cost_usd > 2
        with Journal(tmp_path / "two") as journal:
            caller = Caller(model_of("scripted", server.url), journal, price, max_cost=first.cost_usd + 2)
            call, none = anyio.run(twice, caller)
    assert (call.cost_usd, none) == (first.cost_usd, None)
    assert "--max-cost" in caller.stopped


def test_a_model_has_a_name():
    with pytest.raises(UnknownName, match="has no name"):
        model_of(" ", "http://127.0.0.1:9/v1")


def test_nobody_there_is_a_reason(request_of, tmp_path, monkeypatch):
    monkeypatch.setattr("gamut_analysis.judge.calling.RETRIES", 0)
    call, _ = called(request_of, tmp_path, "http://127.0.0.1:9/v1")
    assert call.error == "not reached"


def test_an_endpoint_where_nobody_listens_is_named_at_once():
    with pytest.raises(InputError, match=r"nobody answers at http://127\.0\.0\.1:9/v1"):
        check_reachable(model_of("scripted", "http://127.0.0.1:9/v1"))
    with serve() as server:
        check_reachable(model_of("scripted", server.url))


def test_the_journal_has_the_call_before_anybody_is_told(request_of, tmp_path):
    seen = []
    with serve() as server, Journal(tmp_path) as journal:
        caller = Caller(
            model_of("scripted", server.url),
            journal,
            told=lambda call: seen.append((tmp_path / "calls.jsonl").read_text("utf-8").count("\n")),
        )
        anyio.run(caller.call, request_of)
        (kept,) = journal.calls
    assert seen == [1]
    assert json.loads((tmp_path / "calls.jsonl").read_text("utf-8"))["reply"] == kept.reply


def test_a_run_that_is_stopping_sends_nothing(request_of, tmp_path):
    with serve() as server, Journal(tmp_path) as journal:
        caller = Caller(model_of("scripted", server.url), journal, stopped="enough")
        assert anyio.run(caller.call, request_of) is None
        assert server.calls() == []


def test_a_request_says_what_it_will_take(request_of):
    assert isinstance(request_of, Request)
    assert request_of.input_tokens > 500
    assert request_of.output_tokens == 3 * 60


def test_where_replies_cannot_be_kept_nothing_more_is_asked(request_of, tmp_path, monkeypatch):
    async def twice(caller):
        with pytest.raises(OSError, match="No space left"):
            await caller.call(request_of)
        return await caller.call(request_of)

    def full(call):
        raise OSError(28, "No space left on device")

    with serve() as server, Journal(tmp_path) as journal:
        monkeypatch.setattr(journal, "append", full)
        caller = Caller(model_of("scripted", server.url), journal)
        assert anyio.run(twice, caller) is None
        assert len(server.calls()) == 1
    assert "calls.jsonl cannot be written to (No space left on device)" in caller.stopped
