package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"agenthost/internal/mcpoauth"
	"agenthost/tools"
	"agenthost/tools/mcp"

	"github.com/rs/zerolog"
)

// conformanceArgs are those of the tools that the conformance suite has called.
var conformanceArgs = map[string]string{"add_numbers": `{"a":5,"b":3}`}

// beConformant is a client for the conformance suite, which names its server last:
// it calls each tool once, after a login if the server wants one.
func beConformant() {
	server := tools.MCPConfig{URL: os.Args[len(os.Args)-1]}
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given)
	server.OAuth.ClientID, server.OAuth.ClientSecret = given.ID, given.Secret
	folder, err := os.MkdirTemp("", "tokens")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer os.RemoveAll(folder)
	if strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/") {
		login(server, folder)
	}
	pool := mcp.NewPool(map[string]tools.MCPConfig{"s": server}, mcp.Options{
		Log: zerolog.New(os.Stderr), Tokens: folder,
		Ask: func(context.Context, mcp.Question) (string, error) { return "", nil },
	})
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	var run sync.WaitGroup
	run.Go(func() { _ = pool.Run(ctx) })
	pool.Await(ctx)
	for _, tool := range pool.Clients()[0].Tools() {
		args := conformanceArgs[tool.Name[len("s."):]]
		res, err := tool.Run(ctx, tools.Call{ID: "c", Name: tool.Name, Args: json.RawMessage(args), Progress: func(string) {}})
		fmt.Fprintln(os.Stderr, tool.Name, res, err)
	}
	for _, fault := range pool.Clients()[0].Faults() {
		fmt.Fprintln(os.Stderr, fault)
	}
	cancel()
	run.Wait()
}

// login does what a person with a browser would.
func login(server tools.MCPConfig, folder string) {
	_, err := mcpoauth.Login{Server: server, Folder: folder, Show: func(address string) {
		go func() {
			if resp, err := http.Get(address); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
	}}.Run(context.Background())
	fmt.Fprintln(os.Stderr, "login:", err)
}
