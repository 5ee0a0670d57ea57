package main

import (
	"os"
	"testing"

	"agenthost/internal/cli"
)

func TestMCPLoginRefusesWhatHasNoLogin(t *testing.T) {
	t.Chdir(t.TempDir())
	file := `models: {m: {provider: echo}}
agents: [{id: ana}]
mcp:
  files: {command: [files]}
  stock: {url: "http://127.0.0.1:1/mcp", oauth: {grant: client_credentials, client_id: a, client_secret: b}}
  wiki: {url: "http://127.0.0.1:1/mcp"}
`
	if err := os.WriteFile(cli.DefaultConfig, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"wikki": `mcp server "wikki" is not configured; there is files, stock, wiki`,
		"files": `mcp server "files" is a program; give it its keys by env, a login is for servers with a url`,
		"stock": `mcp server "stock" has client_credentials: the host gets its tokens by itself`,
		"wiki":  `log in to mcp server "wiki": Post "http://127.0.0.1:1/mcp": dial tcp 127.0.0.1:1: `,
	} {
		_, stderr := call(t, cli.CodeFailed, "", "mcp", "login", name, "--no-browser")
		contains(t, stderr, want)
	}
	_, stderr := call(t, cli.CodeUsage, "", "mcp", "login", "wiki", "--timeout", "0s")
	contains(t, stderr, "--timeout 0s: want more than 0")
}
