# edgegauge: make run answers a question, make test checks everything, make bench prints the figures.
export CGO_ENABLED = 0
export JAVA8_HOME ?= $(CURDIR)/.cache/jdk8
GO = go
BIN = bin/edgegauge

.PHONY: build run test test-go setup stacks conform fuzz cross bench firmware clean

build:
	@$(GO) build -trimpath -o $(BIN) ./cmd/edgegauge

run: build
	@$(BIN) run studies/quickstart.yaml

setup:
	@.ci/setup

stacks: build
	@$(BIN) stacks build --all

# Everything: installs what is missing, builds the foreign stacks, runs all tests.
test: setup stacks firmware cross
	@.ci/test

cross:
	@for t in amd64: arm64: arm:7 arm:6; do \
	  GOOS=linux GOARCH=$${t%%:*} GOARM=$${t##*:} $(GO) build -trimpath -o /dev/null ./cmd/edgegauge || exit 1; done
	@echo "cross-builds for amd64, arm64, armv7, armv6: ok"

bench: build
	@$(BIN) bench

firmware:
	@$(MAKE) -s -C firmware/energy-meter firmware
	@$(MAKE) -s -C firmware/temperature sim

clean:
	rm -rf bin .cache
