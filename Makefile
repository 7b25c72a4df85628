# `make run` and `make test` do everything; the rest are their parts.
PYTHON ?= python3
ADDRESS ?= localhost
PORT ?= 8501
MODELS ?= minilm smollm2
VENV := .venv
BIN := $(VENV)/bin
PULL := $(BIN)/python -m attention_lab models pull $(MODELS)
# A stamp's name carries its requirements' checksum: a change installs anew, anything else does not.
RUN := $(VENV)/run-$(shell cat requirements.txt | cksum | cut -d ' ' -f 1)
BENCH := $(VENV)/bench/ready
AUDIT := $(VENV)/audit/ready
DEV := $(VENV)/dev-$(shell cat requirements.txt requirements-dev.txt | cksum | cut -d ' ' -f 1)

.PHONY: run test check test-unit test-browser test-slow pulled format image check-image lock audit clean
.PHONY: bench-capture bench-picture bench-page bench-start bench-room bench-soak bench-hostile
.DELETE_ON_ERROR:

run: $(RUN)
	@$(PULL) || echo "Not every model could be pulled; the app starts with those that are there."
	$(BIN)/python -m attention_lab.ui.serve --server.address=$(ADDRESS) --server.port=$(PORT)

test: check test-unit test-browser

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test-unit: $(DEV) pulled
	$(BIN)/pytest -n 2 -m "not browser and not slow"

test-browser: $(DEV) pulled
	$(BIN)/pytest -m "browser and not slow"

test-slow: $(DEV) pulled
	$(BIN)/pytest -m slow

# In CI a model that cannot be pulled is a failure; elsewhere its tests are skipped and say so.
pulled: $(DEV)
	@$(PULL) || test "$$CI" != true

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# What the benchmarks compare with has an environment of its own, on top of this one.
bench-capture bench-picture bench-page: bench-%: $(BENCH) pulled
	$(VENV)/bench/bin/python -m benchmarks.$*

# OPTIONS="--people 40 --minutes 2", for example.
bench-start bench-room bench-soak bench-hostile: bench-%: $(DEV) pulled
	$(BIN)/python -m benchmarks.$* $(OPTIONS)

image:
	docker build -t attention-lab .

check-image: $(DEV)
	bash deploy/check-image.sh

# The packages of the image with their hashes; after every change of requirements.txt.
lock: $(AUDIT)
	$(VENV)/audit/bin/python scripts/lock.py --quiet $$($(BIN)/python scripts/torch_index.py)

# Known vulnerabilities of what the image installs, where the database answers.
audit: $(AUDIT)
	$(VENV)/audit/bin/python scripts/audit.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BENCH): $(DEV) benchmarks/requirements.txt
	$(BIN)/python -m venv --clear $(VENV)/bench
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	    "$$($(VENV)/bench/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/parent.pth"
	$(VENV)/bench/bin/python -m pip install -r requirements-dev.txt -r benchmarks/requirements.txt
	touch $@

$(AUDIT): $(BIN)/python
	$(BIN)/python -m venv --clear $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install uv==0.13.8 pip-audit==2.10.1
	touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Attention Lab needs Python 3.11 or newer; name one with make PYTHON=python3.12 run.")'
	$(PYTHON) -m venv --clear $(VENV)

$(RUN): $(BIN)/python
	$(BIN)/python -m pip install $$($(BIN)/python scripts/torch_index.py) -r requirements.txt
	rm -f $(VENV)/run-*
	touch $@

$(DEV): $(BIN)/python
	$(BIN)/python -m pip install $$($(BIN)/python scripts/torch_index.py) -r requirements-dev.txt
	rm -f $(VENV)/run-* $(VENV)/dev-*
	touch $@ $(RUN)
