"""The demo: a scripted guide that answers through real tool calls over the real protocol.
Deterministic and without state: what it says about a result is read from the request.
"""

from agent_tui.offline.demo.guide import DemoGuide as DemoGuide
from agent_tui.offline.demo.guide import demo_reply as demo_reply
