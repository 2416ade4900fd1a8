# Everything runs in .venv, which the first command makes.
PYTHON ?= python3
BIN := .venv/bin
DEMO := .demo
PACKAGES := memnet storage cli

.PHONY: demo test check lint types contracts docs

demo: .venv/demo
	$(BIN)/memnet ingest examples/saltmere/memory --store $(DEMO)/saltmere
	@for question in \
		"In which town was the builder of the Orre Light born?" \
		"Which ports does the Morning Petrel call at?" \
		"What is the capital of Portugal?"; do \
		echo; echo "\$$ memnet ask \"$$question\" --explain"; \
		$(BIN)/memnet ask "$$question" --explain --store $(DEMO)/saltmere || exit 1; \
	done
	@echo; echo "Learning to hop over facts, from questions with their answers:"
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

test: .venv/test
	$(BIN)/python -m pytest -q -n auto

check: lint types contracts docs test

lint: .venv/test
	$(BIN)/ruff check $(PACKAGES) tests benchmarks docs examples
	$(BIN)/ruff format --check $(PACKAGES) tests benchmarks docs examples

types: .venv/test
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

contracts: .venv/test
	$(BIN)/lint-imports

docs: .venv/test
	$(BIN)/python -m docs.commands --check
	$(BIN)/python -m benchmarks.tables --check

.venv/demo: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable ".[cpu]"
	@touch $@

.venv/test: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable ".[cpu,test]"
	@touch $@
