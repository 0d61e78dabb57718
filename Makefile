# The few commands of the project. `make help` lists them.

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP   := $(BIN)/python -m pip --disable-pip-version-check

# The tests in tiers, as CONTRIBUTING.md has them. Two processes, each with a Spark of its own where one is needed, take
# half the time of one on two cores. A file's tests stay together; files run in order, because the longest come early.
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder
BY_DEFAULT := not nightly and not soak and not study
TESTS = $(BIN)/pytest $(ARGS)
EVERYTHING = $(TESTS) --hypothesis-profile nightly
# With -k or a path in ARGS a tier may have none of the tests that are asked for: pytest says so with a 5.
NONE_WILL_DO = $(if $(strip $(ARGS)),|| [ $$? -eq 5 ])

# Put before a command that starts Spark. Asked each time because it is quick and Java may have moved.
WITH_JAVA = JAVA_HOME="$$(scripts/java.sh)" && export JAVA_HOME &&

.DEFAULT_GOAL := help
.PHONY: help setup java chromium kafka postgresql demo quick test nightly check format bench soak picture tables packages lock clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) java ## make .venv from requirements.lock and find (or install) Java 17+

# Packages that left the lock file stay until `make clean`; starting afresh each time would reinstall Spark.
$(STAMP): pyproject.toml lab/pyproject.toml requirements.lock
	@python="$$(scripts/python.sh)" || exit 1; \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	    echo "making $(VENV) with $$python"; \
	    "$$python" -m venv --clear $(VENV) || { \
	        echo "headgate: $$python -m venv failed: install its venv module (Debian or Ubuntu: sudo apt-get install python3-venv)" >&2; \
	        exit 1; }; \
	fi
	@echo "installing requirements.lock (Spark is large: a few minutes at most)"
	@$(PIP) install -q -r requirements.lock
	@$(PIP) install -q --no-deps --no-build-isolation -e . -e lab
	@touch $@

java:
	@scripts/java.sh >/dev/null

# Without it the tests of the page are skipped, which says why.
chromium:
	@scripts/chromium.sh >/dev/null || true

# Likewise for the tests of the sink that writes to it.
postgresql:
	@scripts/postgresql.sh >/dev/null || true

# Likewise for the tests with a broker.
kafka:
	@scripts/kafka.sh >/dev/null || true

demo: setup ## run the demonstration; options in ARGS="--seconds 30"
	@$(WITH_JAVA) $(BIN)/headgate demo $(ARGS)

quick: check ## check, then the quick tests, which need no Spark; pytest options in ARGS="-k mbd"
	@$(TESTS) $(PARALLEL) -m "not spark and not slow and $(BY_DEFAULT)" $(NONE_WILL_DO)

test: setup chromium kafka postgresql quick ## quick, then the slower tests and those on Spark; what continuous integration runs
	@$(WITH_JAVA) $(TESTS) $(PARALLEL) -m "(spark or slow) and $(BY_DEFAULT)" $(NONE_WILL_DO)

# What measures memory or time runs alone, in one process. All three parts run, whichever fails.
nightly: setup chromium kafka postgresql check ## every test, with all its cases and examples: takes hours
	@$(WITH_JAVA) status=0; \
	$(EVERYTHING) $(PARALLEL) -m "not spark" $(NONE_WILL_DO) || status=1; \
	$(EVERYTHING) $(PARALLEL) -m "spark and not soak and not study" $(NONE_WILL_DO) || status=1; \
	$(EVERYTHING) -m "spark and (soak or study)" $(NONE_WILL_DO) || status=1; \
	exit $$status

check: $(STAMP) ## lint, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(STAMP) ## format the code and fix what the linter can
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

bench: setup ## measure overhead and simulator; another one with ARGS="NAME ..."
ifeq ($(strip $(ARGS)),)
	@$(WITH_JAVA) $(BIN)/headgate bench overhead
	@$(WITH_JAVA) $(BIN)/headgate bench simulator
else
	@$(WITH_JAVA) $(BIN)/headgate bench $(ARGS)
endif

soak: setup ## the long-running tests; pytest options in ARGS
	@$(WITH_JAVA) $(BIN)/pytest -m soak $(ARGS)

picture: setup ## draw docs/images/demo.svg from a minute of the demonstration
	@$(WITH_JAVA) $(BIN)/python scripts/demo_picture.py

tables: setup ## write the tables of benchmarks.md, studies.md and README.md, and the chart, from docs/results
	@$(BIN)/python scripts/benchmarks_page.py

packages: $(STAMP) ## print the packages in their order, and what each imports
	@$(BIN)/python scripts/packages.py $(ARGS)

lock: ## write requirements.lock from pyproject.toml, with the newest versions it allows
	@python="$$(scripts/python.sh)" && rm -rf build/lock && "$$python" -m venv build/lock
	@build/lock/bin/python -m pip --disable-pip-version-check install -q '.[dev]' ./lab
	@{ sed -n '/^#/!q;p' requirements.lock; \
	   build/lock/bin/python -m pip --disable-pip-version-check freeze --all --exclude headgate --exclude headgate-lab --exclude pip; \
	 } > build/requirements.lock
	@mv build/requirements.lock requirements.lock && rm -rf build

clean: ## remove .venv, caches and what runs leave behind
	rm -rf $(VENV) build dist *.egg-info lab/*.egg-info lab/build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf spark-warehouse metastore_db derby.log
	find headgate lab tests -name __pycache__ -type d -prune -exec rm -rf {} +
