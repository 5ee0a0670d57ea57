package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/tools"
	"agenthost/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// serveHTTP is the server of serveStdio over HTTP. It says where it listens on its
// output, and ends with its input.
func serveHTTP(opts *sdk.StreamableHTTPOptions) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("http://" + l.Addr().String())
	s := newServer(nil)
	go http.Serve(l, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, opts))
	io.Copy(io.Discard, os.Stdin)
}

// inProcess is the server of a role over HTTP.
func inProcess(t *testing.T, role string) tools.MCPConfig {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return tools.MCPConfig{URL: strings.TrimSpace(url)}
}

// serveTail writes answers whose id comes last, as servers in JavaScript do, each
// too long; the last one is a request.
func serveTail() {
	listen(func(m message) {
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tail","version":"1"}}`)
		case "tools/list":
			answer(m.ID, `{"tools":[{"name":"last","inputSchema":{"type":"object"}},{"name":"asks","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			long := strings.Repeat("x", 17<<20)
			if m.Params.Name == "asks" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":%q}}`+"\n", m.ID, long)
				return
			}
			fmt.Printf(`{"result":{"content":[{"type":"text","text":%q,"id":1}]},"jsonrpc":"2.0","id":%s}`+"\n", long, m.ID)
		}
	})
}

// serveUnreadable answers each call with what its name says, of which nothing but the id can be
// read.
func serveUnreadable() {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	listen(func(m message) {
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"unreadable","version":"1"}}`)
		case "tools/list":
			answer(m.ID, `{"tools":[{"name":"deep","inputSchema":{"type":"object"}},{"name":"last","inputSchema":{"type":"object"}},{"name":"less","inputSchema":{"type":"object"}},{"name":"broken","inputSchema":{"type":"object"}},{"name":"asks","inputSchema":{"type":"object"}},{"name":"fine","inputSchema":{"type":"object"}}]}`)
		case "ping":
			answer(m.ID, `{}`)
		case "tools/call":
			switch m.Params.Name {
			case "deep":
				answer(m.ID, `{"content":[],"structuredContent":{"id":1,"a":`+deep+`}}`)
			case "last":
				fmt.Printf(`{"result":{"content":[],"structuredContent":{"id":1,"a":%s}},"jsonrpc":"2.0","id":%s}`+"\n", deep, m.ID)
			case "less": // which is JSON to others
				answer(m.ID, `{"content":[],"structuredContent":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}`)
			case "broken":
				answer(m.ID, `{"content":[}`)
			case "asks": // no answer, which comes after it
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":%s}`+"\n", m.ID, deep)
				fallthrough
			default:
				answer(m.ID, `{"content":[{"type":"text","text":"fine"}]}`)
			}
		}
	})
}

// A call whose answer cannot be read does not wait for another one.
func TestAnswerThatCannotBeReadEndsItsCall(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("unreadable"), mcp.Options{})
	for tool, want := range map[string]string{"deep": "nested deeper than 1000", "last": "nested deeper than 1000", "less": "nested deeper than 1000", "broken": "invalid character '}'"} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		res, err := w.tool("s."+tool).Run(ctx, call(`{}`))
		cancel()
		if err != nil || !res.Failed || !strings.HasPrefix(res.Text, "the answer cannot be read: ") || !strings.Contains(res.Text, want) {
			t.Errorf("%s: got %.200s, %v", tool, res.Text, err)
		}
	}
	for _, tool := range []string{"s.asks", "s.fine"} {
		if res := w.run(tool, `{}`); res.Text != "fine" {
			t.Errorf("%s: got %.200s", tool, res.Text)
		}
	}
}

// serveNoisy is a server that writes to its output what it should not.
func serveNoisy() {
	fmt.Println("Starting the server…")
	fmt.Println("[INFO] listening")
	fmt.Println(`{"level":"info","msg":"ready"}`)
	fmt.Println(`{'jsonrpc': 'no'}` + "\xff")
	fmt.Println()
	fmt.Println(`{"jsonrpc":"2.0",`)
	fmt.Println(strings.Repeat("noise ", 20<<10))
	fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
	fmt.Println(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}`)
	fmt.Println(`{"jsonrpc":"2.0","id":null,"method":"notifications/tools/list_changed"}`)
	serveStdio()
}

// A server that greets on its standard output is understood all the same, and the
// log has what it said.
func TestNoiseOnStandardOutputIsLoggedAndLeftOut(t *testing.T) {
	t.Parallel()
	var said bustest.LogBuffer
	opts := mcp.Options{Log: zerolog.New(&said), Patience: time.Minute}
	w := openLogged(t, map[string]tools.MCPConfig{"s": stdio("noisy")}, opts)
	w.pool.Await(t.Context())
	if res := w.run("s.echo", `{"text":"hi"}`); res.Text != "hi" {
		t.Errorf("got %+v", res)
	}
	w.stop()
	for _, want := range []string{
		`"line":"Starting the server…"`, `"line":"[INFO] listening"`, `"line":"{\"level\":\"info\",\"msg\":\"ready\"}"`,
		`"line":"{'jsonrpc': 'no'}` + "\uFFFD" + `"`, `"line":"{\"jsonrpc\":\"2.0\","`, `"line":"noise noise `,
		`"line":"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}"`, `\"message\":\"Invalid Request\"}}"`,
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("not in the log: %s", want)
		}
	}
	for _, none := range []string{"list_changed", "is gone"} {
		if strings.Contains(said.String(), none) {
			t.Errorf("in the log: %s", none)
		}
	}
	for line := range strings.Lines(said.String()) {
		if len(line) > 5<<10 {
			t.Errorf("a line of %d bytes in the log", len(line))
		}
	}
}
