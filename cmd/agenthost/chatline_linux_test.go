package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A pty is a terminal with a program on one side and a test, as the person, on
// the other.
type pty struct {
	t             *testing.T
	person, slave *os.File

	mu    sync.Mutex
	shown strings.Builder
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{t: t, person: os.NewFile(uintptr(fd), "ptmx")}
	t.Cleanup(func() { p.person.Close() })
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60})
	}
	if err == nil {
		p.slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.slave.Close() })
	go p.read()
	return p
}

func (p *pty) read() {
	for buf := make([]byte, 4096); ; {
		n, err := p.person.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.shown.Write(buf[:n])
		p.mu.Unlock()
	}
}

func (p *pty) keys(keys string) {
	p.t.Helper()
	if _, err := p.person.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits until the terminal shows what matches, and forgets it.
func (p *pty) sees(pattern string) string {
	p.t.Helper()
	want := regexp.MustCompile(pattern)
	for end := time.Now().Add(scriptPatience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		p.mu.Lock()
		shown := p.shown.String()
		at := want.FindStringIndex(shown)
		if at != nil {
			p.shown.Reset()
			p.shown.WriteString(shown[at[1]:])
		}
		p.mu.Unlock()
		if at != nil {
			return shown[:at[1]]
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.t.Fatalf("want %s, the terminal shows %q", pattern, p.shown.String())
	return ""
}

// run runs a command on the terminal; the channel has its exit code.
func (p *pty) run(args ...string) <-chan int {
	code := make(chan int, 1)
	go func() { code <- execute(context.Background(), args, p.slave, p.slave, p.slave) }()
	return code
}

const ptyRules = `rules:
  - {is: md, chunks: ["# He", "ad\n**bo", "ld** it is\n"]}
  - {is: late, delay: 1500ms, text: here}
  - {is: never, delay: 1h, text: never}
  - {is: slow, delay: 300ms, chunks: ["Once upon ", "a", "t", "i", "m", "e", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", "."]}
  - {is: write, tool_calls: [{name: write_file, args: {path: a.go, text: "package <a>\n\tx\n"}}]}
  - {after_tool: write_file, text: "${result}"}
  - {text: "You said: ${text}"}
`

// A person at a terminal edits lines, sees that something is under way and what
// it took, stops it, and comes back later.
func TestChatAtATerminal(t *testing.T) {
	if alone(t) {
		return
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Chdir(t.TempDir())
	put(t, "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: scripted, script: rules.yaml}}\nagents: [{id: ana, tools: [write_file]}]\n")
	if err := os.WriteFile("rules.yaml", []byte(ptyRules), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPTY(t)
	before, err := term.GetState(int(p.slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	code := p.run("chat")
	p.sees(`/help shows more\.\r\n\r\nyou> `)
	p.keys("helo\x1b[Dl\r")
	p.sees(`ana> You said: hello\r\n`)
	p.sees(`\x1b\[2m[0-9.]+m?s\x1b\[0m\r\n\r\nyou> `)
	p.keys("one\x1b\rtwo\r")
	p.sees(`ana> You said: one\r\ntwo\r\n`)
	p.sees(`you> `)
	p.keys("\x1b[200~pasted\r\nlines\x1b[201~\r")
	p.sees(`ana> You said: pasted\r\nlines\r\n`)
	p.sees(`you> `)
	p.keys("\x1b[A\x1b[A\x1b[A!\r")
	p.sees(`ana> You said: hello!\r\n`)
	p.sees(`you> `)
	p.keys("md\r")
	if said := p.sees(`it is\r\n`); strings.Contains(said, "*") || strings.Contains(said, "#") || !strings.Contains(said, "\x1b[1m") {
		t.Errorf("Markdown: got %q", said)
	}
	p.sees(`you> `)
	p.keys("slow\r")
	p.sees(`Once upon `)
	p.keys("\x03")
	if shown := p.sees(`you> `); strings.TrimLeft(shown, "atime.") != "\r\n"+terminal.ClearLine+"ana> Stopped.\r\n\r\nyou> " { // more of it may have come before the key
		t.Errorf("after what was said, Ctrl-C: got %q", shown)
	}
	p.keys("slow\r")
	p.sees(`Once upon `)
	p.keys("/stop\r")
	if shown := p.sees(`you> `); !strings.HasSuffix(shown, "/stop\r\nana> "+terminal.ClearLine+"ana> Stopped.\r\n\r\nyou> ") {
		t.Errorf("after what was said, /stop: got %q", shown)
	}
	p.keys("write\r")
	p.sees(`\[approval\] Ana wants to write a\.go \(\d+ bytes\)[^\n]*\n`)
	if shown := p.sees(`you> `); colour.ReplaceAllString(shown, "") != "  write_file\r\n  path=\"a.go\"\r\n  text=\r\n    package <a>\r\n    \tx\r\nyou> " {
		t.Errorf("the call to approve: got %q", shown)
	}
	p.keys("deny\r")
	p.sees(`ana> denied`)
	p.sees(`you> `)
	p.keys("late\r")
	p.sees(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \d+s`)
	p.sees(`here\r\n`)
	p.sees(`you> `)
	p.keys("/help\r")
	p.sees(`/new    begin another session`)
	p.sees(`you> `)
	p.keys("never\r")
	p.sees(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \d+s`)
	p.keys("\x03")
	p.sees(`ana> Stopped\.\r\n`)
	p.sees(`you> `)
	p.keys("\x03")
	if got := <-code; got != cli.CodeDone {
		t.Errorf("exit code %d", got)
	}
	if after, err := term.GetState(int(p.slave.Fd())); err != nil || *after != *before {
		t.Errorf("the terminal is left in another state: %v", err)
	}

	code = p.run("chat", "--last")
	p.sees(`you> late`)
	p.sees(`ana> here`)
	p.sees(`\r\n\r\nyou> `)
	p.keys("/new\r")
	p.sees(`a new session\r\nyou> `)
	p.keys("fresh\r")
	p.sees(`ana> You said: fresh\r\n`)
	p.sees(`you> `)
	p.keys("\x04")
	if got := <-code; got != cli.CodeDone {
		t.Errorf("exit code %d", got)
	}
	stdout, stderr := call(t, cli.CodeDone, "", "sessions", "ls", "--store", "data", "--json")
	if n := strings.Count(stdout, `"key": "route/chat-`); n != 2 {
		t.Errorf("got %d sessions: %s%s", n, stdout, stderr)
	}
}

// After a reply stands what it took, all calls of the model together and nothing of
// earlier replies; --session goes on with a session, by its name or its key.
func TestChatGoesOnAndCounts(t *testing.T) {
	if alone(t) {
		return
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Chdir(t.TempDir())
	put(t, `nats: {embedded: {listen: ""}}
http: {listen: ""}
models: {main: {provider: scripted, script: rules.yaml, price: {input: 10, output: 50}}}
agents: [{id: ana, tools: [now]}]
`)
	writeFile(t, "rules.yaml", `rules:
  - {is: work, tool_calls: [{name: now, args: {}}], usage: {input: 4000, output: 300}}
  - {after_tool: now, text: done, usage: {input: 5000, output: 100}}
  - {is: small, text: "as you like", usage: {input: 100, output: 10}}
  - {text: "for nothing"}
`)
	p := newPTY(t)
	leave := func(code <-chan int) {
		t.Helper()
		p.keys("\x04")
		if got := <-code; got != cli.CodeDone {
			t.Errorf("exit code %d", got)
		}
	}
	const worked = `done\r\n\x1b\[2m[0-9.]+m?s · 9000 tokens in, 400 out · \$0\.11\x1b\[0m\r\n\r\nyou> `
	code := p.run("chat", "--session", "holidays")
	p.sees(`/help shows more\.\r\n\r\nyou> `)
	p.keys("work\r")
	p.sees(worked)
	p.keys("small\r")
	p.sees(`as you like\r\n\x1b\[2m[0-9.]+m?s · 100 tokens in, 10 out · \$0\.0015\x1b\[0m\r\n\r\nyou> `)
	p.keys("nothing\r")
	p.sees(`for nothing\r\n\x1b\[2m[0-9.]+m?s\x1b\[0m\r\n\r\nyou> `)
	leave(code)

	for _, session := range []string{"holidays", "route/chat-" + url.PathEscape(cli.UserName()) + "/holidays"} {
		code = p.run("chat", "--session", session)
		p.sees(`ana> as you like\S*\r\n\S*you> nothing\S*\r\n\S*ana> for nothing\S*\r\n\r\nyou> `)
		p.keys("work\r")
		p.sees(worked)
		p.keys("small\r")
		p.sees(`as you like`)
		p.sees(`you> `)
		p.keys("nothing\r")
		p.sees(`for nothing`)
		p.sees(`you> `)
		leave(code)
	}
	stdout, stderr := call(t, cli.CodeDone, "", "sessions", "ls", "--store", "data", "--json")
	if n := strings.Count(stdout, `"key": "route/chat-`); n != 1 || !strings.Contains(stdout, `/holidays"`) {
		t.Errorf("want one session, got %d: %s%s", n, stdout, stderr)
	}
}

// A table on a terminal is no wider than it.
func TestListFitsATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Chdir(t.TempDir())
	put(t, "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: echo}}\nagents: [{id: ana}]\n")
	if stdout, _ := call(t, cli.CodeDone, strings.Repeat("日本 and more ", 20)+"\n", "chat", "--session", "a-long-name-of-a-session-that-takes-many-columns"); stdout == "" {
		t.Fatal("no answer")
	}
	p := newPTY(t)
	code := p.run("sessions", "ls", "--store", "data")
	row := p.sees(`(?s)ana.*…\r\n`)
	if got := <-code; got != cli.CodeDone {
		t.Errorf("exit code %d", got)
	}
	if !strings.Contains(row, "\x1b[1mAGENT\x1b[0m") {
		t.Errorf("no colour: %q", row)
	}
	for line := range strings.SplitSeq(regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`).ReplaceAllString(row, ""), "\r\n") {
		if len([]rune(line)) > 60 {
			t.Errorf("got a line of more than 60 columns: %q", line)
		}
	}
}

// A command that takes its time says so on a terminal, until it has something to say.
func TestSpinnerAtATerminal(t *testing.T) {
	if alone(t) {
		return
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Chdir(t.TempDir())
	url, _ := bustest.Server(t)
	dir := configured(t, strings.Replace(quietConfig, "provider: echo", "provider: scripted, script: rules.yaml", 1))
	writeFile(t, filepath.Join(dir, "rules.yaml"), ptyRules)
	startHostIn(t, dir, nil, "-s", url).until(t, "ready")
	p := newPTY(t)
	code := p.run("send", "ana", "never", "--session", "s1", "--wait", "-s", url)
	p.sees(`\x1b\[36m[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]\x1b\[0m waiting for ana… \d+s`)
	call(t, cli.CodeDone, "", "runs", "abort", "ana", "route/cli/s1", "-s", url)
	shown := p.sees(`\(cancelled\)\r\n`)
	if !strings.HasSuffix(shown, terminal.ClearLine+"\x1b[31magenthost:\x1b[0m Stopped. (cancelled)\r\n") {
		t.Errorf("something is left of the spinner: %q", shown)
	}
	if got := <-code; got != cli.CodeFailed {
		t.Errorf("exit code %d", got)
	}
}

// On a terminal verdicts, states, errors and warnings have their colours, unless
// the person wants none, or the terminal has none.
func TestColourAtATerminal(t *testing.T) {
	lonely, nc := waitsFor(t, client.Waiting{Kind: client.ForApproval, Prompt: "pay"}) // in a folder of its own
	nc.Close()
	put(t, "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: echo}, bad: {provider: openai, model: m}}\nagents: [{id: ana, model: [main, bad]}]\n")
	hosted, _ := bustest.Server(t)
	serveDemo(t, hosted)
	commands := []struct {
		args  string
		code  int
		until string
		want  []string // in colours
	}{
		{"doctor --offline", cli.CodeFailed, `\d+ failures?\r\n`, []string{"\x1b[1mmodels\x1b[0m", "  \x1b[32mok  \x1b[0m  ", "  \x1b[33mwarn\x1b[0m  ", "  \x1b[31mfail\x1b[0m  "}},
		{"agents -s " + hosted, cli.CodeDone, `demo .*\r\n`, []string{"\x1b[1mAGENT\x1b[0m", "\x1b[32mready\x1b[0m"}},
		{"agents show nobody -s " + hosted, cli.CodeFailed, `nobody.*\r\n`, []string{"\x1b[31magenthost:\x1b[0m no agent"}},
		{"agents now and then", cli.CodeUsage, `for help\.\r\n`, []string{"\x1b[31magenthost:\x1b[0m want "}},
		{"approvals answer " + waitID + " approve --timeout 1ms -s " + lonely, cli.CodeDone, `is stored\r\n`, []string{"\x1b[33magenthost:\x1b[0m no host took"}},
	}
	for name, env := range map[string]struct {
		noColor, term string
		colours       bool
	}{
		"colours":         {"", "xterm", true},
		"NO_COLOR":        {"1", "xterm", false},
		"a dumb terminal": {"", "dumb", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", env.noColor)
			t.Setenv("TERM", env.term)
			for _, c := range commands {
				p := newPTY(t)
				code := p.run(strings.Fields(c.args)...)
				shown := p.sees(c.until)
				if got := <-code; got != c.code {
					t.Errorf("%s: exit code %d, want %d", c.args, got, c.code)
				}
				for _, want := range c.want {
					if !env.colours {
						want = colour.ReplaceAllString(want, "")
					}
					contains(t, shown, want)
				}
				if !env.colours && colour.MatchString(shown) {
					t.Errorf("%s: there are colours: %q", c.args, shown)
				}
			}
		})
	}
}

var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)
