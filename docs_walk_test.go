//go:build unix

package agenthost_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// walkPatience is far more than any block of a page takes, a build included.
const walkPatience = 5 * time.Minute

// A walk pastes the blocks of a page into one shell, as a reader does who has a
// clone, Go and a home without anything in it.
type walk struct {
	t     *testing.T
	stdin io.Writer
	dir   string // of the files that the walk itself needs
	n     int

	mu    sync.Mutex
	said  bytes.Buffer // since the block began
	lines chan string  // of the ends of blocks
}

// defaultPorts is held by a walk that uses the ports of this machine.
var defaultPorts sync.Mutex

// newWalk opens the shell in the clone. It has a network of its own where the
// system lets it, so that the ports that the pages name are free.
func newWalk(t *testing.T) *walk {
	t.Helper()
	home, bash := t.TempDir(), t.TempDir()
	installBefore(t, home)
	w := &walk{t: t, dir: bash, lines: make(chan string, 1)}
	cmd := exec.CommandContext(t.Context(), "bash", "--norc", "--noprofile")
	if program, attr, ok := ownNetwork(t); ok {
		cmd = exec.CommandContext(t.Context(), program, innerShell)
		cmd.SysProcAttr = attr
	} else {
		defaultPorts.Lock()
		t.Cleanup(defaultPorts.Unlock)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	cmd.Env = walkEnv(t, home)
	var err error
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { defer close(read); w.read(out) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // all that the pages have started
		<-read
		_ = cmd.Wait()
	})
	w.run("set -E; trap 'echo \"failed: $BASH_COMMAND\"' ERR\n")
	return w
}

// installBefore puts the program where go install will put it. It looks there first, and
// links again, which takes seconds, only if that is another one than it would make.
func installBefore(t *testing.T, home string) {
	t.Helper()
	program, bin := built(t), filepath.Join(home, "go", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "agenthost"), data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// walkEnv is what a new user's shell knows. What Go has built and downloaded
// before is no part of a home.
func walkEnv(t *testing.T, home string) []string {
	t.Helper()
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GOPATH=" + filepath.Join(home, "go"), "GOFLAGS=" + buildFlags(),
		"OLLAMA_HOST=127.0.0.1:1", "NO_COLOR=1",
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOROOT", "CGO_ENABLED"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

func (w *walk) read(out io.Reader) {
	in := bufio.NewScanner(out)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if mark, ok := strings.CutPrefix(in.Text(), "__end "); ok {
			w.lines <- mark
			continue
		}
		w.mu.Lock()
		w.said.WriteString(in.Text() + "\n")
		w.mu.Unlock()
	}
}

// run runs a text in the shell and returns what it printed.
func (w *walk) run(text string) string {
	w.t.Helper()
	w.n++
	file := filepath.Join(w.dir, fmt.Sprintf("block%d.sh", w.n))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.said.Reset()
	w.mu.Unlock()
	fmt.Fprintf(w.stdin, ". %s < /dev/null\necho; echo __end %d\n", file, w.n)
	select {
	case <-w.lines:
	case <-time.After(walkPatience):
		w.t.Fatalf("does not end:\n%s\nso far:\n%s", text, w.output())
	}
	return w.output()
}

func (w *walk) output() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.String()
}

// until runs a text until it prints what matches pattern, as a reader looks again.
func (w *walk) until(text, pattern string) {
	w.t.Helper()
	want, last := regexp.MustCompile(pattern), ""
	for end := time.Now().Add(walkPatience); time.Now().Before(end); {
		if last = w.run(text); want.MatchString(last) {
			return
		}
	}
	w.t.Fatalf("%s: want %s, got\n%s", text, pattern, last)
}

var hostStart = regexp.MustCompile(`agenthost run.* 2> (\S+) &`)

// block pastes a block, and waits for the hosts that it starts.
func (w *walk) block(f fence) string {
	w.t.Helper()
	said := w.run(f.text)
	if strings.Contains(said, "failed: ") {
		w.t.Fatalf("%v:\n%s\nsaid:\n%s", f, f.text, said)
	}
	for _, m := range hostStart.FindAllStringSubmatch(f.text, -1) {
		w.until("cat "+m[1], `"message":"ready"`)
	}
	return said
}

