"""Containers of the offline server: their states, how long they live, what they keep."""

import contextlib
import http.client
import json
import threading
import time
from typing import Any

import pytest
from offline_helpers import Serve, wait_for
from program_client import Client, Refused, call_api

from agent_tui.offline import ContainerOptions, OfflineServer

ONE = "print(await read('a'))"
DONE = {"text": "That was it."}


def program(code: str, **more: Any) -> dict[str, Any]:
    return {"program": code, **more}


def is_now(client: Client, state: str) -> dict[str, Any]:
    """Waits until the server says that the conversation's container is in that state."""
    return wait_for(lambda: (now := client.state())["state"] == state and now)


def ended(client: Client) -> list[dict[str, Any]]:
    """The containers of the journal's entries, once every exchange has ended."""

    def entries() -> list[dict[str, Any]] | None:
        journal = client.server.journal
        done = all(entry["duration_ms"] is not None for entry in journal)
        return [entry["container"] for entry in journal] if done else None

    return wait_for(entries)


class TestStates:
    def test_each_state_is_in_the_journal_and_on_its_page(self, serve: Serve) -> None:
        code = "import asyncio\nprint(await asyncio.gather(read('a'), read('b')))\n" + ONE
        options = ContainerOptions(idle_seconds=0.6)
        client = Client(serve(program(code), DONE, containers=options))
        client.say()
        assert (client.state()["state"], client.state()["pending"]) == ("paused", 2)
        assert client.state()["pending_ids"] == [c["id"] for c in client.calls]
        client.answer()
        assert (client.state()["state"], client.state()["pending"]) == ("paused", 1)
        client.answer()
        assert client.state()["state"] == "idle"
        is_now(client, "expired")
        entries = ended(client)
        assert [(e["state"], e["pending"], e["programs"]) for e in entries] == [
            ("paused", 2, 1),
            ("paused", 1, 1),
            ("idle", 0, 1),
        ]
        assert [e["reused"] for e in entries] == [0, 1, 2]

    def test_the_journal_says_what_the_answer_said(self, serve: Serve) -> None:
        client = Client(serve(program(ONE), DONE))
        said = [response["container"] for response in client.run()]
        entries = ended(client)
        assert [(e["id"], e["expires_at"]) for e in entries] == [
            (s["id"], s["expires_at"]) for s in said
        ]
        assert said[0]["expires_at"] < said[1]["expires_at"], "each use starts its time anew"

    def test_a_reply_without_a_program_names_the_container_of_its_request(
        self, serve: Serve
    ) -> None:
        client = Client(serve(program("x = 1"), DONE, {"text": "plain"}, {"text": "without"}))
        client.run()
        first = client.last["container"]
        assert client.say("and?")["container"]["id"] == first["id"]
        assert client.state()["reused"] == 1
        assert "container" not in Client(client.server).say("hello")

    def test_created_while_its_code_is_still_streamed(self, serve: Serve) -> None:
        turn = program("print(1)", container_at="message_start", chunk_delay_ms=100)
        client = Client(serve(turn, DONE), stream=True)
        worker = threading.Thread(target=client.say)
        worker.start()
        state = wait_for(lambda: client.server.containers)[0]
        assert (state["state"], state["programs"]) == ("created", 0)
        worker.join(20)
        assert client.events[0]["message"]["container"]["id"] == state["id"]
        assert client.state()["reused"] == 0, "one response named it, if twice"

    def test_the_page_is_closed_with_the_journal(self, serve: Serve) -> None:
        with pytest.raises(Refused) as error:
            call_api(serve(DONE, open_journal=False), "/_containers")
        assert error.value.status == 404


class TestWhatOutlivesAProgram:
    def test_names_and_files_in_one_container_and_not_in_another(self, serve: Serve) -> None:
        show = program("print(x, open('a.txt').read())")
        first = program("x = 5\nopen('a.txt', 'w').write('kept')")
        client = Client(serve(first, DONE, show, DONE, show, DONE))
        client.run()
        client.run()
        assert client.outcome["stdout"] == "5 kept\n" and client.state()["programs"] == 2
        other = Client(client.server)
        other.run()
        assert "NameError" in other.outcome["stderr"] and other.container != client.container

    def test_more_containers_than_processes(self, serve: Serve) -> None:
        """Those put aside are restored where they were, idle or paused."""
        turns = [program(f"x = {n}\nprint(x, await read('a'), x)") for n in range(4)]
        server = serve(*turns, *[DONE] * 4, containers=ContainerOptions(most_live=1))
        clients = [Client(server) for _ in range(4)]
        for client in clients:
            client.say()
        for number, client in enumerate(clients):
            client.answer()
            assert client.outcome["stdout"] == f"{number} a {number}\n"

    def test_a_program_that_nobody_answers_is_ended_by_the_next_prompt(self, serve: Serve) -> None:
        waits = program("x = 1\ntry:\n    await read('a')\nfinally:\n    x = 2")
        client = Client(serve(waits, {"text": "All right."}, program("print(x)"), DONE))
        client.say()
        # As a client does that was stopped: the message is cut at the program.
        client.messages.pop()
        client.say("never mind")
        assert client.last["content"][0]["text"] == "All right."
        assert (client.state()["state"], client.state()["pending"]) == ("idle", 0)
        client.run("show x")
        assert client.outcome["stdout"] == "2\n"


