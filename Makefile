# Three tiers of proof; see CONTRIBUTING.md. "make test" is for every change, .ci/run is the gate, "make verify" the audit.
SHELL    := bash
GO       ?= go
BIN      := $(CURDIR)/bin
FUZZTIME ?= 5m
# The modules of the workspace, as folders, and what their import paths begin with.
MODULES  := $(shell $(GO) work edit -json | sed -nE 's/.*"DiskPath": "(.*)".*/\1/p')
PACKAGES := $(addsuffix /...,$(MODULES))
# What users build on: all but the laboratory.
SHIPPED  := $(filter-out ./lab/...,$(PACKAGES))
# More flags of go test. Code is vetted by "make vet", so tests do not vet it again.
TESTFLAGS ?= -vet=off

.PHONY: help all build short test race programs controlplane rules lint fmt tidy vet staticcheck verify everything race-all real twenty simulate random storagekit peers operators traces simulated published mutants lowest servers platforms test-386 vet-all vuln fuzz models sizes replicas scale soak demo release released clean

all: lint test ## lint, then test

# The targets by group.
help:
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {text[$$1] = $$2} END { \
	  n = split("every day: all build short test lint demo clean|the gate, .ci/run, has these, too: race programs fmt tidy vet staticcheck|the audit: verify everything race-all real twenty simulate traces random storagekit peers operators simulated published mutants lowest servers platforms test-386 vet-all vuln fuzz models sizes replicas scale soak released|parts: controlplane rules release", group, "|"); \
	  for (i = 1; i <= n; i++) { split(group[i], g, ": "); print "\n" g[1]; m = split(g[2], t, " "); \
	    for (j = 1; j <= m; j++) printf "  make %-13s %s\n", t[j], text[t[j]] } }' Makefile

build: ## compile every module
	$(GO) build $(PACKAGES)

# The real control plane: built once, minutes when cold, seconds afterwards.
controlplane: ## build the real control plane: minutes once, then seconds
	$(GO) run ./internal/buildservers controlplane

# The rules of the API server in memory: minutes when cold, and seconds after the control plane, which has all of their
# packages.
rules: ## build the rules of the API server in memory: minutes once, then seconds
	$(GO) run ./internal/buildservers rules

## Every change.

short: ## the tests that need no server and no other process
	$(GO) test $(TESTFLAGS) -short ./...

# The core and the samples, with the API server in memory. The packages whose tests take longest begin first.
LONG    := ./apiserver ./test/operatortest ./sim
SAMPLES := $(filter ./examples/%,$(PACKAGES))
test: rules ## the tests of the core and the samples, with the API server in memory
	FLYBALL_REAL=0 $(GO) test $(TESTFLAGS) -timeout 30m $(LONG) ./... $(SAMPLES)

## The gate.

# These packages start goroutines. The environment variable leaves out the second that each
# test binary sleeps at its end.
RACED := . ./cache ./client ./controller ./event ./informer ./internal/delta ./internal/life ./ops/leader ./reflector ./run ./store ./workqueue
race: ## the race detector, for the packages that start goroutines
	GORACE=atexit_sleep_ms=0 $(GO) test $(TESTFLAGS) -race -short -timeout 30m $(RACED)

# The adapters, the generators and the command-line tool, with the API server in memory or by golden files, and one
# project that is made, built and tested.
programs: rules ## the tests of the adapters and of the command-line tool
	FLYBALL_REAL=0 $(GO) test $(TESTFLAGS) -timeout 30m $(filter ./cmd/% ./adapter/%,$(PACKAGES))

lint: fmt tidy vet staticcheck ## fmt, tidy, vet, staticcheck

fmt: ## files are formatted
	@out=$$(gofmt -l $$(git ls-files '*.go')) || exit 1; test -z "$$out" || { echo "gofmt: $$out"; exit 1; }

