# The targets are the jobs of CI; see CONTRIBUTING.md.
GO       ?= go
BIN      := $(CURDIR)/bin
FUZZTIME ?= 5m
# The modules of the workspace, as folders, and what their import paths begin with.
MODULES  := $(shell $(GO) work edit -json | sed -nE 's/.*"DiskPath": "(.*)".*/\1/p')
MODULE   := github.com/flyball-io/flyball
PACKAGES := $(addsuffix /...,$(MODULES))
# More flags of go test. CI vets all code in a step of its own, and has -vet=off here.
TESTFLAGS ?=

.PHONY: help all build test test-compared test-libraries test-programs tested race simulate test-memory test-real random peers storagekit operators traces simulated published mutants lowest servers platforms test-386 controlplane rules lint fmt tidy vet staticcheck vuln fuzz models sizes replicas scale soak demo release released clean

all: lint test ## lint, then test

# The targets by group.
help:
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {text[$$1] = $$2} END { \
	  n = split("every day: all build lint test test-memory demo clean|on other servers, versions, platforms: test-real servers lowest platforms test-386|beside others: random peers storagekit operators simulated published mutants released|at full length: race simulate traces sizes replicas models fuzz soak scale|parts: controlplane rules fmt tidy vet staticcheck vuln release", group, "|"); \
	  for (i = 1; i <= n; i++) { split(group[i], g, ": "); print "\n" g[1]; m = split(g[2], t, " "); \
	    for (j = 1; j <= m; j++) printf "  make %-13s %s\n", t[j], text[t[j]] } }' Makefile

build: ## compile every module
	$(GO) build $(PACKAGES)

# The real control plane: built once, minutes when cold, seconds afterwards.
controlplane: ## build the real control plane: minutes once, then seconds
	$(GO) run ./cmd/flyball controlplane --build-only

# The rules of the API server in memory: seconds after the control plane, which has all of their packages.
rules: ## build the rules of the API server in memory
	$(GO) run ./cmd/flyball apiserver --build-only

# The packages whose tests take longest, most of it by waiting. They begin first, so that none of them is left at the end.
LONG := ./apiserver ./ops/leader ./reflector

# What is compared with the real servers and with their rules, answer by answer. It mostly waits for them.
COMPARED := ^(TestConformance|TestAccessConformance|TestShardConformance|TestControllersAsTheRealOnes|TestKubectlSaysTheSame|TestRandomCallsAreAnsweredAlike|TestRemembered.*)$$

# Programs. Most of what their tests run are processes of their own, compilers and type checkers among them. The demo's
# tests are not: they are with those of the libraries.
PROGRAMS = ./cmd/flyball $$($(GO) list ./cmd/flyball/... ./lab/... | grep -vxF "$$($(GO) list ./cmd/flyball ./cmd/flyball/internal/demo)")
LIBRARIES = $(LONG) $$($(GO) list work | grep -vE '^$(MODULE)/(cmd|lab)/') ./cmd/flyball/internal/demo

# Libraries run with the race detector, which takes three to ten times as long; programs and what is compared run
# without it. "make race" has it everywhere. Each part runs to its end if another one fails.
test: controlplane rules ## every test; libraries with the race detector
	@$(MAKE) --no-print-directory -k -j2 test-compared test-libraries test-programs

test-compared:
	$(GO) test $(TESTFLAGS) -timeout 60m -run '$(COMPARED)' ./apiserver

test-libraries:
	$(GO) test $(TESTFLAGS) -race -p 3 -timeout 60m -skip '$(COMPARED)' $(LIBRARIES)

test-programs:
	$(GO) test $(TESTFLAGS) -p 2 -timeout 60m $(PROGRAMS)

# The packages that "make test" tests, for a test that none is left out.
tested:
	@$(GO) list $(LIBRARIES) $(PROGRAMS)

race: controlplane rules ## every test, with the race detector everywhere
	$(GO) test $(TESTFLAGS) -race -p 4 -timeout 60m $(LONG) work
	$(MAKE) storagekit RACE=-race

# The simulations with all of their faults. With the race detector, as in "make test", a sixteenth of them is tried.
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

# Every test that needs no real control plane, with the API server in memory. Those that need one say that they are
# left out. Some packages mostly wait: four run at a time on two cores.
test-memory: rules ## every test that needs no real control plane
	FLYBALL_REAL=0 $(GO) test $(TESTFLAGS) -p 4 -timeout 60m $(LONG) work

# The same random calls to the API server in memory and to the real one, half of them about custom resources whose
# definitions are drawn: every difference fails, made as short as possible. CALLS=1000000 makes more of them, FIRST=N
# begins at another sequence.
random: export CALLS := $(or $(CALLS),100000)
random: controlplane rules ## random calls to the API server in memory and to the real one; CALLS, FIRST
	$(GO) test $(TESTFLAGS) -count=1 -timeout 300m -run '^TestRandomCallsAreAnsweredAlike$$' -v ./apiserver

