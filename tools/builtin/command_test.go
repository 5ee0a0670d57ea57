//go:build unix

package builtin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"agenthost/bus/bustest"
	"agenthost/tools"
	"agenthost/tools/builtin"
)

func TestRunCommand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		command, want string
		failed        bool
	}{
		"output":          {"echo hello", "hello\n[exit status 0]", false},
		"no output":       {"true", "[exit status 0]", false},
		"no end of line":  {"printf hello", "hello\n[exit status 0]", false},
		"errors too":      {"echo a; echo b >&2; echo c", "a\nb\nc\n[exit status 0]", false},
		"exit code":       {"echo no; exit 3", "no\n[exit status 3]", true},
		"unknown program": {"no-such-program 2>/dev/null", "[exit status 127]", true},
		"killed":          {"kill -9 $$", "[signal: killed]", true},
		"no input":        {"cat; wc -c </dev/stdin", "0\n[exit status 0]", false},
		"bad UTF-8":       {`printf 'caf\351'`, "caf\uFFFD\n[exit status 0]", false},
		"an option":       {"-x", "", true},
		"pipes":           {"printf 'b\\na\\n' | sort | tr -d '\\n'", "ab\n[exit status 0]", false},
	}
	for _, confined := range []bool{true, false} {
		b := open(t, builtin.Options{NoSandbox: !confined})
		for name, tt := range tests {
			t.Run(fmt.Sprintf("sandbox %v/%s", confined, name), func(t *testing.T) {
				result, err := b.call(t, "run_command", quoted(t, map[string]string{"command": tt.command}))
				if err != nil {
					t.Fatal(err)
				}
				if (tt.want != "" && result.Text != tt.want) || result.Failed != tt.failed {
					t.Errorf("got %q, failed %v, want %q, %v", result.Text, result.Failed, tt.want, tt.failed)
				}
			})
		}
	}
}

func TestRunCommandRefuses(t *testing.T) {
	b := open(t, builtin.Options{})
	b.fails(t, "run_command", `{"command":" "}`, "run command: no command")
	b.fails(t, "run_command", `{"command":"true","timeout":"1h"}`, "run command: timeout 1h0m0s is above 10m0s")
	b.fails(t, "run_command", `{"command":"true","timeout":"long"}`, `"long" is no time span`)
	b.fails(t, "run_command", `{"command":"true\u0000"}`, "run command: ")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	b.fails(t, "run_command", `{"command":"true"}`, "no such file or directory")
}

func TestCommandLineForThePolicy(t *testing.T) {
	commands := open(t, builtin.Options{}).tools["run_command"].Commands
	if got, want := commands(json.RawMessage(`{"command":"ls -l"}`)), "ls -l"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := commands(json.RawMessage(`{"command":5}`)); got != "" {
		t.Errorf("arguments that do not fit: got %q", got)
	}
}

func TestCommandSeesNothingOfTheHost(t *testing.T) {
	t.Setenv("SECRET_KEY", "hidden")
	b := open(t, builtin.Options{})
	got := b.text(t, "run_command", `{"command":"env | cut -d= -f1 | sort | tr '\\n' ' '; pwd"}`)
	want := "HOME LANG PATH PWD TMPDIR " + b.dir + "\n[exit status 0]"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = b.text(t, "run_command", `{"command":"echo $HOME; touch $TMPDIR/f && ls $TMPDIR; ls /proc/self/fd 2>/dev/null | wc -l"}`)
	if !strings.HasPrefix(got, b.dir+"\nf\n") {
		t.Errorf("got %q", got)
	}
}

// What a command shuts in its temporary folder goes with it. Root can delete it in any case.
func TestTemporaryFolderIsDeleted(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	b := open(t, builtin.Options{})
	b.text(t, "run_command", quoted(t, map[string]string{"command": "cd $TMPDIR && mkdir -p a/b c && touch a/b/x c/y && chmod 0 a/b a && chmod 500 c"}))
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}

