//go:build long

package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"agenthost/internal/cli"
)

// The input ends while a call is under way: the program ends half a minute later, and the
// run goes on.
func TestMCPEndsWithItsInput(t *testing.T) {
	url := served(t)
	p := startProgram(t, "mcp", "-s", url)
	lines := bufio.NewScanner(p.out)
	fmt.Fprintln(p.in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	lines.Scan()
	fmt.Fprintln(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(p.in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ana","arguments":{"text":"endless"},"_meta":{"progressToken":1}}}`)
	if !lines.Scan() || !strings.Contains(lines.Text(), "notifications/progress") {
		t.Errorf("got %q", lines.Text())
	}
	p.in.Close()
	go io.Copy(io.Discard, p.out)
	p.ended(t, cli.CodeDone)
	stdout, _ := call(t, cli.CodeDone, "", "runs", "ls", "-s", url)
	contains(t, stdout, "mcp/dm/")
}
