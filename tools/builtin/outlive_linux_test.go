package builtin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"agenthost/tools"
	"agenthost/tools/builtin"
)

// escapes are commands that try to leave a process behind, which holds the FIFO
// open that is file 4.
var escapes = map[string]string{
	"in the background":      `sleep 600 &`,
	"in a session":           `setsid sleep 600 &`,
	"without an environment": `env -i setsid sleep 600 &`,
	"deaf":                   `env -i setsid sh -c 'trap "" HUP INT TERM USR1 USR2; while :; do sleep 600; done' &`,
	"as an orphan":           `(env -i setsid sh -c 'sleep 600 & exit' &)`,
	"by more and more":       `env -i setsid sh -c 'f() { sleep 600 & sleep 600 & }; f; (f; (f; (f)))' &`,
	"without its parent":     `env -i setsid sleep 600 & kill -9 $PPID`,
	"with a stopped parent":  `env -i setsid sleep 600 & kill -STOP $PPID`,
	"without anything":       `env -i setsid sleep 600 & kill -9 -1`,
	"by forking on and on":   `env -i setsid sh -c 'f() { (f &) ; }; f' &`,
}

// A pipeline is a FIFO in the workspace. Its end shows when the last process is
// dead that has it open.
type pipeline struct {
	t      *testing.T
	in     *bufio.Reader
	writer *os.File // keeps it from ending before it has begun
}

func (b bench) pipeline(t *testing.T) pipeline {
	t.Helper()
	b.put(t, "x", "")
	path := filepath.Join(b.dir, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return pipeline{t, bufio.NewReader(reader), writer}
}

const holdFIFO = `exec 4>fifo; echo up >&4; `

// begins waits until the command has it open.
func (p pipeline) begins() {
	defer p.writer.Close()
	if line, err := p.in.ReadString('\n'); err != nil || line != "up\n" {
		p.t.Errorf("got %q, %v", line, err)
	}
}

func (p pipeline) ends() {
	p.t.Helper()
	if _, err := p.in.ReadByte(); err == nil {
		p.t.Error("something was written")
	}
}

func TestNothingOutlivesItsCall(t *testing.T) {
	for _, level := range builtin.Levels() {
		for name, escape := range escapes {
			for how, rest := range map[string]string{"exit": "exit 0", "stop": "sleep 600"} {
				t.Run(level+"/"+name+"/"+how, func(t *testing.T) {
					b := open(t, builtin.AtLevel(level))
					p := b.pipeline(t)
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					begun := make(chan struct{})
					go func() {
						defer close(begun)
						if p.begins(); how == "stop" {
							stop()
						}
					}()
					args := json.RawMessage(quoted(t, map[string]string{"command": holdFIFO + escape + "\n" + rest}))
					_, err := b.tools["run_command"].Run(ctx, tools.Call{Agent: "ana", Args: args})
					if err != nil {
						t.Fatal(err)
					}
					<-begun
					p.ends()
				})
			}
		}
	}
}

// doomedMain is a host that runs a command, and is killed meanwhile.
func doomedMain() {
	o := builtin.AtLevel(os.Args[2])
	o.Workspace = func(string) string { return os.Args[1] }
	all, err := builtin.New(o)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, tool := range all {
		if tool.Name == "run_command" {
			args := json.RawMessage(`{"command":"` + holdFIFO + `env -i setsid sleep 600 & setsid sleep 600"}`)
			_, err = tool.Run(context.Background(), tools.Call{Agent: "ana", Args: args})
		}
	}
	fmt.Println("not killed:", err)
	os.Exit(1)
}

func init() { roles["doomed"] = doomedMain }

func TestNothingOutlivesTheHost(t *testing.T) {
	for _, level := range builtin.Levels() {
		t.Run(level, func(t *testing.T) {
			b := open(t, builtin.AtLevel(level))
			p := b.pipeline(t)
			host := exec.CommandContext(t.Context(), "/proc/self/exe")
			host.Args = []string{"doomed", b.dir, level}
			host.Stdout, host.Stderr = os.Stderr, os.Stderr
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			p.begins()
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = host.Wait() // it was killed
			p.ends()
		})
	}
}
