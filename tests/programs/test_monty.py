"""The sandbox: what runs, where it pauses, how it goes on, and what it cannot do."""

import asyncio
import time

import pytest
from sandbox_making import TOOLS, answer, finished, paused, run

from agent_tui.programs import CallResult, HostFunction, SandboxError, SandboxLimits
from agent_tui.programs.monty import MontySandbox, MontySession


class TestPauses:
    async def test_a_call_waits_for_its_text(self, session: MontySession) -> None:
        step = paused(await session.start("text = await read('a.txt')\nprint(text * 2)", TOOLS))
        (call,) = step.calls
        assert (call.name, call.arguments, call.line) == ("read", {"path": "a.txt"}, 1)
        done = finished(await answer(session, step, "ab"))
        assert (done.stdout, done.stderr, done.return_code) == ("abab\n", "", 0)

    async def test_a_json_result_is_handed_over_as_text(self, session: MontySession) -> None:
        """As the API does: the program parses it."""
        code = "import json\nraw = await read('a')\nprint(type(raw).__name__, json.loads(raw)['n'])"
        step = await session.start(code, TOOLS)
        assert finished(await answer(session, step, '{"n": 7}')).stdout == "str 7\n"

    async def test_gathered_calls_are_one_pause(self, session: MontySession) -> None:
        code = (
            "import asyncio\n"
            "a, b, c = await asyncio.gather(\n"
            "    read('a'),\n"
            "    read(path='b', limit=2),\n"
            "    read({'path': 'c'}),\n"
            ")\n"
            "print(a, b, c)"
        )
        step = paused(await session.start(code, TOOLS))
        assert [c.arguments for c in step.calls] == [
            {"path": "a"},
            {"path": "b", "limit": 2},
            {"path": "c"},
        ]
        assert [c.line for c in step.calls] == [3, 4, 5]
        assert len({c.id for c in step.calls}) == 3
        assert finished(await answer(session, step, "1", "2", "3")).stdout == "1 2 3\n"

    async def test_a_loop_of_20_is_20_pauses(self, session: MontySession) -> None:
        code = "out = []\nfor n in range(20):\n    out.append(await read(str(n)))\nprint(out)"
        step = await session.start(code, TOOLS)
        for n in range(20):
            assert [c.arguments for c in paused(step).calls] == [{"path": str(n)}]
            step = await answer(session, step, f"r{n}")
        assert finished(step).stdout == f"{[f'r{n}' for n in range(20)]}\n"

    async def test_tasks_that_go_on_at_different_times_pause_together(
        self, session: MontySession
    ) -> None:
        """A chain of two calls beside a single one: the second of the chain pauses alone."""
        code = (
            "import asyncio\n"
            "async def chain():\n"
            "    return await read('1') + await read('2')\n"
            "print(await asyncio.gather(chain(), read('3')))"
        )
        step = await session.start(code, TOOLS)
        first = {c.arguments["path"]: c.id for c in paused(step).calls}
        assert set(first) == {"1", "3"}
        step = await session.resume({first["1"]: CallResult("a"), first["3"]: CallResult("c")})
        assert [c.arguments["path"] for c in paused(step).calls] == ["2"]
        assert finished(await answer(session, step, "b")).stdout == "['ab', 'c']\n"

    async def test_the_recorded_dialect_runs(self, session: MontySession) -> None:
        """asyncio.run(main()) and a dict as the only argument: so a real model wrote."""
        code = (
            "import asyncio\n\nasync def main():\n"
            '    roll = await rollDie({"player": "player1"})\n'
            "    print(f'rolled {int(roll.strip())} 🎲')\n\nasyncio.run(main())\n"
        )
        schema = {"type": "object", "properties": {"player": {"enum": ["player1", "player2"]}}}
        tools = {"rollDie": HostFunction("rollDie", schema)}
        step = paused(await session.start(code, tools))
        assert step.calls[0].arguments == {"player": "player1"} and step.calls[0].line == 4
        assert finished(await answer(session, step, " 5\n")).stdout == "rolled 5 🎲\n"

    async def test_sleep_beside_a_call_does_not_keep_it_waiting(
        self, session: MontySession
    ) -> None:
        code = (
            "import asyncio, time\ntime.sleep(0.01)\n"
            "print(await asyncio.gather(asyncio.sleep(0.02), read('a'), asyncio.sleep(0.01)))"
        )
        step = await session.start(code, TOOLS)
        assert finished(await answer(session, step, "x")).stdout == "[None, 'x', None]\n"

    async def test_a_tool_by_the_name_of_a_builtin_is_the_tool(self, session: MontySession) -> None:
        tools = {"list": HostFunction("list", {"type": "object", "properties": {"path": {}}})}
        step = paused(await session.start("print(await list(path='src'))", tools))
        assert step.calls[0].arguments == {"path": "src"}

    async def test_a_tool_under_another_name_is_reported_by_its_own(
        self, session: MontySession
    ) -> None:
        tools = {"get_time": HostFunction("get-time", {"type": "object"})}
        step = paused(await session.start("print(await get_time())", tools))
        assert step.calls[0].name == "get-time"

    async def test_a_call_from_an_earlier_programs_function_has_no_line(
        self, session: MontySession
    ) -> None:
        await run(session, "async def helper(path):\n    return await read(path)")
        step = paused(await session.start("print(1)\nprint(await helper('x'))", TOOLS))
        assert step.calls[0].line is None


