from agent_tui.tui.input_history import InputHistory


def test_up_walks_back_and_down_returns_to_the_draft():
    past = InputHistory()
    past.add("one")
    past.add("two")
    assert past.previous("half a draft") == "two"
    assert past.previous("two") == "one"
    assert past.previous("one") is None
    assert past.next() == "two"
    assert past.next() == "half a draft"
    assert past.next() is None


def test_the_same_text_twice_in_a_row_is_kept_once_and_empty_ones_never():
    past = InputHistory()
    for text in ("a", "a", "", "  ", "b", "a"):
        past.add(text)
    assert past.entries == ["a", "b", "a"]


def test_a_secret_typed_behind_login_is_not_kept():
    past = InputHistory()
    past.add("/login sk-ant-secret")
    past.add("  /login sk-ant-other")
    assert past.entries == ["/login"]


def test_search_finds_every_word_newest_first_without_repeats():
    past = InputHistory()
    for text in ("fix the cart", "run tests", "fix the tests", "run tests"):
        past.add(text)
    assert past.search("tests") == ["run tests", "fix the tests"]
    assert past.search("FIX te") == ["fix the tests"]
    assert past.search("nothing like it") == []


def test_typing_ends_the_walk():
    past = InputHistory()
    past.add("one")
    past.previous("")
    past.leave()
    assert past.next() is None
    assert past.previous("one more") == "one"
