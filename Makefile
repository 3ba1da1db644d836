# make help lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BINARIES := om ox koc krops-bootstrap
FUZZTIME ?= 10s
CROSS    ?= $(BINARIES)
TOOLS    := bin/tools

# Version control is stamped by VERSION, so builds also work in a tree that is no checkout.
export GOFLAGS := -buildvcs=false $(filter-out -buildvcs=%,$(GOFLAGS))

GO_BUILD := CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## static binaries of om, ox, koc and krops-bootstrap in bin/
	@mkdir -p bin
	$(GO_BUILD) -o bin/ $(BINARIES:%=./cmd/%)

.PHONY: demo
demo: build ## a cluster of three nodes, the first service, a day of koc and the plans of krops-bootstrap, in places of their own
	@failed=0; for demo in 'go run ./test/demo/cluster' test/demo/run test/demo/koc test/demo/krops; do $$demo || failed=1; done; exit $$failed

.PHONY: test
test: ## every test that needs no root
	go test ./...

.PHONY: race
race: ## the same under the race detector
	CGO_ENABLED=1 go test -race -shuffle=on ./...

# krops-bootstrap has a lab of its own, and nothing here that needs root.
.PHONY: lab
lab: ## the tests that need root: real mounts, cgroups, signals; nothing may be skipped
	@test "$$(id -u)" = 0 || { echo 'make lab needs root: its tests mount file systems and make cgroups' >&2; exit 1; }
	HOLDFAST_FORBID_SKIP=1 go test -tags lab $$(go list ./... | grep -v /krops)

.PHONY: chaos
chaos: ## N=1000 faults at random on three nodes in name spaces, from SEED=; needs root
	@test "$$(id -u)" = 0 || { echo 'make chaos needs root: its nodes have disks and control groups' >&2; exit 1; }
	HOLDFAST_CHAOS_FAULTS=$(or $(N),1000) HOLDFAST_CHAOS_SEED=$(SEED) go test -tags lab -count=1 -timeout 0 -v -run '^TestChaos' ./test/om/trial

# The cloud is its own (CLOUD_DIR) and stays, so the next run begins sooner; test/koc/lab/cloud-down stops it.
.PHONY: lab-openstack
lab-openstack: ## koc against a real OpenStack, beside the openstack client; needs root and Debian
	test/koc/lab/cloud-up
	test/koc/lab/seed
	HOLDFAST_FORBID_SKIP=1 go test -count=1 -timeout 40m -tags lab_openstack ./test/koc/lab/...
	HOLDFAST_REAL_CLOUD=1 OS_CLIENT_CONFIG_FILE=$${CLOUD_DIR:-/var/tmp/cloud}/clouds.yaml OS_CLOUD=test PASSWORD=$${ADMIN_PASSWORD:-admin-secret} \
		go test -count=1 -run TestScripts ./test/koc

.PHONY: lab-kube
lab-kube: ## krops-bootstrap against real API servers, which are built from Go modules; needs root and Debian
	@test "$$(id -u)" = 0 || { echo 'make lab-kube needs root: its tests start container engines of their own' >&2; exit 1; }
	test/krops/lab/assets
	HOLDFAST_FORBID_SKIP=1 CGO_ENABLED=0 go test -trimpath -count=1 -parallel 3 -timeout 30m -tags lab_kube ./test/krops/lab/...

.PHONY: lab-machines
lab-machines: ## the agent on machines with a real systemd: loss of power, reboot, fencing; needs root and Debian
	.ci/install test/om/machines/packages.txt
	HOLDFAST_FORBID_SKIP=1 go test -count=1 -timeout 20m -tags lab_machines ./test/om/machines

.PHONY: lab-vm
lab-vm: ## the agent on virtual machines: loss of power, reboot, fencing, kernels that crash; needs root and Debian
	.ci/install test/om/machines/vm/packages.txt
	HOLDFAST_FORBID_SKIP=1 go test -v -count=1 -timeout 60m -tags lab_machines ./test/om/machines/vm

.PHONY: fuzz
fuzz: ## every fuzz target in turn, FUZZTIME=10s each
	@FUZZTIME=$(FUZZTIME) FUZZLIGHT=$(FUZZLIGHT) .ci/fuzz

.PHONY: bench
bench: build ## start-up, action, memory and request figures
	@go run ./test/bench

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## golangci-lint with .golangci.yml, formatting included
	$(TOOLS)/golangci-lint run --allow-parallel-runners --build-tags lab,lab_openstack,lab_kube,lab_machines ./...

# Built from the version that tools/go.mod pins: minutes the first time, nothing after.
$(TOOLS)/golangci-lint: tools/go.mod tools/go.sum
	@mkdir -p $(TOOLS)
	go build -modfile=tools/go.mod -trimpath -ldflags '-s -w' -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

.PHONY: docs
docs: ## rewrite what is generated: docs/reference, golden files, cmd/*/deps.txt
	@packages=$$(grep -rl --include='*_test.go' -E 'flag\.Bool\("update"' cmd internal test | xargs -r -n1 dirname | sort -u | sed 's,^,./,'); \
	go test -count=1 $$packages -update

.PHONY: cross
cross: ## check that other platforms build: linux/arm64, and darwin/arm64 for koc and ox
	GOOS=linux GOARCH=arm64 $(GO_BUILD) -o /dev/null $(CROSS:%=./cmd/%)
	GOOS=darwin GOARCH=arm64 $(GO_BUILD) -o /dev/null ./cmd/koc ./cmd/ox

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
