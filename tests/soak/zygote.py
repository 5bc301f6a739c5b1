"""Starts `agent-tui` often and quickly: one process imports it, each run is a fork of it.

    python zygote.py FD

On the socket FD: {"args", "cwd", "env", "plan"} with the files for stdin, stdout and stderr;
the answer is {"pid"}. {"wait": pid} is answered {"status"} (as subprocess has it) when that
run has ended. A run is a process of its own: killing it loses what it had in memory, closes
its files and ends its threads, as if it had been started from a shell. plan: see kill_points.
"""

import gc
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))


def serve(link: socket.socket) -> dict[str, Any]:
    """Forks on request; returns only in a fork, with its request."""
    while True:
        data, fds, _, _ = socket.recv_fds(link, 65_536, 3)
        if not data:
            os._exit(0)
        request = json.loads(data)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            link.send(json.dumps({"status": os.waitstatus_to_exitcode(status)}).encode())
            continue
        pid = os.fork()
        if pid == 0:
            link.close()
            for target, fd in enumerate(fds):
                os.dup2(fd, target)
                os.close(fd)
            return request
        for fd in fds:
            os.close(fd)
        link.send(json.dumps({"pid": pid}).encode())


def main() -> None:
    # What a run needs, imported once; nothing of it starts a thread or opens a file.
    import anthropic
    import anthropic.types.beta  # noqa: F401
    import httpx2  # noqa: F401

    import agent_tui.front_headless  # noqa: F401
    from agent_tui import cli
    from agent_tui.messages_api import ApiEndpoint, make_client

    make_client(ApiEndpoint(base_url="http://127.0.0.1:9"))
    # Else each run copies the memory of all that was imported: when it collects, and at its end.
    gc.collect()
    gc.freeze()
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    if request["plan"]:
        import kill_points

        kill_points.install(**request["plan"])
    sys.argv = ["agent-tui", *request["args"]]
    cli.main()


if __name__ == "__main__":
    main()
