//go:build interop && unix

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"agenthost/tools"
	"agenthost/tools/mcp"
)

// npmVariable is a folder whose node_modules has @modelcontextprotocol/server-everything
// and @modelcontextprotocol/server-filesystem.
const npmVariable = "AGENTHOST_NPM"

// mainFile is the main file of one of the servers.
func mainFile(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv(npmVariable)
	if folder == "" {
		t.Fatalf("%s is not set to a folder with node_modules", npmVariable)
	}
	file, err := filepath.Abs(filepath.Join(folder, "node_modules/@modelcontextprotocol", name, "dist/index.js"))
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// everything is the reference server, in both ways it can be reached.
func everything(t *testing.T, test func(t *testing.T, cfg tools.MCPConfig, server func() *os.Process)) {
	t.Run("stdio", func(t *testing.T) {
		started := filepath.Join(t.TempDir(), "pid")
		cfg := tools.MCPConfig{
			Command: []string{"sh", "-c", `echo $$ > "$PID"; exec node "$0" stdio`, mainFile(t, "server-everything")},
			Env:     map[string]string{"PID": started},
		}
		test(t, cfg, func() *os.Process {
			text, err := os.ReadFile(started)
			var pid int
			if err == nil {
				_, err = fmt.Sscan(string(text), &pid)
			}
			if err != nil {
				t.Fatal(err)
			}
			p, _ := os.FindProcess(pid) // never fails here
			return p
		})
	})
	t.Run("http", func(t *testing.T) {
		srv := startHTTP(t)
		test(t, tools.MCPConfig{URL: srv.url}, srv.process)
	})
}

// An httpServer is the reference server in a process, which is started again
// when it ends.
type httpServer struct {
	url string
	mu  sync.Mutex
	cmd *exec.Cmd
}

func (s *httpServer) process() *os.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process
}

func startHTTP(t *testing.T) *httpServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	main := mainFile(t, "server-everything")
	s := &httpServer{url: "http://127.0.0.1:" + port + "/mcp"}
	ctx, cancel := context.WithCancel(context.Background())
	start := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cmd = exec.CommandContext(ctx, "node", main, "streamableHttp")
		s.cmd.Env = append(os.Environ(), "PORT="+port)
		if err := s.cmd.Start(); err != nil {
			t.Error(err)
		}
	}
	start()
	var watch sync.WaitGroup
	watch.Go(func() {
		for ctx.Err() == nil {
			s.cmd.Wait()
			if ctx.Err() == nil {
				start()
			}
		}
	})
	t.Cleanup(func() { cancel(); watch.Wait() })
	for { // until it listens
		resp, err := http.Get(s.url)
		if err == nil {
			resp.Body.Close()
			return s
		}
	}
}

// everyTool is what each of the tools of the reference server is called
// with, and what its answer has to have in it.
var everyTool = map[string]struct{ args, want string }{
	"echo":                           {`{"message":"hi"}`, "Echo: hi"},
	"get-annotated-message":          {`{"messageType":"error","includeImage":true}`, "[image, image/png, "},
	"get-env":                        {`{}`, "PATH"},
	"get-resource-links":             {`{"count":2}`, "[resource demo://"},
	"get-resource-reference":         {`{"resourceType":"Text","resourceId":1}`, "[resource demo://"},
	"get-structured-content":         {`{"location":"Chicago"}`, "temperature"},
	"get-sum":                        {`{"a":2,"b":3}`, "5"},
	"get-tiny-image":                 {`{}`, "[image, image/png, "},
	"gzip-file-as-resource":          {`{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}`, "[resource "},
	"simulate-research-query":        {`{"topic":"ants"}`, "requires task augmentation"},
	"toggle-simulated-logging":       {`{}`, "logging"},
	"toggle-subscriber-updates":      {`{}`, "updates"},
	"trigger-elicitation-request":    {`{}`, "User provided"},
	"trigger-long-running-operation": {`{"duration":0.2,"steps":2}`, "completed"},
}

func TestInteropEveryTool(t *testing.T) {
	everything(t, func(t *testing.T, cfg tools.MCPConfig, _ func() *os.Process) {
		w := openOne(t, cfg, mcp.Options{Ask: func(_ context.Context, q mcp.Question) (string, error) {
			switch {
			case strings.Contains(q.Prompt, "(- "):
				return "-", nil
			case len(q.Options) > 0:
				return q.Options[0], nil
			case strings.Contains(q.Prompt, "name needs"), strings.HasSuffix(q.Prompt, "String"):
				return "Ann", nil
			default:
				return "", nil
			}
		}})
		w.until("its tools", func() bool { return len(w.client().Tools()) >= 10 })
		for _, tool := range w.client().Tools() {
			name := strings.TrimPrefix(tool.Name, "s.")
			t.Run(name, func(t *testing.T) {
				use, ok := everyTool[name]
				if !ok {
					t.Fatal("new: everyTool needs its arguments")
				}
				res, err := tool.Run(t.Context(), call(use.args))
				if err != nil {
					t.Fatal(err)
				}
				// That one works as a task only, which clients do not have to support.
				if res.Failed != (name == "simulate-research-query") || !strings.Contains(res.Text, use.want) {
					t.Errorf("got %+v, want %q in it", res, use.want)
				}
			})
		}
		w.stop()
	})
}

