package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/doors/doorstest"
	"agenthost/internal/cli"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// served is a NATS with a host of doorstest, and one more agent if there is to be.
func served(t *testing.T, more ...config.Agent) (url string) {
	t.Helper()
	t.Chdir(t.TempDir())
	url, _ = bustest.Server(t)
	cfg := doorstest.Config(t, "")
	cfg.NATS = bus.Config{URL: url}
	cfg.Agents = append(cfg.Agents, more...)
	doorstest.Serve(t, cfg)
	return url
}

// A program is a command that runs on pipes.
type program struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	stderr bustest.LogBuffer
	code   chan int
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	in, toProgram := io.Pipe()
	fromProgram, out := io.Pipe()
	p := &program{in: toProgram, out: fromProgram, code: make(chan int, 1)}
	go func() {
		p.code <- execute(t.Context(), args, in, out, &p.stderr)
		out.Close()
	}()
	return p
}

func (p *program) ended(t *testing.T, code int) {
	t.Helper()
	select {
	case got := <-p.code:
		if got != code {
			t.Errorf("exit code: got %d, want %d; %s", got, code, &p.stderr)
		}
	case <-bustest.Context(t).Done():
		t.Fatal("it does not end")
	}
	if p.stderr.String() != "" {
		t.Errorf("standard error: %s", &p.stderr)
	}
}

func TestMCPOnStdio(t *testing.T) {
	url := served(t)
	p := startProgram(t, "mcp", "-s", url)
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(bustest.Context(t), &sdk.IOTransport{Reader: p.out, Writer: p.in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.ListTools(bustest.Context(t), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "ana" {
		t.Fatalf("got %+v, %v", list, err)
	}
	res, err := s.CallTool(bustest.Context(t), &sdk.CallToolParams{Name: "ana", Arguments: map[string]any{"text": "hi"}})
	if err != nil || res.Content[0].(*sdk.TextContent).Text != "ana: hi" {
		t.Errorf("got %+v, %v", res, err)
	}
	s.Close()
	p.ended(t, cli.CodeDone)
}

func TestACPOnStdio(t *testing.T) {
	url := served(t)
	p := startProgram(t, "acp", "-s", url)
	lines := bufio.NewScanner(p.out)
	ask := func(line string) (result json.RawMessage) {
		fmt.Fprintln(p.in, line)
		var m struct{ Result json.RawMessage }
		for len(m.Result) == 0 {
			if !lines.Scan() || json.Unmarshal(lines.Bytes(), &m) != nil {
				t.Fatalf("got %q, %v; %s", lines.Text(), lines.Err(), &p.stderr)
			}
		}
		return m.Result
	}
	contains(t, string(ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)), `"loadSession":true`)
	var s struct{ SessionID string }
	if err := json.Unmarshal(ask(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`), &s); err != nil {
		t.Fatal(err)
	}
	contains(t, string(ask(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"`+s.SessionID+`","prompt":[{"type":"text","text":"hi"}]}}`)), "end_turn")
	stdout, _ := call(t, cli.CodeDone, "", "sessions", "ls", "-s", url)
	contains(t, stdout, "acp/dm/"+s.SessionID)
	p.in.Close()
	p.ended(t, cli.CodeDone)
}

// A program whose output was closed ends, though a call is under way and nothing is
// written.
func TestOutputIsClosed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it shows there when something is written")
	}
	url := served(t)
	read, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, toProgram := io.Pipe()
	code := make(chan int, 1)
	var stderr bustest.LogBuffer
	go func() { code <- execute(t.Context(), []string{"mcp", "-s", url}, in, out, &stderr) }()
	fmt.Fprintln(toProgram, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if line, err := bufio.NewReader(read).ReadString('\n'); err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	fmt.Fprintln(toProgram, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(toProgram, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ana","arguments":{"text":"endless"}}}`)
	toProgram.Close()
	read.Close()
	select {
	case got := <-code:
		if got != cli.CodeDone || stderr.String() != "" {
			t.Errorf("exit code %d: %s", got, &stderr)
		}
	case <-bustest.Context(t).Done():
		t.Fatal("it does not end")
	}
}

func TestDoorsOnStdioWithoutWhatTheyNeed(t *testing.T) {
	if alone(t) {
		return
	}
	bob := config.Agent{}
	bob.ID, bob.Model = "bob", agents.Names{"main"}
	url := served(t, bob)
	empty, _ := bustest.Server(t)
	for command, want := range map[string]string{
		"acp -s " + url:                     "there are several agents; name one of ana, bob",
		"acp shy -s " + url:                 `agent "shy" is not reached by acp; there is ana, bob`,
		"acp -s " + empty:                   "no host answers",
		"mcp -s " + empty:                   "no host answers",
		"acp ana -s nats://127.0.0.1:1":     "127.0.0.1:1",
		"mcp -s nats://127.0.0.1:1":         "127.0.0.1:1",
		"mcp -c nowhere.yaml --log-level x": "",
	} {
		code := cli.CodeFailed
		if want == "" {
			code = cli.CodeUsage
		}
		stdout, stderr := call(t, code, "", strings.Fields(command)...)
		contains(t, stderr, want)
		if stdout != "" {
			t.Errorf("%s: standard output: %q", command, stdout)
		}
	}
}

// The commands in the settings that pages show are ones that there are.
func TestSettingsInDocs(t *testing.T) {
	found := 0
	for _, page := range []string{"mcp", "acp"} {
		text, err := os.ReadFile("../../docs/doors/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "```json\n")[1:] {
			part, _, _ = strings.Cut(part, "```")
			var settings map[string]map[string]json.RawMessage
			if !json.Valid([]byte(part)) {
				t.Errorf("%s: example %d is no JSON", page, i+1)
			}
			if json.Unmarshal([]byte(part), &settings) != nil {
				continue // it shows something else
			}
			for _, outer := range []string{"mcpServers", "agent_servers"} {
				for name, entry := range settings[outer] {
					var s struct{ Args []string }
					if err := json.Unmarshal(entry, &s); err != nil || s.Args == nil {
						continue
					}
					found++
					cmd, rest, err := newApp(nil, nil, nil, os.Getenv).root().Find(s.Args)
					if err == nil {
						err = cmd.ParseFlags(rest)
					}
					if err == nil {
						err = cmd.ValidateArgs(cmd.Flags().Args())
					}
					if err != nil || cmd.Name() != page {
						t.Errorf("%s: settings of %s: got the command %s, %v", page, name, cmd.Name(), err)
					}
				}
			}
		}
	}
	if found != 3 {
		t.Errorf("got %d settings, want 3", found)
	}
}