# Every go.mod names just what its module needs, and go.work.sum all that the go command would add. `tools/tidy -w
# adapter` writes what is missing.
tidy: ## go.mod files are tidy
	@tools/tidy $(MODULES) controlplane test/storagekit
	@before=$$(cat go.work.sum); $(GO) list -m all >/dev/null && $(GO) mod download && \
	  test "$$before" = "$$(cat go.work.sum)" || { echo "go.work.sum was not complete: commit it as it is now"; exit 1; }

# The laboratory is vetted, too: nothing else in the gate compiles it.
vet: ## go vet of the workspace
	$(GO) vet $(PACKAGES)

$(BIN)/staticcheck: tools/go.mod tools/go.sum
	GOWORK=off GOBIN=$(BIN) $(GO) install -C tools honnef.co/go/tools/cmd/staticcheck
	@touch $@

$(BIN)/govulncheck: tools/go.mod tools/go.sum
	GOWORK=off GOBIN=$(BIN) $(GO) install -C tools golang.org/x/vuln/cmd/govulncheck
	@touch $@

staticcheck: $(BIN)/staticcheck ## staticcheck of what users build on
	$(BIN)/staticcheck $(SHIPPED)

## The audit.

# What is measured, runs the go command or waits for the real clock is skipped without the first of these. Random tests
# have new seeds; they are drawn before the go command looks at what a test reads, so no result comes from its cache.
AUDITED := everything race-all real simulate random storagekit lowest servers models sizes replicas scale soak
$(AUDITED): export FLYBALL_AUDIT := 1
$(AUDITED): export GOFLAGS := $(GOFLAGS) -count=1

verify: ## the audit, hours; STEPS names some of its steps
	@tools/verify $(STEPS)

everything: controlplane rules ## every test of every module, with a real control plane
	$(GO) test $(TESTFLAGS) -timeout 90m $(LONG) work
	GOWORK=off $(GO) test -C controlplane $(TESTFLAGS) -timeout 10m ./...

race-all: controlplane rules ## every test, with the race detector
	GORACE=atexit_sleep_ms=0 $(GO) test $(TESTFLAGS) -race -timeout 120m $(LONG) work
	$(MAKE) storagekit RACE=-race

# The tests that run on the API server in memory by default, on the real control plane.
REAL = $(shell grep -rl --include='*_test.go' 'flyball/test/servertest"' . | xargs -n1 dirname | sort -u)
real: controlplane ## the tests that run in memory by default, on the real control plane
	FLYBALL_REAL=1 $(GO) test $(TESTFLAGS) -timeout 60m $(REAL)

# Twenty times "make test", in random order, once with the race detector.
twenty: rules ## twenty times make test, once with the race detector
	@for i in $$(seq 19); do echo "== $$i"; FLYBALL_REAL=0 $(GO) test $(TESTFLAGS) -count=1 -shuffle=on -timeout 30m $(LONG) ./... $(SAMPLES) || exit 1; done
	FLYBALL_REAL=0 GORACE=atexit_sleep_ms=0 $(GO) test $(TESTFLAGS) -race -count=1 -timeout 90m $(LONG) ./... $(SAMPLES)

# The simulations with all of their faults; other targets try a part of them.
SIMULATED = $(shell grep -rlE --include='*_test.go' 'flyball/sim"|^package sim$$' . | xargs -n1 dirname | sort -u)
simulate: rules ## the simulations, with all of their faults; PAIRS
	$(GO) test $(TESTFLAGS) -p 1 -timeout 120m $(SIMULATED) $(if $(PAIRS),-args -sim.pairs=$(PAIRS))

# Plans of the simulation, twice each, on one processor, on two, and with the race detector: one hash for all.
traces: export FLYBALL_PLANS := $(or $(PLANS),10000)
traces: rules ## plans of the simulation run alike, whatever runs beside them; PLANS
	@mkdir -p $(BIN); for race in "" -race; do \
	  $(GO) test $$race -count=1 -timeout 120m -run '^TestOnePlanIsOneTrace$$' -cpu 1,2 -v ./sim >$(BIN)/traces$$race 2>&1; status=$$?; \
	  cat $(BIN)/traces$$race; test $$status = 0 || exit 1; done
	@test $$(cat $(BIN)/traces $(BIN)/traces-race | grep -o 'traces [0-9a-f]*' | sort -u | wc -l) = 1 || { echo "the traces differ"; exit 1; }