func TestLongOutputKeepsBothEnds(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	got := b.text(t, "run_command", `{"command":"echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end"}`)
	if !strings.HasPrefix(got, "begin\nxxx") || !strings.HasSuffix(got, "xxx\nend\n[exit status 0]") {
		t.Errorf("got %q ... %q", got[:20], got[len(got)-40:])
	}
	const kept, all = 1 << 20, 6 + 3_000_000 + 5
	if note := fmt.Sprintf("\n[%d bytes left out]\n", all-kept); !strings.Contains(got, note) {
		t.Errorf("%q is not in the output of %d bytes", note, len(got))
	}
}

func TestOutputOfAllLengths(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	for _, n := range []int{512<<10 - 1, 512 << 10, 512<<10 + 1, 1<<20 - 1, 1 << 20} {
		got := b.text(t, "run_command", fmt.Sprintf(`{"command":"head -c %d /dev/zero | tr '\\0' x"}`, n))
		if want := strings.Repeat("x", n) + "\n[exit status 0]"; got != want {
			t.Errorf("%d bytes: got %d bytes", n, len(got))
		}
	}
}

func TestTermLetsACommandCleanUp(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	result, err := b.call(t, "run_command", `{"command":"trap 'echo bye; exit' TERM; sleep 600 & wait","timeout":"3s"}`)
	if want := "bye\n[stopped: not done within 3s]"; err != nil || result.Text != want {
		t.Errorf("got %q, %v, want %q", result.Text, err, want)
	}
}

// What a command leaves running writes to a FIFO: its end shows when the last
// process that has it open is dead.
func TestNothingStaysRunning(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	b.put(t, "x", "")
	fifo := filepath.Join(b.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, left := range map[string]string{
		"in the group":      "sleep 600 >fifo &",
		"holding output":    "(echo in; exec 3>fifo; sleep 600) &",
		"in another group":  "setsid sleep 600 >fifo 2>&1 </dev/null &",
		"a tree of its own": "setsid sh -c 'sleep 600 & sleep 600 & wait' >fifo 2>&1 </dev/null &",
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got := b.text(t, "run_command", quoted(t, map[string]string{"command": "exec 4>fifo; echo up >&4; " + left + " exec 4>&-; echo done"}))
			if !strings.Contains(got, "done\n") || !strings.HasSuffix(got, "[exit status 0]") {
				t.Errorf("got %q", got)
			}
			in := bufio.NewReader(f)
			if line, err := in.ReadString('\n'); err != nil || line != "up\n" {
				t.Fatalf("got %q, %v", line, err)
			}
			if _, err := in.ReadByte(); err == nil {
				t.Error("somebody wrote")
			}
		})
	}
}

func TestProcessesLeftRunningAreLogged(t *testing.T) {
	t.Parallel()
	var log bustest.LogBuffer
	dir := t.TempDir()
	all, err := builtin.New(builtin.Options{Workspace: func(string) string { return dir }, Log: zerolog.New(&log)})
	if err != nil {
		t.Fatal(err)
	}
	run := all[slices.IndexFunc(all, func(tool tools.Tool) bool { return tool.Name == "run_command" })].Run
	command := json.RawMessage(`{"command":"mkfifo f; setsid sh -c 'echo up >f; sleep 600' & cat f"}`)
	if _, err := run(t.Context(), tools.Call{Agent: "ana", Run: "r", Args: command}); err != nil {
		t.Fatal(err)
	}
	want := `{"level":"info","agent":"ana","run":"r","processes":2,"message":"command: killed processes that it had left running"}` + "\n"
	if got := log.String(); got != want && got != strings.Replace(want, "2", "1", 1) { // sleep may not have begun
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCancelledCommand(t *testing.T) {
	b := open(t, builtin.Options{})
	b.put(t, "x", "")
	fifo := filepath.Join(b.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		f, err := os.Open(fifo) // until the command has begun
		if err == nil {
			f.Close()
		}
		cancel(errors.New("asked to stop"))
	}()
	result, err := b.tools["run_command"].Run(ctx, tools.Call{
		Agent: "ana", Args: json.RawMessage(`{"command":"echo up >fifo; sleep 600"}`),
	})
	if want := "[stopped: asked to stop]"; err != nil || result.Text != want {
		t.Errorf("got %q, %v, want %q", result.Text, err, want)
	}
}
