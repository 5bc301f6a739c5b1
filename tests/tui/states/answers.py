"""What the model says, as it comes and when it is whole."""

from tests.tui.states.harness import User, held, recorded, state

PROSE = (
    "Each item asks the database for its price, so a cart of forty items makes forty round "
    "trips. One query for all prices would do:\n\n"
    "1. collect the ids,\n2. ask once,\n3. sum up what comes back.\n\n"
    "The tests cover an empty cart only"
)
CODE = (
    "Like this:\n\n```python\ndef total(items):\n    prices = db.prices(items)\n"
    "    return sum(prices[item] for item in items)\n```\n\nNothing else changes."
)


@state(held({"text": PROSE}))
async def text_streams(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("an empty cart only")


@state({"text": PROSE + ", so I'd add one first."})
async def text_is_whole(user: User) -> None:
    await user.ask("why is checkout slow?", "add one first")


@state(held({"text": CODE[: CODE.index("return") + 20]}))
async def code_is_open(user: User) -> None:
    await user.say("show me")
    await user.sees("return sum(price")


@state({"text": CODE})
async def code_is_closed(user: User) -> None:
    await user.ask("show me", "Nothing else changes")


@state(held({"thinking": "The cart asks for each price alone. That is one query for each item."}))
async def thinking_streams(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("thinking")
    await user.waits(3.4)


@state(
    {"thinking": "The cart asks for each price alone.\nThat is a query for each item.",
     "text": "It asks the database once for each item."},
)  # fmt: skip
async def thinking_is_folded(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")


@state(
    {"thinking": "The cart asks for each price alone.\nThat is a query for each item.",
     "text": "It asks the database once for each item."},
)  # fmt: skip
async def thinking_is_open(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")
    await user.press("ctrl+t")
    await user.sees("That is a query")


@state({"blocks": [
    {"type": "redacted_thinking", "data": "RU5DUllQVEVE"},
    {"type": "text", "text": "It asks the database once for each item."},
]})  # fmt: skip
async def thinking_is_redacted(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")


TABLE = (
    "| query | before | after |\n|---|--:|--:|\n| price of an item | 40 | 0 |\n"
    "| prices of all items, in one go | 0 | 1 |\n| stock | 1 | 1 |\n\n"
    "That is **2** instead of *41*; see [the driver](https://example.com/driver) or `db.py`."
)


@state({"text": TABLE})
async def table(user: User) -> None:
    await user.ask("compare them", "That is")


WIDE = (
    "| table | what it holds | how it grows | who reads it |\n|---|---|---|---|\n"
    "| prices | one row for each item and each day on which its price has changed | slowly | "
    "checkout, search and the nightly export |\n| stock | what is in which warehouse | at each "
    "order | checkout |\n"
)


@state({"text": WIDE})
async def wide_table(user: User) -> None:
    await user.ask("which tables are there?", "warehouse")


LISTS = (
    "# Plan\n\n1. Measure\n   - the cart\n     - with 1 item\n     - with 40 items\n   - search\n"
    "2. Fix\n   1. one query\n   2. a test\n\n- [x] measured\n- [ ] fixed\n\n> Never by guessing.\n"
    "\n---\n\n## After that\n\nA ~~week~~ day of watching."
)


@state({"text": LISTS})
async def lists_within_lists(user: User) -> None:
    await user.ask("make a plan", "day of watching")


SCRIPTS = (
    "| 言語 | 挨拶 | 長さ |\n|---|---|--:|\n| 日本語 | こんにちは世界 | 7 |\n| 한국어 | 안녕하세요 | 5 |\n"  # noqa: E501
    "| עברית | שלום עולם | 9 |\n| العربية | مرحبا بالعالم | 13 |\n| emoji | 👩‍💻 👍🏽 🇩🇪 ✅ | 4 |\n\n"  # noqa: E501
    "全角文字がたくさん並んでいるとても長い行でも、端で正しく折り返されなければなりません。句読点も行頭に来ません。\n\n"
    "e\u0301 and é, ｆｕｌｌ ｗｉｄｔｈ, a\u0308ther; שלום, then English."
)


@state({"text": SCRIPTS})
async def scripts_of_the_world(user: User) -> None:
    await user.ask("say hello", "then English")


@state({"text": "Here:\n\n```\n" + "a very long line of output " * 9 + "\n```\n\nand "
        "[bold](/some/path) [/] [data: /m?s=b-] stays as it is."})  # fmt: skip
async def what_looks_like_markup(user: User) -> None:
    await user.ask("show the log", "stays as it is")


@state({"text": "\n\n".join(f"Paragraph {n}: " + "checkout is slow. " * 9 for n in range(1, 60))})
async def long_answer_is_followed(user: User) -> None:
    await user.ask("write a long answer", "Paragraph 59")


# --- what the service does itself ---------------------------------------------------------------


@state(recorded("answer-web"), no_rules=True)
async def web_search_with_sources(user: User) -> None:
    await user.say("what is new?")
    await user.ready()


@state(recorded("answer-web"), no_rules=True)
async def web_search_is_open(user: User) -> None:
    await user.say("what is new?")
    await user.ready()
    await user.press("ctrl+o")


@state(recorded("answer-web-errors"), no_rules=True)
async def web_search_fails(user: User) -> None:
    await user.say("what is new?")
    await user.ready()


@state(recorded("answer-container"), no_rules=True)
async def code_is_run_by_the_service(user: User) -> None:
    await user.say("sum it up")
    await user.ready()
    await user.press("ctrl+o")


@state(recorded("answer-connector"), no_rules=True)
async def connector_is_called(user: User) -> None:
    await user.say("look it up")
    await user.ready()


@state(recorded("answer-documents"), no_rules=True)
async def documents_are_cited(user: User) -> None:
    await user.say("what does the contract say?")
    await user.ready()


@state(recorded("unknown-kinds"), no_rules=True)
async def blocks_nobody_knows(user: User) -> None:
    await user.say("surprise me")
    await user.ready()


@state(recorded("answer-marks"), no_rules=True)
async def compaction_and_fallback(user: User) -> None:
    await user.say("go on")
    await user.ready()


@state(recorded("stop-compaction"), no_rules=True)
async def compaction_ends_it(user: User) -> None:
    await user.say("go on")
    await user.ready()