# The tests that run on the API server in memory by default, on the real control plane.
REAL = $(shell grep -rl --include='*_test.go' 'flyball/test/servertest"' . | xargs -n1 dirname | sort -u)
test-real: controlplane ## those that run in memory by default, on the real control plane
	FLYBALL_REAL=1 $(GO) test $(TESTFLAGS) -p 4 -timeout 30m $(REAL)

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

# adapter/ctrlcache with the lowest versions that the adapter's go.mod asks for. `make test` has the newest.
LOWEST := ./...
lowest: controlplane ## the adapter with the lowest versions of its libraries
	GOWORK=$(CURDIR)/adapter/lowest.work $(GO) vet -C adapter $(LOWEST)
	GOWORK=$(CURDIR)/adapter/lowest.work $(GO) test -C adapter $(TESTFLAGS) -timeout 30m $(LOWEST)

# Every test that talks to a server, on other versions of Kubernetes: a table. SERVERS="1.33 1.34.4" names
# them. Each takes 5 to 9 minutes to build once, and 4 GB of Go's build cache.
servers: ## the tests on other versions of Kubernetes; SERVERS
	$(GO) run ./lab/servers $(SERVERS)

# The packages that count bytes, on 32 bits: CI runs these. A kernel that executes no program for 386 leaves it to qemu,
# which these can, for they start no process.
BYTES := ./store ./workqueue ./internal/cow ./internal/decode ./internal/jsonscan ./internal/pack ./internal/sparse ./internal/wire
test-386: ## the packages that count bytes, on 32 bits
	@export GOWORK=off GOARCH=386; set -x; case $$(tools/on386) in \
	kernel) $(GO) test $(TESTFLAGS) -timeout 60m $(BYTES);; \
	qemu) GODEBUG=asyncpreemptoff=1 $(GO) test $(TESTFLAGS) -exec qemu-i386 -timeout 60m $(BYTES);; \
	*) echo "NOT CHECKED: nothing here runs programs for 386; qemu-user would";; \
	esac

# The core module on other platforms: arm64 and 386 are vetted, and all libraries' tests run on 32 bits, those on the
# real control plane included, which is for this machine. What compares the API server in memory with the real one is
# left out, for both programs are the same there, and so are two packages: internal/faults waits for silences and time
# limits of whole programs, and internal/lint reads the tree. sim tries an eighth of its faults.
NOT386 := /(internal/(faults|lint)|sim)$$
platforms: controlplane rules test-386 ## arm64 and 32 bits
	GOWORK=off GOARCH=arm64 $(GO) vet ./...
	GOWORK=off GOARCH=386 $(GO) vet ./...
	@export GOWORK=off GOARCH=386; set -x; case $$(tools/on386) in \
	kernel) $(GO) test $(TESTFLAGS) -p 4 -timeout 60m -skip '$(COMPARED)' $$($(GO) list ./... | grep -vE '$(NOT386)') && \
	  $(GO) test $(TESTFLAGS) -timeout 60m ./sim -sim.part=1/8 -sim.pairs=25;; \
	*) echo "NOT CHECKED: the other packages on 32 bits: this kernel runs no program for 386";; \
	esac

lint: fmt tidy vet staticcheck ## fmt, tidy, vet, staticcheck

fmt: ## files are formatted
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt: $$out"; exit 1; }

vet: ## go vet of every module
	$(GO) vet $(PACKAGES)
	GOWORK=off $(GO) vet -C controlplane ./...
	GOWORK=off $(GO) vet -C test/storagekit ./...

# Every go.mod names just what its module needs, and go.work.sum all that the go command would add. `tools/tidy -w
# adapter` writes what is missing.
tidy: ## go.mod files are tidy
	@tools/tidy $(MODULES) controlplane test/storagekit
	@before=$$(cat go.work.sum); $(GO) list -m all >/dev/null && $(GO) mod download && \
	  test "$$before" = "$$(cat go.work.sum)" || { echo "go.work.sum was not complete: commit it as it is now"; exit 1; }

$(BIN)/staticcheck: tools/go.mod tools/go.sum
	GOWORK=off GOBIN=$(BIN) $(GO) install -C tools honnef.co/go/tools/cmd/staticcheck
	@touch $@

$(BIN)/govulncheck: tools/go.mod tools/go.sum
	GOWORK=off GOBIN=$(BIN) $(GO) install -C tools golang.org/x/vuln/cmd/govulncheck
	@touch $@

staticcheck: $(BIN)/staticcheck ## staticcheck of every module
	$(BIN)/staticcheck $(PACKAGES)

vuln: $(BIN)/govulncheck ## known vulnerabilities
	$(BIN)/govulncheck $(PACKAGES)

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
scale: ## 20,000 Pods on the real control plane
	FLYBALL_SCALE=20000 $(GO) test -timeout 30m -run '^TestLargeClusterIsReconciled$$' -v ./internal/faults

# The fault tests, the samples and the random tests at full length: silences, partitions and churn
# of minutes, a thousand starts and stops.
soak: ## every test at full length
	FLYBALL_LONG=1 $(GO) test -race -timeout 90m work

demo: ## watch a controller react
	$(GO) run ./cmd/flyball demo --once

clean: ## remove bin
	rm -rf $(BIN)
