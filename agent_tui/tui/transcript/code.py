"""Code: highlighted lines of a fence, a file or a program, in parts of CHUNK lines.

While a fence is open its new lines are coloured one after the other from the lexer state
where the last one ended. When it is closed the whole text is highlighted once in a thread;
colours may then improve, text and heights never change.
"""

import logging
import threading
from collections.abc import Callable, Collection
from functools import lru_cache
from queue import SimpleQueue
from typing import Any

from agent_tui.tui.transcript.lines import Line, Look, Prefix, Runs, lay_runs
from agent_tui.tui.transcript.parts import CHUNK, Part

_log = logging.getLogger(__name__)

HIGHLIGHT_LIMIT = 300_000
"""Characters; longer code stays plain."""

_CATCH_UP = 200
"""If more new lines than this came at once, only the last of them are coloured for now."""

CODE_PREFIX = Prefix([("  ", "code-block")], [("  ", "code-block")])

LineRuns = list[Runs]


_NONE: frozenset[int] = frozenset()


class Code:
    """The lines of one piece of code and their colours. Lines are safe text.

    soft: indexes of lines that go on in the next one (a line longer than a part may be).
    """

    __slots__ = ("_live", "closed", "colours", "language", "lines", "partial", "requested", "soft")

    def __init__(self, language: str = "", lines: list[str] | None = None, *, closed: bool = False):
        self.language = language
        self.lines: list[str] = lines if lines is not None else []
        self.soft: set[int] | frozenset[int] = _NONE
        self.partial = ""
        self.closed = closed
        self.colours: LineRuns | None = None
        self.requested = False
        self._live: _LiveLexer | None = None

    @property
    def text(self) -> str:
        return "".join(
            line + ("" if index in self.soft else "\n") for index, line in enumerate(self.lines)
        )

    def runs(self, start: int, end: int) -> LineRuns:
        """The coloured runs of lines [start, end), as far as colours are known."""
        if self.colours is not None:
            return self.colours[start:end]
        if not self.closed and self.language:
            if self._live is None:
                lexer = lexers.ready(self.language)
                if lexer is not None:
                    self._live = _LiveLexer(lexer)
            if self._live is not None:
                return self._live.runs(self.lines, start, end)
        return [[(line, "code")] for line in self.lines[start:end]]

    def add(self, line: str, *, soft: bool = False) -> None:
        """One more line; soft: it goes on in the next."""
        if soft:
            self.soft = {*self.soft, len(self.lines)}
        self.lines.append(line)
        self.partial = ""

    def close(self) -> None:
        self.closed = True
        self.partial = ""
        self._live = None

    @property
    def wants_highlight(self) -> bool:
        return (
            self.closed
            and self.colours is None
            and not self.requested
            and bool(self.language)
            and sum(map(len, self.lines)) <= HIGHLIGHT_LIMIT
        )

    def highlighted(self) -> LineRuns | None:
        """Colours of the whole; for a thread. None: no lexer, or it failed."""
        try:
            lexer = lexers.load(self.language)
            if lexer is None:
                return None
            pieces = [(value, style_of(kind)) for kind, value in lexer.get_tokens(self.text)]
        except Exception:  # a lexer is foreign code: its failure costs the colours only
            _log.warning("highlighting %r failed", self.language, exc_info=True)
            return None
        return _align(pieces, self.lines, self.soft)


def _align(
    pieces: list[tuple[str, str]], lines: list[str], soft: Collection[int]
) -> LineRuns | None:
    """Cut coloured text into our lines; None if the lexer did not give the text back."""
    out: LineRuns = []
    at = 0  # in pieces
    rest, style = pieces[0] if pieces else ("", "")
    for index, line in enumerate(lines):
        runs: Runs = []
        need = len(line)
        while need:
            if not rest:
                at += 1
                if at >= len(pieces):
                    return None
                rest, style = pieces[at]
                continue
            piece, rest = rest[:need], rest[need:]
            runs.append((piece, style))
            need -= len(piece)
        if "".join(text for text, _ in runs) != line:
            return None
        out.append(runs or [("", "code")])
        if index in soft:
            continue
        while not rest and at + 1 < len(pieces):
            at += 1
            rest, style = pieces[at]
        if rest.startswith("\n"):
            rest = rest[1:]
    return out


class _LiveLexer:
    """Colours line after line, each from the state in which the last one ended."""

    def __init__(self, lexer: Any) -> None:
        self._lexer = lexer
        self._stack: list[str] = ["root"]
        self._done: dict[int, Runs] = {}
        self._next = 0
        self._dead = not hasattr(lexer, "_tokens")

    def runs(self, lines: list[str], start: int, end: int) -> LineRuns:
        if not self._dead:
            if len(lines) - self._next > _CATCH_UP:
                self._next = max(start, len(lines) - _CATCH_UP)
                self._stack = ["root"]
                self._done.clear()
            while self._next < min(end, len(lines)) and not self._dead:
                self._done[self._next] = self._line(lines[self._next])
                self._done.pop(self._next - 4 * CHUNK, None)
                self._next += 1
        return [self._done.get(i) or [(lines[i], "code")] for i in range(start, end)]

    def _line(self, line: str) -> Runs:
        from pygments.lexer import ExtendedRegexLexer, LexerContext

        context = LexerContext(line + "\n", 0, list(self._stack))
        runs: Runs = []
        try:
            for _, kind, value in ExtendedRegexLexer.get_tokens_unprocessed(
                self._lexer, context=context
            ):
                value = value.removesuffix("\n")
                if value:
                    runs.append((value, style_of(kind)))
        except Exception:  # callbacks of some lexers cannot be driven line by line
            _log.debug("no live colours for %r", self._lexer, exc_info=True)
            self._dead = True
            return [(line, "code")]
        self._stack = list(context.stack) or ["root"]
        if "".join(text for text, _ in runs) != line:
            return [(line, "code")]
        return runs or [("", "code")]