class TestErrors:
    async def test_an_error_of_the_program_is_a_traceback(self, session: MontySession) -> None:
        code = "def half(n):\n    return n / 0\n\nprint('before')\nhalf(1)\nprint('after')"
        done = await run(session, code)
        assert (done.stdout, done.return_code, done.failure) == ("before\n", 1, "exception")
        lines = done.stderr.splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert any("line 5, in <module>" in line for line in lines)
        assert any("line 2, in half" in line for line in lines)
        assert lines[-1] == "ZeroDivisionError: division by zero"

    async def test_a_syntax_error_runs_nothing(self, session: MontySession) -> None:
        done = await run(session, "print('x')\nfor in")
        assert done.stdout == "" and "SyntaxError" in done.stderr and done.return_code == 1

    async def test_an_error_result_is_raised_and_can_be_caught(self, session: MontySession) -> None:
        code = (
            "try:\n    await read('a')\nexcept RuntimeError as error:\n    print('caught', error)\n"
            "await read('b')"
        )
        step = paused(await session.start(code, TOOLS))
        failed = CallResult("no such file", "RuntimeError")
        step = await session.resume({step.calls[0].id: failed})
        (call,) = paused(step).calls
        done = finished(await session.resume({call.id: failed}))
        assert done.stdout == "caught no such file\n"
        assert done.stderr.endswith("RuntimeError: no such file\n") and "line 5" in done.stderr

    async def test_a_wrong_call_is_a_type_error_there(self, session: MontySession) -> None:
        done = await run(session, "await read(1, 2, 3)")
        assert "TypeError: read() takes 2 positional arguments but 3 were given" in done.stderr

    async def test_a_tool_that_is_not_offered_does_not_exist(self, session: MontySession) -> None:
        assert (
            "NameError: name 'write' is not defined"
            in (await run(session, "await write('x')")).stderr
        )

    async def test_a_tool_that_is_taken_away_does_not_exist_any_more(
        self, session: MontySession
    ) -> None:
        await run(session, "print(read)")
        done = await run(session, "await read('x')", tools={})
        assert "NameError: name 'read' is not defined" in done.stderr

    async def test_stderr_is_apart(self, session: MontySession) -> None:
        code = "import sys\nprint('a')\nprint('b', file=sys.stderr)\n1 / 0"
        done = await run(session, code)
        assert done.stdout == "a\n" and done.stderr.startswith("b\nTraceback")

    async def test_system_exit_is_no_error_without_words(self, session: MontySession) -> None:
        assert (await run(session, "print(1)\nraise SystemExit")).return_code == 0
        failed = await run(session, "raise SystemExit('that was it')")
        assert (failed.return_code, failed.stderr) == (1, "that was it\n")


class TestState:
    async def test_names_and_files_outlive_a_program_and_its_error(
        self, session: MontySession
    ) -> None:
        await run(session, "total = 1\nopen('a.txt', 'w').write('kept')\n1 / 0")
        done = await run(session, "total += 1\nprint(total, open('a.txt').read())")
        assert done.stdout == "2 kept\n"

    async def test_sessions_do_not_see_each_other(self, sandbox: MontySandbox) -> None:
        one, two = await sandbox.open(), await sandbox.open()
        await run(one, "x = 1\nopen('a.txt', 'w').write('x')")
        done = await run(two, "import os\nprint(os.listdir('.'))\nprint(x)")
        assert done.stdout == "[]\n" and "NameError" in done.stderr

    async def test_a_paused_program_survives_as_bytes(self, sandbox: MontySandbox) -> None:
        first = await sandbox.open()
        code = (
            "import asyncio\nprint('before')\nopen('f.txt', 'w').write('data')\nx = 5\n"
            "a, b = await asyncio.gather(read('a'), read('b'))\nprint(a, b, x)"
        )
        step = paused(await first.start(code, TOOLS))
        state = await first.dump()
        first.close()
        second, pause = await sandbox.restore(state)
        assert pause == step
        done = finished(await answer(second, step, "A", "B"))
        assert done.stdout == "before\nA B 5\n"
        assert [(f.path, f.data) for f in done.files] == [("/files/f.txt", b"data")]
        assert (await run(second, "print(x, open('f.txt').read())")).stdout == "5 data\n"

    async def test_an_idle_session_survives_as_bytes(self, sandbox: MontySandbox) -> None:
        first = await sandbox.open()
        await run(first, "x = 5\nopen('f.txt', 'w').write('data')")
        second, pause = await sandbox.restore(await first.dump())
        assert pause is None
        done = await run(second, "print(x, open('f.txt').read())")
        assert done.stdout == "5 data\n" and done.files == ()
        assert (await run(first, "print(x)")).stdout == "5\n", "the dumped one stays usable"

    async def test_an_interrupted_program_ends_and_its_names_stay(
        self, session: MontySession
    ) -> None:
        code = "x = 3\ntry:\n    await read('a')\nfinally:\n    print('cleaned up')"
        await session.start(code, TOOLS)
        done = await session.interrupt()
        assert done.stdout == "cleaned up\n" and "KeyboardInterrupt" in done.stderr
        assert done.return_code == 1 and not done.state_lost
        assert (await run(session, "print(x)")).stdout == "3\n"

    async def test_a_program_that_will_not_be_interrupted_is_ended(
        self, session: MontySession
    ) -> None:
        code = (
            "while True:\n    try:\n        await read('a')\n"
            "    except BaseException:\n        pass"
        )
        await session.start(code, TOOLS)
        done = await session.interrupt()
        assert done.state_lost and done.return_code == 1
        assert (await run(session, "print('new')")).stdout == "new\n"


