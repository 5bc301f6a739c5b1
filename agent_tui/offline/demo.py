from typing import Any
from agent_tui.offline.answers import Answer
from agent_tui.offline.models import demo_models
from agent_tui.offline.signing import is_signed
from agent_tui.offline.wire import Reply


class DemoGuide:
    any_model = False
    check_rules = True

    def __init__(self):
        self.models = demo_models()

    def knows_signature(self, t, s):
        return is_signed(t, s)

    async def answer(self, body):
        return Answer(reply=Reply([{"type": "text", "text": "demo: scripted replies, no model"}]))