class Lexers:
    """Pygments lexers by language name. Loading one imports a module: that is for threads."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        self._lock = threading.Lock()

    def load(self, language: str) -> Any | None:
        """The lexer, imported now if need be. None: unknown language."""
        with self._lock:
            if language in self._known:
                return self._known[language]
        from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
        from pygments.util import ClassNotFound

        lexer = None
        options: dict[str, Any] = {"stripnl": False, "ensurenl": True}
        try:
            if language.startswith("file:"):
                lexer = get_lexer_for_filename(language.removeprefix("file:"), **options)
            else:
                lexer = get_lexer_by_name(language, **options)
        except ClassNotFound:
            pass
        except Exception:  # a broken plugin lexer
            _log.warning("no lexer for %r", language, exc_info=True)
        with self._lock:
            return self._known.setdefault(language, lexer)

    def ready(self, language: str) -> Any | None:
        """The lexer if it is loaded already; else starts loading it and gives None."""
        with self._lock:
            if language in self._known:
                return self._known[language]
        highlighter.load(language)
        return None


class Highlighter:
    """One thread that loads lexers and highlights closed code. It keeps no program alive."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loading: set[str] = set()

    def submit(self, job: Callable[[], object]) -> None:
        """Run this in the thread, after what was submitted before."""
        self._jobs.put(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="highlight", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            self._jobs.get()()

    def load(self, language: str) -> None:
        """Import the lexer of a language, so that Lexers.ready() gives it."""
        if language not in self._loading:
            self._loading.add(language)
            self.submit(lambda: lexers.load(language))

    def highlight(self, code: Code, done: Callable[[Code, LineRuns | None], object]) -> None:
        """`done` is called in the thread, with None where there are no colours."""
        code.requested = True
        self.submit(lambda: done(code, code.highlighted()))


lexers = Lexers()
highlighter = Highlighter()


@lru_cache(maxsize=512)
def style_of(kind: Any) -> str:
    """The style name of a pygments token type."""
    name = str(kind)
    for prefix, style in _TOKEN_STYLES:
        if name.startswith(prefix):
            return style
    return "code"


_TOKEN_STYLES = (
    ("Token.Comment.Preproc", "code-keyword"),
    ("Token.Comment", "code-comment"),
    ("Token.Keyword", "code-keyword"),
    ("Token.Operator.Word", "code-keyword"),
    ("Token.Literal.String", "code-string"),
    ("Token.Literal.Number", "code-number"),
    ("Token.Name.Function", "code-name"),
    ("Token.Name.Class", "code-name"),
    ("Token.Name.Decorator", "code-name"),
    ("Token.Name.Tag", "code-keyword"),
    ("Token.Name.Builtin", "code-builtin"),
    ("Token.Name.Exception", "code-builtin"),
    ("Token.Name.Attribute", "code-builtin"),
    ("Token.Generic.Inserted", "diff-add"),
    ("Token.Generic.Deleted", "diff-del"),
    ("Token.Generic.Heading", "code-name"),
    ("Token.Generic.Subheading", "code-name"),
)


class CodePart(Part):
    """Lines [start, end) of a Code (end None: to its end, while it grows)."""

    __slots__ = ("_prefix", "code", "end", "start")

    def __init__(
        self, code: Code, start: int, end: int | None, gap: int = 0, prefix: Prefix = CODE_PREFIX
    ) -> None:
        super().__init__(gap)
        self.code = code
        self.start = start
        self.end = end
        self._prefix = prefix

    def _bounds(self) -> tuple[int, int]:
        return self.start, len(self.code.lines) if self.end is None else self.end

    def estimate(self, width: int) -> int:
        start, end = self._bounds()
        room = max(1, width - 2)
        rows = sum(len(line) // room + 1 for line in self.code.lines[start:end])
        return max(1, rows + bool(self.end is None and self.code.partial))

    def head(self, lines: int) -> Part:
        start, end = self._bounds()
        return CodePart(self.code, start, min(end, start + lines), self.gap, self._prefix)

    def lay_out(self, look: Look) -> list[Line]:
        start, end = self._bounds()
        out: list[Line] = []
        for index, runs in enumerate(self.code.runs(start, end), start):
            lay_runs(runs, look, out, self._prefix, fill="code-block", hard=True)
            if index in self.code.soft:
                out[-1].join = ""
        if self.end is None and self.code.partial:
            partial = [(self.code.partial, "code")]
            lay_runs(partial, look, out, self._prefix, fill="code-block", hard=True)
        if not out and self.start == 0:
            lay_runs([("", "code")], look, out, self._prefix, fill="code-block", hard=True)
        return out

    def source(self) -> str:
        start, end = self._bounds()
        return "\n".join(self.code.lines[start:end])


def code_parts(code: Code, *, gap: int = 0, prefix: Prefix = CODE_PREFIX) -> list[Part]:
    """A whole code in parts of CHUNK lines."""
    return [
        CodePart(code, start, min(start + CHUNK, len(code.lines)), gap if start == 0 else 0, prefix)
        for start in range(0, max(1, len(code.lines)), CHUNK)
    ]
