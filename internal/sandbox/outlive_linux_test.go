package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"agenthost/internal/sandbox"
	"agenthost/internal/waittest"
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
	// The threads of the parent are between its number and that of the shell.
	"without a thread of its parent": `env -i setsid sleep 600 & i=$PPID; while i=$((i+1)); [ $i -lt $$ ]; do kill -9 $i; done`,
	"with a stopped thread":          `env -i setsid sleep 600 & i=$PPID; while i=$((i+1)); [ $i -lt $$ ]; do kill -STOP $i; done`,
	"without anything":               `env -i setsid sleep 600 & kill -9 -1`,
	"by forking on and on":           `env -i setsid sh -c 'f() { (f &) ; }; f' &`,
}

// A pipeline is a FIFO in the workspace. Its end shows when the last process is
// dead that has it open.
type pipeline struct {
	t      *testing.T
	out    *os.File
	in     *bufio.Reader // reads out
	writer *os.File      // keeps it from ending before it has begun
}

func (w workspace) pipeline(t *testing.T) pipeline {
	t.Helper()
	path := filepath.Join(w.dir, "fifo")
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
	return pipeline{t, reader, bufio.NewReader(reader), writer}
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
	_ = p.out.SetReadDeadline(time.Now().Add(waittest.Within)) // a FIFO has one
	if _, err := p.in.ReadByte(); !errors.Is(err, io.EOF) {
		p.t.Errorf("got %v, want that nothing has it open any more", err)
	}
}

// doomedMain is a host that runs a command, and is killed meanwhile.
func doomedMain() {
	_, err := sandbox.Command{
		Text: holdFIFO + `env -i setsid sleep 600 & setsid sleep 600`,
		Dir:  os.Args[1], Temp: os.Args[2], Limit: time.Hour, Level: sandbox.Level(os.Args[3]), FileSize: 1 << 30,
	}.Run(context.Background())
	fmt.Println("not killed:", err)
	os.Exit(1)
}

func init() { roles["doomed"] = doomedMain }

func TestNothingOutlivesTheHost(t *testing.T) {
	t.Parallel()
	for _, level := range sandbox.Levels() {
		t.Run(string(level), func(t *testing.T) {
			w := open(t, level)
			p := w.pipeline(t)
			host := exec.CommandContext(t.Context(), "/proc/self/exe")
			host.Args = []string{"doomed", w.dir, t.TempDir(), string(level)}
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
