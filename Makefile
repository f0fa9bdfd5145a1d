# The same commands for a person and for continuous integration. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo demo-down demo-reset test test-nightly lint unit api api-nightly molecule readmes docs package release build benchmark clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LINK := .ansible/collections/ansible_collections/gpuops/gpustack
INSTALLED := $(VENV)/.installed
BENCH := $(BIN)/python molecule/bench/bench.py
INVENTORY ?= inventories/demo
SCENARIOS ?= default drift report refusals nvidia_stack nvidia_stack_dnf container_engine
# Scenarios that take too long for every change.
NIGHTLY_SCENARIOS ?= replicas rolling rolling_faults doctor_quick doctor load_test load_test_more upgrade

export PATH := $(CURDIR)/$(BIN):$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg

help:  ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED) $(LINK)  ## the pinned tools in .venv, the checkout as a collection

$(INSTALLED): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, found " + sys.version.split()[0] + ": make PYTHON=/path/to/python3.11")'
	@echo "Installing the tools into $(VENV) (about a minute) …"
	@$(PYTHON) -m venv $(VENV) || { echo "python3 has no venv module: install it (Debian: apt install python3-venv)"; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $@

$(LINK):
	@mkdir -p $(@D) && ln -sfn ../../../.. $@

demo: setup  ## a simulated fleet on this machine, brought up by site.yml
	@$(BENCH) up
	ansible-playbook site.yml -i inventories/demo
	@$(BENCH) welcome

demo-down: setup  ## the end of the simulated fleet (images stay)
	@$(BENCH) down

demo-reset: setup  ## the simulated hosts as bare as at the beginning
	@$(BENCH) reset

test: lint unit package api molecule  ## everything that must pass

lint: setup  ## style, types, documentation, package
	yamllint --strict .
	ruff check . && ruff format --check .
	mypy
	ansible-lint --offline
	antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self --skip-rstcheck .
	antsibull-changelog lint
	$(MAKE) build

unit: setup  ## unit tests
	pytest -n auto -q

api: setup  ## the API modules against real servers of two releases (Docker is enough, no fleet)
	pytest -q tests/api -m "not nightly"

api-nightly: setup  ## the same, and a server that is restarted in the middle
	pytest -q tests/api

test-nightly: api-nightly  ## the scenarios that take longer
	@$(MAKE) molecule SCENARIOS="$(NIGHTLY_SCENARIOS)"

molecule: setup  ## the scenarios on the simulated fleet (SCENARIOS="default …")
	@$(BENCH) up
	@for scenario in $(SCENARIOS); do \
	  echo "── molecule scenario $$scenario"; molecule --base-config molecule/config.yml test --scenario-name $$scenario || exit 1; done

package: build  ## the built collection in an empty place: what is in it, and used from there
	pytest -q tests/release

# The oldest and the newest supported ansible-core, each with the Python it is tried with.
OLDEST ?= 2.18 python3.11
NEWEST ?= 2.21 python3.13

release: package docs  ## what must hold before a release, beside `make test`; takes down the demo: about half an hour on two cores
	@mkdir -p .build && { [ -x .build/importer/bin/galaxy-importer ] || $(PYTHON) -m venv .build/importer; }
	@.build/importer/bin/pip install --quiet --disable-pip-version-check --requirement tests/release/requirements.txt
	$(BIN)/python tests/release/importer.py .build/importer/bin
	.build/importer/bin/ansible-builder create --file execution-environment.yml --context .build/execution-environment
	$(BIN)/python tests/release/ansible_test.py sanity $(OLDEST)
	$(BIN)/python tests/release/ansible_test.py sanity $(NEWEST)
	$(BIN)/python tests/release/ansible_test.py units $(OLDEST)
	$(BIN)/python tests/release/ansible_test.py units $(NEWEST)
	$(BIN)/python tests/release/clean_container.py

readmes: setup  ## the README of every role, from its argument_specs
	$(BIN)/python docs/role_readmes.py

docs: setup  ## the documentation as a site: build/docs/index.html
	@rm -rf build/docs build/docs-source && mkdir -p build && cp -r docs build/docs-source && mkdir build/docs-source/reference
	antsibull-docs collection --use-current --squash-hierarchy --fail-on-error --dest-dir build/docs-source/reference gpuops.gpustack
	CHECKOUT=$(CURDIR) sphinx-build -W --keep-going -q -b html build/docs-source build/docs
	pytest -q tests/site
	@echo "The documentation: $(CURDIR)/build/docs/index.html"

build: setup  ## the collection as ansible-galaxy installs it
	@mkdir -p build && rm -f build/gpuops-gpustack-*.tar.gz && ansible-galaxy collection build --output-path build .

benchmark: setup  ## the figures in benchmarks/README.md (the demo has to run)
	$(BIN)/python benchmarks/planner_accuracy.py
	$(BIN)/python benchmarks/planner_scale.py
	$(BIN)/python benchmarks/diagnosis.py
	$(BIN)/python benchmarks/models_apply.py
	$(BIN)/python benchmarks/site_no_change.py

clean:  ## what can be made again
	rm -rf build .build .cache .mypy_cache .pytest_cache .ruff_cache
