"""What is typed is read as it comes; a paste is one piece, however small the terminal's buffer."""

import os
import threading

from agent_tui.lines.run import read_typed


def test_a_paste_that_comes_in_pieces_is_one() -> None:
    text = b"".join(b"line %d\n" % n for n in range(60_000))
    reads, writes = os.pipe()

    def paste() -> None:
        # Each piece ends with a line, as one of many does by chance.
        at = 0
        while at < len(text):
            end = text.index(b"\n", at + 4000) + 1 if at + 4000 < len(text) else len(text)
            os.write(writes, text[at:end])
            at = end

    thread = threading.Thread(target=paste)
    thread.start()
    try:
        assert read_typed(reads) == text
        thread.join()
        os.write(writes, b"typed\n")
        assert read_typed(reads) == b"typed\n"
        os.write(writes, text[:4000])
        os.close(writes)
        assert read_typed(reads) == text[:4000] and read_typed(reads) == b""
    finally:
        thread.join()
        os.close(reads)
