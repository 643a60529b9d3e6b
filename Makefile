# Regent's daily work. `make run` and `make test` are all that a newcomer needs; `make help` lists the rest.
# Each recipe longer than a line is a script in Scripts/, so that it can be read, linted and run by itself.

CONFIG  ?= config/regent.toml
ARGS    ?=
PREFIX  ?= /usr/local
DESTDIR ?=
RACE    ?= ../shared/race/race.py
SECONDS_EACH ?= 600

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
SWIFT := swift
RELEASE := $(SWIFT) build -c release --static-swift-stdlib
# SwiftPM's own link to `swift build -c release --show-bin-path`; `sudo make install` finds no swift to ask.
BINARY := .build/release/regent

.PHONY: help setup setup-test setup-check run build test check check-rest bench fuzz install lint format \
  linkage check-unit check-readme sanitize-thread sanitize-address test-release fuzz-smoke torture

help: ## Lists these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Installs what building needs and this machine lacks (apt)
	@Scripts/setup build

setup-test:
	@Scripts/setup build test

setup-check:
	@Scripts/setup build test check

run: build ## Builds in release mode and starts the daemon with config/regent.toml (CONFIG=FILE, ARGS=OPTIONS)
	@exec $(BINARY) serve --config $(CONFIG) $(ARGS)

build: setup ## Builds the release binary, with the Swift runtime linked in
	@Scripts/libevent-advisory
	$(RELEASE) --product regent
	@Scripts/keep-backtracer .build/swift-backtrace

test: setup-test ## Runs the tests
	$(SWIFT) test

check: lint test check-rest ## Runs what CI runs: lint, tests, sanitizers, linkage, unit, fuzz smoke, README

check-rest: setup-check linkage check-unit test-release sanitize-thread sanitize-address fuzz-smoke check-readme

lint: setup-check ## Checks format, structure (and first that this lint still sees what it must) and manual
	$(SWIFT) format lint --strict -r -p Sources Tests Package.swift $(wildcard Fuzz Benchmarks)
	Scripts/lint-selftest
	Scripts/lint-structure .
	@! man --warnings -E UTF-8 -l -Tutf8 -Z docs/regent.1 2>&1 >/dev/null | grep .

format: ## Formats the sources
	$(SWIFT) format -i -r -p Sources Tests Package.swift $(wildcard Fuzz Benchmarks)

linkage: build ## Checks what the release binary is linked with
	Scripts/check-linkage $(BINARY)

check-unit: build ## Checks the systemd unit and its sandbox
	Scripts/check-unit $(BINARY)

check-readme: build ## Starts `make run` and checks that the README's commands print what it says
	Scripts/check-readme README.md

test-release: build ## Runs the scenario tests against the release binary
	REGENT_BINARY=$(CURDIR)/$(BINARY) $(SWIFT) test --filter ScenarioTests

sanitize-thread: ## Runs the tests under ThreadSanitizer
	Scripts/sanitize thread

sanitize-address: ## Runs the tests under AddressSanitizer, with its leak check
	Scripts/sanitize address

torture: build ## Kills the daemon 200 times under load and looks what its disk cache kept (KILLS=N)
	REGENT_TORTURE=$(or $(KILLS),200) REGENT_BINARY=$(CURDIR)/$(BINARY) $(SWIFT) test --filter TortureTests

fuzz-smoke:
	Fuzz/run 7

fuzz: setup ## Fuzzes the parsers, 10 minutes a target (SECONDS_EACH=N for another time)
	Fuzz/run $(SECONDS_EACH)

bench: build ## Races the daemon against its peers (RACE=race.py of your checkout, SCENARIOS=a,b)
	@Scripts/bench $(BINARY) "$(RACE)" $(if $(SCENARIOS),--scenarios $(SCENARIOS))

install: ## Installs binary, configuration, unit and manual (DESTDIR, PREFIX); `make build` first
	Scripts/install $(BINARY) "$(DESTDIR)" "$(PREFIX)"
