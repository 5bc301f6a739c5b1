"""Sandboxes that run model-written Python and pause at host calls.
Used by the offline server and by the local program tool.
"""

from agent_tui.programs.arguments import ArgumentsError, bind_arguments, function_names
from agent_tui.programs.protocol import (
    CallResult,
    Failure,
    Finished,
    HostCall,
    HostFunction,
    Paused,
    Sandbox,
    SandboxError,
    SandboxLimits,
    SandboxSession,
    Step,
    WrittenFile,
)

__all__ = [
    "ArgumentsError",
    "CallResult",
    "Failure",
    "Finished",
    "HostCall",
    "HostFunction",
    "Paused",
    "Sandbox",
    "SandboxError",
    "SandboxLimits",
    "SandboxSession",
    "Step",
    "WrittenFile",
    "bind_arguments",
    "function_names",
]