// A stage is what a reader of the guide looks for: before a block that has a
// text, and in what the block prints.
type stage struct {
	block        string
	look, before string // run until it prints that
	want         []string
}

var guide = []stage{
	{block: "go run ./cmd/agenthost chat"},
	{block: "go install ./cmd/agenthost", want: []string{`^agenthost \d`}},
	{block: "echo hi |", want: []string{`^hi$`}},
	{block: "agenthost init", want: []string{`^wrote agenthost.yaml`, `agenthost.yaml: ok`, `0 failures`}},
	{block: "agenthost run"},
	{block: "agenthost agents\n", want: []string{
		`^assistant +ready`, `^what is a derailleur\?$`, `^and a cassette\?$`, `^assistant +route/cli/\S+ .*what is a derailleur\?$`,
	}},
	{block: "kill -9"},
	{block: "agenthost run"},
	{block: "agenthost sessions ls", look: "agenthost sessions ls --json | tr -d '\\n'", before: `(?:"state": "idle".*?){22}`, want: []string{`idle +message 1$`, `idle +message 20$`}},
	{block: "agenthost reload"},
	{block: "agenthost runs ls", look: "agenthost approvals ls", before: `wants to write`, want: []string{`^assistant +route/cli/bike +waiting .*approval`, `^assistant\.\S+ +assistant +approval`}},
	{block: "agenthost approvals answer assistant", want: []string{`^answered `}},
	{block: "cat data/", look: "agenthost sessions ls", before: `route/cli/bike .* idle`, want: []string{`calls write_file`, `agent: I have written it down\.`, `^The bike is ready\.$`}},
	{block: "--name a"},
	{block: "still there", want: []string{`^assistant +ready .* \(a, b\)$`, `^You said: still there\?$`}},
	{block: "kill $(jobs -p)"},
}

func (w *walk) stage(f fence, s stage) {
	w.t.Helper()
	if !strings.Contains(f.text, s.block) {
		w.t.Fatalf("%v: want a block with %q, got\n%s", f, s.block, f.text)
	}
	if s.look != "" {
		w.until(s.look, s.before)
	}
	said := w.block(f)
	for _, want := range s.want {
		if !regexp.MustCompile(`(?m)` + want).MatchString(said) {
			w.t.Errorf("%v: want %s in\n%s", f, want, said)
		}
	}
}

// blocksOf are the shell blocks of a page, in order.
func blocksOf(t *testing.T, page string) []fence {
	t.Helper()
	var list []fence
	for _, f := range fences(t, "sh") {
		if f.page == page {
			list = append(list, f)
		}
	}
	return list
}

// play starts the host of the README's second configuration.
func (w *walk) play(t *testing.T) {
	const model = `{provider: openai, model: gpt-5-mini, api_key: "${OPENAI_API_KEY}"}`
	for _, f := range fences(t, "yaml agenthost.yaml") {
		if f.page != "README.md" || !strings.Contains(f.text, "ask_human") {
			continue
		}
		if !strings.Contains(f.text, model) {
			t.Fatalf("%v: want the model %s", f, model)
		}
		text := strings.ReplaceAll(f.text, model, "{provider: scripted, script: play.yaml}")
		w.run("cat > agenthost.yaml <<'END'\n" + text + "END\ncat > play.yaml <<'END'\nrules:\n" +
			`  - {when: write down, tool_calls: [{name: write_file, args: {path: note.txt, text: the bike is ready}}]}` + "\n" +
			`  - {text: "Yes."}` + "\nEND\n")
		w.block(fence{text: "agenthost run 2> host.log &\n"})
		return
	}
	t.Fatal("the README has no configuration with tools")
}

// innerShell is the shell in a network of its own.
const innerShell = "inner-shell"

func init() { programs[innerShell] = beShell }

func beShell() int {
	if err := loopbackUp(); err != nil {
		fmt.Println(err)
		return 1
	}
	bash, err := exec.LookPath("bash")
	if err == nil {
		err = syscall.Exec(bash, []string{"bash", "--norc", "--noprofile"}, os.Environ())
	}
	fmt.Println(err)
	return 1
}