func TestInteropProgressAndCancel(t *testing.T) {
	everything(t, func(t *testing.T, cfg tools.MCPConfig, _ func() *os.Process) {
		w := openOne(t, cfg, mcp.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		progress, done := make(chan string, 100), make(chan error, 1)
		long := w.tool("s.trigger-long-running-operation")
		go func() {
			_, err := long.Run(ctx, tools.Call{
				Args: json.RawMessage(`{"duration":60,"steps":600}`), Progress: func(text string) { progress <- text },
			})
			done <- err
		}()
		for n := 1; n <= 3; n++ {
			if got, want := <-progress, fmt.Sprintf("%d of 600", n); got != want {
				t.Errorf("progress: got %q, want %q", got, want)
			}
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if res := w.run("s.echo", `{"message":"on"}`); res.Text != "Echo: on" {
			t.Errorf("after it: got %+v", res)
		}
		w.stop()
	})
}

func TestInteropKilledAndBack(t *testing.T) {
	everything(t, func(t *testing.T, cfg tools.MCPConfig, server func() *os.Process) {
		w := openOne(t, cfg, mcp.Options{})
		echo := w.tool("s.echo")
		for range 3 {
			first := server()
			if err := first.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			w.retry(echo, `{"message":"back"}`, func(res tools.Result) bool {
				return res.Text == "Echo: back" && server().Pid != first.Pid
			})
		}
		w.stop()
	})
}

func TestInteropFilesystem(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("0123456789abcde\n"), 160<<10) // 2.5 MB, twice in one line
	if err := os.WriteFile(filepath.Join(folder, "big"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	w := openOne(t, tools.MCPConfig{Command: []string{"node", mainFile(t, "server-filesystem"), folder}, Trust: true}, mcp.Options{})
	at := func(name string) string { return filepath.Join(folder, name) }
	steps := []struct {
		tool string
		args map[string]any
		want string
	}{
		{"create_directory", map[string]any{"path": at("d")}, "Successfully"},
		{"write_file", map[string]any{"path": at("d/a"), "content": "one\ntwo\n"}, "Successfully"},
		{"edit_file", map[string]any{"path": at("d/a"), "edits": []any{map[string]any{"oldText": "two", "newText": "three"}}}, "+three"},
		{"read_text_file", map[string]any{"path": at("d/a")}, "one\nthree"},
		{"read_file", map[string]any{"path": at("d/a")}, "one\nthree"},
		{"read_media_file", map[string]any{"path": at("d/a")}, ""},
		{"read_multiple_files", map[string]any{"paths": []any{at("d/a")}}, "three"},
		{"get_file_info", map[string]any{"path": at("d/a")}, "size: 10"},
		{"list_directory", map[string]any{"path": folder}, "[DIR] d"},
		{"list_directory_with_sizes", map[string]any{"path": folder}, "big"},
		{"directory_tree", map[string]any{"path": folder}, `"name": "d"`},
		{"search_files", map[string]any{"path": folder, "pattern": "**/a"}, at("d/a")},
		{"move_file", map[string]any{"source": at("d/a"), "destination": at("d/b")}, "Successfully"},
		{"list_allowed_directories", map[string]any{}, folder},
	}
	var called []string
	for _, s := range steps {
		args, _ := json.Marshal(s.args) // of strings only: never fails
		called = append(called, "s."+s.tool)
		if res := w.run("s."+s.tool, string(args)); res.Failed && s.want != "" || !strings.Contains(res.Text, s.want) {
			t.Errorf("%s: got %+v, want %q in it", s.tool, res, s.want)
		}
	}
	for _, name := range names(w.client().Tools()) {
		if !slices.Contains(called, name) {
			t.Errorf("%s is not called", name)
		}
	}
	if res := w.run("s.read_text_file", `{"path":"`+at("big")+`"}`); res.Text != string(big) {
		t.Errorf("big file: got %d bytes, want %d", len(res.Text), len(big))
	}
	if res := w.run("s.read_text_file", `{"path":"/etc/passwd"}`); !res.Failed {
		t.Errorf("a file outside: got %+v", res)
	}
	if read := w.tool("s.read_text_file"); !read.ReadOnly {
		t.Errorf("read_text_file: %+v", read)
	}
}