# The same random calls to the API server in memory and to the real one, half of them about custom resources whose
# definitions are drawn: every difference fails, made as short as possible. CALLS=1000000 makes more of them, FIRST=N
# begins at another sequence.
random: export CALLS := $(or $(CALLS),100000)
random: controlplane rules ## random calls to the API server in memory and to the real one; CALLS, FIRST
	$(GO) test $(TESTFLAGS) -count=1 -timeout 300m -run '^TestRandomCallsAreAnsweredAlike$$' -v ./apiserver

# controller-runtime's own suites over adapter/ctrlcache and adapter/ctrl, client-go's over adapter/clientgo, and
# over their own code beside them: a table. PEERS="-suites cache,shared-informer" shortens it. Then the peers' own code
# on the API server in memory, and on the control plane beside it: MEMORY="-suites cache,fake" shortens that.
peers: controlplane rules ## the suites of controller-runtime and client-go over the adapters; PEERS, MEMORY
	$(GO) run ./lab/peers $(PEERS)
	$(GO) run ./lab/memory $(MEMORY)

# The storage tests of k8s.io/apiserver over the core of the API server in memory. RACE=-race has the race detector, for
# which k8s.io/apiserver is compiled anew.
storagekit: ## the storage tests of k8s.io/apiserver
	GOWORK=off $(GO) test -C test/storagekit $(TESTFLAGS) $(RACE) -count=1 -timeout 10m ./...

# The own tests of two published operators over adapter/ctrlcache, and over the default cache beside it: a table.
# OPERATORS="-only karpenter" shortens it.
operators: controlplane ## published operators' own tests over the packed cache; OPERATORS
	$(GO) run ./lab/operators $(OPERATORS)

# Published operators in the simulation, unedited: all single faults, pairs, and the story of each plan that goes wrong.
# The first run compiles each with its own libraries. SIMULATED_FLAGS="-only jobset -- -sim.part=1/4" shortens it.
simulated: rules ## published operators in the simulation; SIMULATED_FLAGS
	$(GO) run ./lab/simulated $(SIMULATED_FLAGS)

# What flyball generates from eleven published API modules, unedited, beside controller-gen: a table. The definitions are
# checked by the rules of the API server. PUBLISHED="-only kueue" shortens it; the first run compiles what each imports.
published: rules ## what is generated from published API modules; PUBLISHED
	$(GO) run ./lab/published -rules $(PUBLISHED)

# The framework with a bug, one of many at a time, under the simulations of programs: a table of what notices it. Each is a
# build and a run, an hour in all. MUTANTS="-short" has one of each part, MUTANTS="-only lost-add" one.
mutants: rules ## bugs put into the framework, found by simulations; MUTANTS
	$(GO) run ./lab/mutants $(MUTANTS)

# adapter/ctrlcache with the lowest versions that the adapter's go.mod asks for. The gate has the newest.
LOWEST := ./...
lowest: controlplane ## the adapter with the lowest versions of its libraries
	GOWORK=$(CURDIR)/adapter/lowest.work $(GO) vet -C adapter $(LOWEST)
	GOWORK=$(CURDIR)/adapter/lowest.work $(GO) test -C adapter $(TESTFLAGS) -timeout 30m $(LOWEST)

# Every test that talks to a server, on other versions of Kubernetes: a table. SERVERS="1.33 1.34.4" names
# them. Each takes 5 to 9 minutes to build once, and 4 GB of Go's build cache.
servers: ## the tests on other versions of Kubernetes; SERVERS
	$(GO) run ./lab/servers $(SERVERS)

