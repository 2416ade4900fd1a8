# Everything runs in .venv, which the first command makes.
PYTHON ?= python3
BIN := .venv/bin
DEMO := .demo

PYTEST := pytest -q -n auto --dist worksteal

.PHONY: demo test check nightly adapters coverage static lint types mypy pyright contracts docs release site

demo: .venv/demo
	$(BIN)/memnet ingest examples/saltmere/memory --store $(DEMO)/saltmere
	@for question in \
		"In which town was the builder of the Orre Light born?" \
		"Which ports does the Morning Petrel call at?" \
		"What is the capital of Portugal?"; do \
		echo; echo "\$$ memnet ask \"$$question\" --explain"; \
		$(BIN)/memnet ask "$$question" --explain --store $(DEMO)/saltmere || exit 1; \
	done
	@echo; echo "From a PDF, a page of the web, a Word document, a table, and notes that link to each other:"
	@for question in \
		"What did the dredging of Kestle harbour cost in 2011?" \
		"How early must cars be at the quay before the ferry sails?" \
		"How many blocks of the Quillon breakwater must be replaced?" \
		"What does a car cost from Pellgate to Orrehaven?" \
		"In which year did the foundry that cast the whistle of the Lady Tessaly light its first furnace?"; do \
		echo; echo "\$$ memnet ask \"$$question\""; \
		$(BIN)/memnet ask "$$question" --top-k 2 --store $(DEMO)/saltmere || exit 1; \
	done
	@echo; echo "Learning to hop over facts, from questions with their answers (needs torch):"
	$(BIN)/pip install --quiet --editable ".[train]"
	$(BIN)/memnet ingest --facts examples/ferries/facts.tsv --store $(DEMO)/ferries
	$(BIN)/memnet train facts --store $(DEMO)/ferries --out $(DEMO)/model \
		--train examples/ferries/train.jsonl --dev examples/ferries/dev.jsonl
	@for question in \
		"On which island was the builder of the Grey Heron born?" \
		"Which tug lies at Kestle?"; do \
		echo; echo "\$$ memnet ask \"$$question\" --explain"; \
		$(BIN)/memnet ask "$$question" --explain --store $(DEMO)/ferries \
			--model $(DEMO)/model || exit 1; \
	done

# Unit tests and the main job from end to end: no servers, browsers, kills or trainings.
test: .venv/test
	$(BIN)/$(PYTEST) tests/unit tests/models/test_main_job.py

# What a change must pass; CI runs it by .ci/run.
check: .venv/test
	$(MAKE) -j 2 static
	$(MAKE) coverage

# All that runs no test; each part on one core.
static: mypy pyright lint contracts docs

# Builds, checks and installs what would be published, for each Python from 3.11 to 3.14 that is found.
release:
	$(PYTHON) .ci/release.py

# All that takes long, and each property on many more examples.
nightly: .venv/test adapters
	$(BIN)/$(PYTEST) -o faulthandler_timeout=3600 --hypothesis-profile=thorough tests benchmarks/tests

# Each framework is installed in an environment of its own.
adapters: .venv/test
	$(BIN)/python -m tests.nightly.adapters --types

# Each test that is not nightly, once, and how much of the code they reach.
coverage: .venv/test
	$(BIN)/coverage erase
	$(BIN)/coverage run -m $(PYTEST) --ignore=tests/nightly tests
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

lint: .venv/test
	$(BIN)/ruff check memnet tests benchmarks docs examples
	$(BIN)/ruff format --check memnet tests benchmarks docs examples

types: mypy pyright

mypy: .venv/test
	$(BIN)/mypy

pyright: .venv/test
	$(BIN)/pyright --pythonpath $(BIN)/python

contracts: .venv/test
	$(BIN)/lint-imports

docs: .venv/test site
	$(BIN)/python -m docs.commands --check
	$(BIN)/python -m docs.api --check
	$(BIN)/python -m docs.decisions --check
	$(BIN)/python -m benchmarks.tables --check

# The pages of docs/ as a site in site/; a link that leads nowhere fails.
site: .venv/test
	$(BIN)/zensical build --strict

.venv/demo: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	@touch $@

# Most modules of what is installed are never imported, and compiling them all takes a minute.
.venv/test: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --no-compile --editable ".[train,test]"
	@touch $@
