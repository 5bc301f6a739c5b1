"""Which script answers a text of the user."""

import re

from agent_tui.offline.demo import programs, talk, work
from agent_tui.offline.demo.scene import ScriptFn
from agent_tui.offline.demo.tour import tour

_QUOTED = r"\"[^\"]+\"|'[^']+'|`[^`]+`"
_PATH = rf"(?:{_QUOTED}|[^\s,:]+)"
_SOME = rf"(?:{_QUOTED}|.+?)"
_LINES = r"(?:,?\s+lines?\s+(?P<first>\d+)(?:\s*(?:-|–|to)\s*(?P<last>\d+))?)?"

INTENTS: list[tuple[str, ScriptFn]] = [
    (
        r"(?:who|what) are you\b.*|(?:which|what) model\b.*|are you (?:real|an?|the|claude)\b.*",
        talk.who,
    ),
    (r"/?help\b.*|what can (?:you|i) do\b.*|commands", talk.help_),
    (
        r"(?:hi|hello|hey|good (?:morning|evening|day)|thanks?(?: you)?)(?: there| again)?",
        talk.hello,
    ),
    (r"/?(?:the |a )?tour\b.*|(?:give|show) me (?:a|the) tour\b.*", tour),
    (r"(?:stop|enough|cancel)\b.{0,40}|never mind", talk.stop),
    (r"(?:which|what|list|show)(?: me)?(?: the| your| all)* tools\b.*", talk.tools),
    (r"(?:show|make)(?: me)? a refusal|refuse\b.*", talk.refusal),
    (
        r"(?:write|show|give)(?: me)? (?:(?P<words>\d+) words\b.*"
        r"|a (?P<very>very )?long (?:answer|text|reply|message|essay)\b.*"
        r"|(?:some )?(?:markdown|a table|code)\b.*)",
        talk.long,
    ),
    (r"count(?: the| all)? lines\b.*\bprogram\b.*", programs.count_lines),
    (
        r"(?:run|show|start|make|write|try|do|call)(?: me)?(?: (?:.* )?(?:in|with|by|from))?"
        r"(?: a| the| another| one)?(?: small| short)? program\b(?![./])(?P<what>.*)",
        programs.program,
    ),
    (
        r"(?:make|let|show)(?: me)?(?: a| the)? (?:tool fail|error|failure|failing).*|fail",
        work.fail,
    ),
    (
        r"(?:run|do|call|make) (?P<count>two|three|four|five|\d+)? ?"
        r"(?:things|calls|tools|commands) (?:at once|at the same time|in parallel|together)\b.*"
        r"|(?:parallel|in parallel)(?: calls)?",
        work.parallel,
    ),
    (
        r"(?:(?:list|show)(?: me)?(?: all)?(?: the| my)? files(?: (?:in|of|under|here))?|ls|list)"
        rf"(?: (?P<path>{_PATH}))?|what files are (?:there|here)",
        work.list_files,
    ),
    (
        rf"(?:read|open|view|cat|show)(?: me)?(?: the)?(?: files?)? (?P<paths>{_PATH}"
        rf"(?:\s*,\s*(?:and\s+)?{_PATH}|\s+and\s+{_PATH})*){_LINES}",
        work.read_files,
    ),
    (
        r"(?:find|glob)(?: the| all)?(?: files)?(?: named| like| matching)? "
        r"(?P<pattern>[^\s*?]*[*?]\S*)",
        work.find_files,
    ),
    (
        rf"(?:(?:search|grep)(?: for)?|look for) (?P<pattern>{_SOME})(?: in (?P<path>{_PATH}))?",
        work.search,
    ),
    (
        r"(?:wait|sleep)(?: for)? (?P<seconds>\d+) ?(?:s|sec|seconds?)?"
        r"|(?:run |do )?something slow",
        work.wait,
    ),
    (
        r"(?:run|execute|\$)(?: the command)?:? "
        r"(?:`(?P<ticked>[^`]+)`|(?!(?:the|an?|it|this|that|your|my)\b)(?P<command>[^`\s].*))",
        work.run,
    ),
    (
        rf"(?:edit|change)(?: the file)? (?P<path>{_PATH})\s*[:,]?\s+replace\s+"
        rf"(?P<old>{_SOME})\s+(?:by|with)\s+(?P<new>.*)",
        work.edit,
    ),
    (
        rf"(?:write|create)(?: the file| a file)? (?P<path>{_PATH})"
        r"(?::\s*|\s+with(?: the text)?\s+)(?P<content>.+)",
        work.write,
    ),
    (r"count(?: the| all)? lines\b.*", work.count_lines),
    (
        r"(?:call(?: the)?(?: tool)?|use(?: the)?(?: tool)?(?=.*\{)) "
        r"(?P<tool>[`'\"]?[\w-]+[`'\"]?)(?: tool)?(?: with)?\s*(?P<arguments>`?\{.*\}`?)?",
        work.call_tool,
    ),
    (r"think(?: hard| deeply)?(?: about)? (?P<topic>.+)", talk.think),
    (r"(?:repeat(?: after me)?|echo|say)\s*:?\s+(?P<text>.+)", talk.echo),
    (r"summari[sz]e\b.*|(?:create|write) a (?:detailed )?summary\b.*", talk.summarize),
]
"""(pattern for the whole text, script), the first that fits is taken."""

_PATTERNS = [(re.compile(pattern, re.I | re.S), script) for pattern, script in INTENTS]
_LEAD_IN = re.compile(
    r"(?:please|now|then|next|ok(?:ay)?|also|and|but|no|never ?mind|actually|instead|hi|hello|hey|"
    r"(?:can|could|would|will) you|i want you to|let'?s)\b[\s,.:;!-]*",
    re.I,
)
_MOST_LEAD_INS = 6
_LONGEST_TASK = 20_000


def find_script(text: str) -> tuple[ScriptFn, re.Match[str]] | None:
    """The script for a text of the user, or None. Polite words in front do not count."""
    plain = text.strip()
    if len(plain) > _LONGEST_TASK:
        return None
    for _ in range(_MOST_LEAD_INS):
        if not plain:
            break
        for candidate in (re.sub(r"\s+instead\W*$", "", plain), plain, plain.rstrip(" .!?")):
            for pattern, script in _PATTERNS:
                if match := pattern.fullmatch(candidate):
                    return script, match
        lead_in = _LEAD_IN.match(plain)
        if lead_in is None:
            return None
        plain = plain[lead_in.end() :]
    return None