# The packages that count bytes, on 32 bits. A kernel that executes no program for 386 leaves it to qemu, which these can,
# for they start no process.
BYTES := ./client ./internal/cow ./internal/decode ./internal/heap ./internal/jsonscan ./internal/pack ./internal/protoscan ./internal/sparse ./internal/wire ./store ./workqueue
test-386: ## the packages that count bytes, on 32 bits
	@export GOWORK=off GOARCH=386; set -x; case $$(tools/on386) in \
	kernel) $(GO) test $(TESTFLAGS) -short -timeout 60m $(BYTES);; \
	qemu) GODEBUG=asyncpreemptoff=1 $(GO) test $(TESTFLAGS) -short -exec qemu-i386 -timeout 60m $(BYTES);; \
	*) echo "NOT CHECKED: nothing here runs programs for 386; qemu-user would";; \
	esac

platforms: test-386 ## arm64 and 32 bits
	GOWORK=off GOARCH=arm64 $(GO) vet ./...
	GOWORK=off GOARCH=386 $(GO) vet ./...

vet-all: vet $(BIN)/staticcheck ## go vet and staticcheck of all modules
	GOWORK=off $(GO) vet -C controlplane ./...
	GOWORK=off $(GO) vet -C test/storagekit ./...
	$(BIN)/staticcheck $(PACKAGES)

vuln: $(BIN)/govulncheck ## known vulnerabilities
	@if ! out=$$($(BIN)/govulncheck $(PACKAGES) 2>&1); then \
	  if grep -q 'fetching vulnerabilities' <<<"$$out"; then echo "NOT CHECKED: the vulnerability database cannot be reached from here"; \
	  else echo "$$out"; exit 1; fi; fi

# Every fuzz target of the tree, one after the other.
fuzz: ## every fuzz target, one after the other; FUZZTIME
	@set -e; grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r f; do \
	  for t in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$$f"); do \
	    echo "fuzz $$(dirname $$f) $$t"; $(GO) test -run '^$$' -fuzz "^$$t$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$(dirname $$f)"; \
	  done; done

models: ## the random models at full length
	FLYBALL_LONG=1 $(GO) test -timeout 60m -run 'Model|Agrees?With' -v ./internal/delta ./store ./workqueue

# What users do with a published release, from a module proxy of files, without the checkout.
released: ## what users do with a published version
	tools/released

# A release of all modules: VERSION=v0.1.0. It shows what it would do; TAG=1 makes the commits and the tags.
release: ## what a release of VERSION would do; with TAG it is made
	GOWORK=off $(GO) run -C tools ./release -version "$(VERSION)" $(if $(TAG),-tag)

# Objects of 0 to 3 MiB through every reader of bytes: 200 random cases each, and a few on the real control plane.
SIZES = $(shell grep -rl --include='*_test.go' 'flyball/internal/sizes"' . | xargs -n1 dirname | sort -u)
sizes: controlplane rules ## objects of 0 to 3 MiB through every reader of bytes
	FLYBALL_LONG=1 $(GO) test $(TESTFLAGS) -timeout 60m -run '^TestSizes' $(SIZES)
	FLYBALL_REAL=1 $(GO) test $(TESTFLAGS) -count=1 -timeout 10m -run '^TestSizes' ./test/servertest

# Several API servers over one state, and definitions that are made again: a thousand runs of each.
replicas: ## several API servers over one state, a thousand runs
	FLYBALL_LONG=1 $(GO) test -timeout 30m ./internal/replicas

# 20,000 Pods on the real control plane: prints time, CPU and peak memory of the program.
scale: controlplane ## 20,000 Pods on the real control plane
	FLYBALL_SCALE=20000 $(GO) test -timeout 30m -run '^TestLargeClusterIsReconciled$$' -v ./internal/faults

# The fault tests, the samples and the random tests at full length: silences, partitions and churn
# of minutes, a thousand starts and stops.
soak: controlplane rules ## every test at full length
	FLYBALL_LONG=1 $(GO) test $(TESTFLAGS) -race -timeout 180m work

demo: ## watch a controller react
	$(GO) run ./cmd/flyball demo --once

clean: ## remove bin
	rm -rf $(BIN)
