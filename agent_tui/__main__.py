"""python -m agent_tui."""

from agent_tui.entry import main

if __name__ == "__main__":
    main()
