# edgegauge: make run answers a question, make check is for every change, make test checks everything, make bench prints figures.
export CGO_ENABLED = 0
export JAVA8_HOME ?= $(CURDIR)/.cache/jdk8
export FUZZ_TIME
SCHEDULES = 10000
FLEETS = 200
GO = go
BIN = bin/edgegauge

.PHONY: help build run check test packages oracles test-go setup stacks conform fuzz chaos cross crossed board bench firmware dist rename clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/edgegauge and bin/edgegauge-hub
	@$(GO) build -trimpath -o bin/ ./cmd/edgegauge ./cmd/edgegauge-hub

run: build ## run studies/quickstart.yaml: needs Go only
	@$(BIN) run studies/quickstart.yaml

check: ## format, vet, staticcheck, short tests: needs Go only; run it before each commit
	@.ci/check

test: ## everything: installs what is missing (Debian), builds the foreign stacks, runs all tests
	@# What tests need is fetched while all is compiled; GOGC and GOMAXPROCS as in .ci/test, which builds the foreign stacks and for other machines.
	@GOGC=400 GOMAXPROCS=1 GOFLAGS="$$($(GO) env GOFLAGS) -p=$$(nproc)" $(MAKE) -s -j 3 oracles build board || { echo "0 passed, 1 failed: what the tests need is not there"; exit 1; }
	@.ci/test

packages:
	@.ci/setup packages

oracles: packages
	@.ci/setup oracles

test-go: ## all Go tests, with what is installed here; the others say what they need
	@$(GO) test -p 1 -timeout 30m ./...

conform: build ## the conformance kit on every stack that is built here
	@$(BIN) stacks check --all

fuzz: ## every fuzz target for FUZZ_TIME (2s): make fuzz FUZZ_TIME=10m
	@.ci/fuzz

chaos: ## faults drawn from seeds: 10,000 simulated fleets, 200 of real processes (root), 200 commands: make chaos SCHEDULES=200 FLEETS=5
	@$(GO) test ./internal/fleet -run TestChaos -v -timeout 12h -schedules $(SCHEDULES)
	@$(GO) test ./cmd/edgegauge -run TestFaults -v -timeout 12h -faultseed 0 -faultruns $(FLEETS) -faultswide 2
	@$(GO) test ./cmd/edgegauge -run TestWrecking -v -timeout 12h -wreckseed 0 -wreckings $(FLEETS)

setup: ## install what the tests need beyond Go (Debian, root)
	@.ci/setup

stacks: build ## build the foreign stacks
	@$(BIN) stacks build --all

board: ## build bin/edgegauge-board-ARCH, which edgegauge sends to boards; each must be 12 MB or less
	@# amd64 last: its packages are in the cache by then, where make test runs make build beside this.
	@for t in arm64: arm:7 arm:6 amd64:; do arch=$${t%%:*} arm=$${t##*:}; \
	  GOOS=linux GOARCH=$$arch GOARM=$$arm $(GO) build -tags board -trimpath -ldflags '-s -w' -o $(BIN)-board-$$arch$$arm ./cmd/edgegauge-board || exit 1; \
	  [ $$(wc -c <$(BIN)-board-$$arch$$arm) -le 12000000 ] || { echo "$(BIN)-board-$$arch$$arm is larger than 12 MB"; exit 1; }; done
	@ls -l $(BIN)-board-*

cross: board crossed ## build for those of amd64, arm64, armv7 and armv6 that this machine is not, for which make build does

crossed:
	@.ci/crossed

bench: build ## benchmarks of the lab itself: what the driver, the link and the instruments cost
	@$(BIN) bench

firmware: ## build the firmware of the energy meter and of the sensor
	@$(MAKE) -s -C firmware/energy-meter firmware
	@$(MAKE) -s -C firmware/temperature sim

dist: ## make a release in dist/: archives, .deb, .rpm, SBOM, checksums; ARCHS='amd64 arm64 armv7 armv6'
	@.ci/dist $(ARCHS)

rename: ## give the module another path: make rename MODULE=host.name/path
	@.ci/rename "$(MODULE)"
	@$(GO) build ./...
	@$(GO) vet ./...

clean: ## remove what was built and fetched
	rm -rf bin dist .cache