class TestOddities:
    async def test_a_call_of_an_earlier_program_cannot_be_awaited(
        self, session: MontySession
    ) -> None:
        """It was never sent: the program that made it ended without waiting for it."""
        await run(session, "late = read('a')")
        done = await run(session, "print(await late)")
        assert done.stderr.startswith("RuntimeError: the call that is awaited belongs to")
        assert (await run(session, "print('on')")).stdout == "on\n"

    async def test_a_result_with_a_lone_surrogate_arrives(self, session: MontySession) -> None:
        step = await session.start("print(len(await read('a')))", TOOLS)
        assert finished(await answer(session, step, "a\ud800b")).return_code == 0
        assert (await run(session, "print('on')")).stdout == "on\n"

    async def test_code_that_is_no_text_is_a_syntax_error(self, session: MontySession) -> None:
        for code in ("print('\ud800')", "x = 1\x00"):
            done = await run(session, code)
            assert done.return_code == 1 and done.stderr
        assert (await run(session, "print('on')")).stdout == "on\n"

    async def test_one_error_of_several_is_raised_when_all_are_answered(
        self, session: MontySession
    ) -> None:
        code = (
            "import asyncio\ntry:\n    await asyncio.gather(read('a'), read('b'))\n"
            "except RuntimeError as error:\n    print(error)\nprint(await read('c'))"
        )
        step = paused(await session.start(code, TOOLS))
        first, second = (c.id for c in step.calls)
        results = {first: CallResult("bad", "RuntimeError"), second: CallResult("fine")}
        step = await session.resume(results)
        assert finished(await answer(session, step, "c")).stdout == "bad\nc\n"

    async def test_a_killed_interpreter_is_replaced(self, session: MontySession) -> None:
        await run(session, "x = 1\nopen('kept', 'w').write('kept')")
        step = paused(await session.start("await read('a')", TOOLS))
        session._kill()
        done = finished(await session.resume({step.calls[0].id: CallResult("")}))
        assert (done.failure, done.state_lost) == ("crash", True)
        done = await run(session, "print(open('kept').read())\nprint(x)")
        assert done.stdout == "kept\n" and "NameError" in done.stderr


class TestMisuse:
    async def test_a_second_start_while_paused(self, session: MontySession) -> None:
        step = await session.start("await read('a')", TOOLS)
        with pytest.raises(SandboxError, match="paused"):
            await session.start("print(1)", TOOLS)
        assert finished(await answer(session, step, "x")).return_code == 0

    async def test_results_that_do_not_answer_the_pause(self, session: MontySession) -> None:
        with pytest.raises(SandboxError, match="no program is paused"):
            await session.resume({})
        step = paused(await session.start("print(await read('a'))", TOOLS))
        wrong = step.calls[0].id + 1
        for results in ({}, {wrong: CallResult("x")}):
            with pytest.raises(SandboxError, match="do not answer"):
                await session.resume(results)
        assert finished(await answer(session, step, "x")).stdout == "x\n", "it waits on"

    async def test_a_closed_sandbox_opens_nothing(self, sandbox: MontySandbox) -> None:
        session = await sandbox.open()
        sandbox.close()
        sandbox.close()
        with pytest.raises(SandboxError, match="closed"):
            await sandbox.open()
        with pytest.raises(SandboxError, match="closed"):
            await session.start("print(1)", TOOLS)