class TestTimeOut:
    OPTIONS = ContainerOptions(result_seconds=0.15)

    def test_the_code_sees_a_timeout_error(self, serve: Serve) -> None:
        code = "try:\n    await read('a')\nexcept TimeoutError as error:\n    print(error)"
        client = Client(serve(program(code), DONE, containers=self.OPTIONS))
        client.say()
        is_now(client, "idle")
        client.answer()
        assert client.outcome["stdout"] == "read: no result within 0.15 seconds\n"
        assert client.last["content"][-1]["text"] == "That was it."

    def test_uncaught_it_ends_the_program(self, serve: Serve) -> None:
        client = Client(serve(program(ONE), DONE, containers=self.OPTIONS))
        client.say()
        is_now(client, "idle")
        client.answer()
        assert client.outcome["stderr"].splitlines()[-1].startswith("TimeoutError: read: no result")
        assert client.outcome["return_code"] == 1

    def test_a_late_answer_gets_the_call_that_came_meanwhile(self, serve: Serve) -> None:
        """The program tries again after the time-out; its new call waits as long anew."""
        code = "try:\n    await read('a')\nexcept TimeoutError:\n    print(await read('again'))"
        options = ContainerOptions(result_seconds=0.6)
        client = Client(serve(program(code), DONE, containers=options))
        client.say()
        first = client.calls[0]["id"]
        wait_for(lambda: client.state()["pending_ids"] not in ([], [first]))
        client.answer()
        assert [c["input"] for c in client.calls] == [{"path": "again"}]
        assert client.calls[0]["id"] != first
        client.answer()
        assert client.outcome["stdout"] == "again\n"

    def test_an_answer_in_time_stops_the_clock(self, serve: Serve) -> None:
        client = Client(serve(program(ONE), DONE, containers=ContainerOptions(result_seconds=0.3)))
        client.say()
        client.answer()
        time.sleep(0.4)
        assert client.outcome["stdout"] == "a\n" and client.state()["state"] == "idle"


class TestExpiry:
    def expired(self, serve: Serve, *turns: Any, **options: Any) -> Client:
        """A client whose program waits in a container that has expired."""
        chosen = ContainerOptions(idle_seconds=0.1, **options)
        client = Client(serve(program("x = 1\n" + ONE), *turns, containers=chosen))
        client.say()
        is_now(client, "expired")
        assert client.state()["pending"] == 0
        return client

    def test_a_request_that_names_it_is_refused_by_name(self, serve: Serve) -> None:
        client = self.expired(serve, program("print(x)"), DONE)
        for content in (client.results(), "never mind"):
            messages = client.messages if content != "never mind" else client.messages[:-1]
            body = client.body(messages=[*messages, {"role": "user", "content": content}])
            with pytest.raises(Refused) as error:
                call_api(client.server, "/v1/messages", body)
            assert error.value.status == 400
            assert "has expired (container_expired)" in error.value.message
            assert client.container is not None and client.container in error.value.message

    def test_then_a_new_one_works(self, serve: Serve) -> None:
        client = self.expired(serve, program("print('new')\nx"), DONE)
        old, client.container = client.container, None
        client.messages.pop()
        client.run("again")
        assert client.container not in (None, old)
        assert client.outcome["stdout"] == "new\n" and "NameError" in client.outcome["stderr"]

    def test_untyped_as_seen_in_the_field(self, serve: Serve) -> None:
        client = self.expired(serve, expired_answer="untyped")
        with pytest.raises(Refused) as error:
            client.answer()
        assert (error.value.status, error.value.message) == (500, "Internal server error")

    def test_as_the_programs_result(self, serve: Serve) -> None:
        """The answers of a lost program are taken, and the model hears that it is lost."""
        lost = {"type": "code_execution_tool_result_error", "error_code": "container_expired"}
        client = self.expired(serve, DONE, program("1"), DONE, expired_answer="result")
        client.answer()
        assert client.outcome == lost and client.last["stop_reason"] == "end_turn"
        assert "container" not in client.last
        client.run("another program")
        assert client.outcome == lost, "it still names the old one"

    def test_one_in_use_does_not_expire(self, serve: Serve) -> None:
        code = "import asyncio\nawait asyncio.sleep(0.4)\nprint('on')"
        options = ContainerOptions(idle_seconds=0.15)
        client = Client(serve(program(code), DONE, containers=options))
        client.run()
        assert client.outcome["stdout"] == "on\n"

    def test_a_container_of_another_server_is_not_found(self) -> None:
        server = OfflineServer()
        server.start()
        try:
            client = Client(server, container="container_01elsewhere")
            with pytest.raises(Refused) as error:
                client.say("hello")
            assert (error.value.status, error.value.type) == (404, "not_found_error")
            assert "container_01elsewhere" in error.value.message
            client.container = None
            client.messages.clear()
            assert client.say("hello")["stop_reason"] == "end_turn"
        finally:
            server.stop()

    def test_a_scenario_may_name_containers_of_its_own(self, serve: Serve) -> None:
        client = Client(serve({"text": "hi", "container": "container_x"}, {"text": "there"}))
        client.say()
        assert client.say()["content"][0]["text"] == "there" and client.container == "container_x"


class TestStop:
    def test_a_running_program_does_not_hold_the_server_up(self, serve: Serve) -> None:
        client = Client(serve(program("while True: pass")), stream=True)

        def say() -> None:
            with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
                client.say()

        worker = threading.Thread(target=say)
        worker.start()
        wait_for(lambda: [c for c in client.server.containers if c["state"] == "busy"])
        started = time.monotonic()
        client.server.stop()
        assert time.monotonic() - started < 3
        worker.join(10)

    def test_nothing_of_the_sandbox_is_loaded_before_a_program_runs(self, serve: Serve) -> None:
        server = serve({"text": "hi"})
        Client(server).say()
        assert server.containers == []
        assert json.loads(call_api(server, "/_containers")) == []
