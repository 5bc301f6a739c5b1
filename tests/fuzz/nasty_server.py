"""An MCP server whose every name, title and text is harmful. Standard library only.

python nasty_server.py FILE          FILE: the harmful text
"""

import json
import sys
from pathlib import Path
from typing import Any

EVIL = Path(sys.argv[1]).read_bytes().decode()


def answer(method: str) -> dict[str, Any] | None:
    schema = {"type": "object", "title": EVIL, "properties": {}}
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": EVIL, "title": EVIL, "version": EVIL},
                "instructions": EVIL,
            }
        case "tools/list":
            more = {"title": EVIL, "description": EVIL, "inputSchema": schema}
            return {"tools": [{"name": "tool"} | more, {"name": EVIL} | more]}
        case "tools/call":
            return {"content": [{"type": "text", "text": EVIL}], "structuredContent": {EVIL: EVIL}}
        case "resources/list":
            return {"resources": [{"uri": "evil://x", "name": EVIL, "description": EVIL}]}
        case "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "evil://{x}", "name": EVIL}]}
        case "prompts/list":
            return {"prompts": [{"name": "prompt", "title": EVIL, "description": EVIL}]}
        case "ping":
            return {}
        case _:
            return None


print(EVIL, file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"])
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    reply |= {"error": {"code": -1, "message": EVIL}} if result is None else {"result": result}
    print(json.dumps(reply), flush=True)