class TestLimits:
    async def limited(self, code: str, **limits: float) -> object:
        box = MontySandbox(SandboxLimits(**limits))  # type: ignore[arg-type]
        try:
            session = await box.open()
            await run(session, "kept = 1\nopen('kept.txt', 'w').write('kept')")
            done = await run(session, code)
            after = await run(session, "print(open('kept.txt').read())")
            assert after.stdout == "kept\n", "the session goes on"
            return done
        finally:
            box.close()

    async def test_computing_time(self) -> None:
        done = await self.limited("print('on')\nwhile True:\n    pass", seconds=0.2)
        assert (done.failure, done.return_code, done.stdout) == ("time", 1, "on\n")
        assert done.state_lost and "TimeoutError" in done.stderr

    async def test_waiting_for_a_call_is_not_computing(self) -> None:
        box = MontySandbox(SandboxLimits(seconds=0.2))
        try:
            session = await box.open()
            step = await session.start("print(await read('a'))", TOOLS)
            await asyncio.sleep(0.3)
            assert finished(await answer(session, step, "x")).stdout == "x\n"
        finally:
            box.close()

    async def test_a_timeout_of_the_programs_own_is_no_limit(self) -> None:
        done = await self.limited("raise TimeoutError('time limit exceeded')")
        assert (done.failure, done.state_lost) == ("exception", False)

    async def test_memory(self) -> None:
        code = "x = [str(n) * 100 for n in range(10_000_000)]"
        done = await self.limited(code, memory_bytes=20_000_000)
        assert (done.failure, done.return_code) == ("memory", 1)

    async def test_output_is_cut_and_says_so(self) -> None:
        done = await self.limited("for n in range(100):\n    print('x' * 99)", output_chars=1000)
        assert done.return_code == 0
        assert done.stdout.startswith("x" * 99) and "[output cut: 9000 more" in done.stdout
        assert len(done.stdout) < 1100

    async def test_a_flood_of_output_is_ended(self) -> None:
        done = await self.limited("while True:\n    print('x' * 99)", output_chars=1000)
        assert done.failure == "output" and "20000 characters" in done.stderr

    async def test_sleep(self) -> None:
        start = time.monotonic()
        done = await self.limited("import time\ntime.sleep(100)", sleep_seconds=1)
        assert "TimeoutError: a program may sleep 1 seconds in all" in done.stderr
        assert time.monotonic() - start < 5

    async def test_calls(self) -> None:
        box = MontySandbox(SandboxLimits(calls=2))
        try:
            session = await box.open()
            step = await session.start("for n in range(3):\n    await read(str(n))", TOOLS)
            for _ in range(2):
                step = await answer(session, step, "")
            assert "a program may make 2 calls" in finished(step).stderr
        finally:
            box.close()

    async def test_files(self) -> None:
        code = "for n in range(10):\n    open(f'{n}.txt', 'w').write('x' * 400)"
        done = await self.limited(code, file_bytes=1000)
        assert "No space left: at most 1000 bytes" in done.stderr
        done = await self.limited(code, files=5)
        assert "No space left: at most 5 files" in done.stderr


class TestClosing:
    @pytest.mark.parametrize("code", ["while True:\n    pass", "import time\ntime.sleep(50)"])
    async def test_a_running_program_ends_at_once(self, session: MontySession, code: str) -> None:
        work = asyncio.ensure_future(session.start("print('on')\n" + code, TOOLS))
        await asyncio.sleep(0.1)
        session.close()
        done = finished(await asyncio.wait_for(work, 5))
        assert (done.failure, done.state_lost) == ("closed", True)

    async def test_two_at_once_are_refused(self, session: MontySession) -> None:
        work = asyncio.ensure_future(session.start("import time\ntime.sleep(0.3)", TOOLS))
        await asyncio.sleep(0.1)
        with pytest.raises(SandboxError, match="running"):
            await session.start("print(1)", TOOLS)
        assert finished(await work).return_code == 0


class TestIsolation:
    @pytest.mark.parametrize(
        "code",
        [
            "import os\nos.system('true')",
            "import subprocess",
            "import socket",
            "import ctypes",
            "open('/etc/passwd').read()",
            "from pathlib import Path\nPath('/etc/passwd').read_text()",
            "print(open('../../../../etc/hostname').read())",
            "__import__('os').fork()",
        ],
    )
    async def test_the_machine_is_out_of_reach(self, session: MontySession, code: str) -> None:
        done = await run(session, code)
        assert done.return_code == 1 and done.stdout == ""
        assert "Error" in done.stderr.splitlines()[-1]

    async def test_the_environment_is_not_ours(
        self, session: MontySession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
        done = await run(session, "import os\nprint(os.getenv('ANTHROPIC_API_KEY'), os.environ)")
        assert done.stdout.startswith("None ") and "sk-secret" not in done.stdout
