"""Longer texts of the demo: help, the parts of a long answer, scripted thinking."""

from collections.abc import Iterator

CAN_DO = """\
- `list the files` · `read README.md` · `read a.txt and b.txt` · `find files *.py`
- `search TODO` · `run ls -la` · `wait 10 seconds` (time to steer)
- `write notes.txt: hello` · `edit notes.txt: replace hello by goodbye`
- `run two things at once` · `make a tool fail` · `count the lines of code`
- `count the lines of code with a program` · `run a program` (three calls at once, then a loop of \
20) · `run a program that writes a file` · `run a program that fails`
- `call TOOL with {"key": "value"}` for any tool of the request, MCP servers' too · `which tools`
- `think about rivers` · `write a long answer` · `write 5000 words` · `repeat after me: ...`
- `summarize` · `show a refusal` · `tour`"""

HELP = f"""\
I am a script that talks the Messages API: no model reads what you write. I know these requests:

{CAN_DO}

Tools really run on your machine, and what I say about them is read from their results. \
While I work, **Enter** steers me and **Tab** queues a follow-up."""

LONG_PARTS: list[str] = [
    """\
## {n}. How a turn goes

A prompt starts a *run*. A run is made of **turns**: in each, the model streams one message, the \
calls in it are executed, and their results go back in the next request.

1. The request holds the system prompt, the tools and every message so far.
2. The answer arrives as events:
   - `message_start` opens the message and carries the first usage figures;
   - each block has a `content_block_start`, its deltas, and a `content_block_stop`;
   - `message_delta` tells why it stopped, `message_stop` ends it.
3. With `stop_reason: "tool_use"` the calls run, and the loop goes on.

> A message typed meanwhile waits for the end of the turn. Then it goes out *after* the tool \
results, in the same user message.
""",
    """\
## {n}. Why it stopped

| stop reason | what the client does | runs calls? |
|:--|:--|:-:|
| `end_turn` | the turn is over; queued follow-ups go out | no |
| `tool_use` | runs the calls and answers with results | yes |
| `pause_turn` | sends the conversation back unchanged | no |
| `max_tokens` | says so; a call that was cut never runs | no |
| `refusal` | shows the details, offers to go back | no |
| `model_context_window_exceeded` | says so, offers to compact | no |
""",
    """\
## {n}. The same idea in several languages

Python:

```python
from collections import Counter
from pathlib import Path


def lines_by_suffix(folder: Path) -> Counter[str]:
    \"\"\"Lines of every text file below a folder, by suffix.\"\"\"
    counts: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file():
            try:
                counts[path.suffix] += len(path.read_text().splitlines())
            except UnicodeDecodeError:
                continue  # not text
    return counts
```

Rust:

```rust
fn longest<'a>(words: &'a [&'a str]) -> Option<&'a str> {{
    words.iter().copied().max_by_key(|w| w.chars().count())
}}
```

SQL:

```sql
SELECT region, year, SUM(amount) AS total
FROM sales
WHERE year BETWEEN 2024 AND 2026
GROUP BY region, year
ORDER BY total DESC;
```

Shell:

```bash
set -euo pipefail
git ls-files -z -- '*.py' | xargs -0 wc -l | sort -rn | head -n 20
```

A change, and some data:

```diff
-    return sum(db.price(item) for item in items)
+    prices = db.prices(items)
+    return sum(prices[item] for item in items)
```

```json
{{"type": "content_block_delta", "index": 1, "delta": {{"type": "text_delta", "text": "你好"}}}}
```
""",
    """\
## {n}. Lists inside lists

- a first point, with `code`, **strong** and *emphasis*
  - a second level, with a [link](https://example.com/a/long/path?with=a&query=string#part)
    - a third level
      1. numbered
      2. with two entries
- ~~struck out~~ and a line that ends with two spaces  
  so that this stands on a line of its own
- [x] a task that is done
- [ ] a task that is open
""",
    """\
## {n}. Other scripts

中文：终端里的每个汉字占两列，所以换行和光标都要按显示宽度计算，而不是按字符数计算。

日本語：端末では全角文字が二桁を占めます。「かな」と漢字とASCIIが混ざる行でも、折り返しは正しく行われるべきです。

한국어: 조합형과 완성형이 섞여 있어도 줄의 폭은 같아야 합니다.

Ελληνικά, кириллица, ไทย, हिन्दी; accents as one character (\u00e9) and as two (e\u0301); \
emoji of one and of many code points: 🙂 👩‍💻 🏳️‍🌈 🇪🇺.

| language | greeting | columns |
|---|---|--:|
| English | hello | 5 |
| 中文 | 你好 | 4 |
| 日本語 | こんにちは | 10 |
| 한국어 | 안녕하세요 | 10 |
""",
    """\
## {n}. A line without a break

The next line of code is wider than any terminal:

```text
0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 \
0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789
```

And a word that cannot be parted: \
Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaftsvorstandssitzung.
""",
    """\
## {n}. What a queue promises

Each message that waits has a place, a state and a point of delivery. It can be **edited**, \
**moved** and **withdrawn** until it is taken. It is delivered *exactly once*: a crash between \
taking and sending puts it back, and the record of the message in the session is the proof that \
it went out. Steering goes before follow-ups; follow-ups go out when the turn would end.

---
""",
]


def long_answer(words: int) -> str:
    """Markdown of at least that many words: the parts in turn, numbered through."""
    out = [
        "# A long answer\n\nThis text is scripted. It is here to show how long markdown streams, "
        "wraps, scrolls and copies.\n"
    ]
    count, number = len(out[0].split()), 0
    while count < words:
        part = LONG_PARTS[number % len(LONG_PARTS)].format(n=number + 1)
        out.append(part)
        count += len(part.split())
        number += 1
    out.append(f"*End of the long answer: {number} parts.*")
    return "\n".join(out)


def thinking_about(topic: str) -> Iterator[str]:
    """Paragraphs of scripted thinking around a topic, from general to particular."""
    yield f'The user asks me to think about "{topic}".'
    yield (
        "No model is behind this, so what I can do is show how thinking streams: a summary that "
        "grows, can be folded, and ends with a signature."
    )
    for question in (
        f'Which part of "{topic}" is the question really about?',
        f'What would be different if "{topic}" were ten times larger, or not there at all?',
        f'Who has to live with a wrong answer about "{topic}", and how would they notice?',
        f'Which small experiment would tell the most about "{topic}"?',
    ):
        yield (
            f"{question} A real model would follow this question for a while; the script only "
            "names it and goes on, at the speed at which text usually arrives."
        )
    yield "That is enough thinking for a demonstration. I answer in a few lines."
