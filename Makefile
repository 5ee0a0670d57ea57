.PHONY: build test test-long lint race chaos simulation mutants rename ci

build: ## a static binary, ./agenthost
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o agenthost ./cmd/agenthost

test: ## what takes minutes is left out
	go test ./...

test-long: ## all tests that need nothing but Go
	go test -tags long ./...

lint:
	.ci/run format vet lint

race:
	go test -race -shuffle=on -tags crashtest,long -timeout 20m ./...

chaos: ## three hosts and three NATS servers, a fault a second: make chaos CHAOS='--seed 1 --for 30m'
	go run ./internal/agenthost-chaos $(CHAOS)

simulation: ## 10,000 seeds of a fleet in one process
	.ci/run simulation

mutants: ## planted bugs, and which test catches each
	go run ./internal/mutants

rename: ## another module path: make rename MODULE=example.org/you/agenthost
	.ci/rename '$(MODULE)'

ci: ## all that has to hold before a change is taken
	.ci/run
