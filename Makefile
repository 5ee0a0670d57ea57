.PHONY: build test lint race rename ci

build: ## a static binary, ./agenthost
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o agenthost ./cmd/agenthost

test:
	go test ./...

lint:
	.ci/run format vet lint

race:
	go test -race -shuffle=on -tags crashtest -timeout 15m ./...

rename: ## another module path: make rename MODULE=example.org/you/agenthost
	.ci/rename '$(MODULE)'

ci: ## all that has to hold before a change is taken
	.ci/run
