package main

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/internal/cli"

	"golang.org/x/term"
)

// Ctrl-C ends what asks a person at once, also amid a secret, and leaves the terminal as
// it was.
func TestCtrlCEndsQuestions(t *testing.T) {
	t.Setenv("TERM", "dumb")
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ args, asks, keys, last, says string }{
		{"init", `Model \[echo\]: `, "", "", "interrupted; nothing is written"},
		{"init", `Model \[echo\]: `, "openai/gpt-5-mini\n", `Key for openai \(not shown\): `, "interrupted; nothing is written"},
		{"nats-context", `\[y/N\] `, "", "", "context agenthost exists"},
	} {
		t.Run(tt.args+tt.keys, func(t *testing.T) {
			if tt.args == "nats-context" {
				if err := os.Mkdir("data", 0o700); err != nil {
					t.Fatal(err)
				}
				writeFile(t, "data/token", "secret")
				call(t, cli.CodeDone, "", tt.args)
			}
			p := newPTY(t)
			before, err := term.GetState(int(p.slave.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			ctx, interrupt := context.WithCancelCause(t.Context())
			code := make(chan int, 1)
			// The read that Ctrl-C leaves behind uses this beyond the end of the test: nothing closes it.
			in, err := os.OpenFile(p.slave.Name(), os.O_RDWR|syscall.O_NOCTTY, 0)
			if err != nil {
				t.Fatal(err)
			}
			go func() { code <- execute(ctx, []string{tt.args}, in, p.slave, p.slave) }()
			p.sees(tt.asks)
			if tt.keys != "" {
				p.keys(tt.keys)
				p.sees(tt.last)
				bustest.Eventually(t, "the key is hidden", func() bool { state, err := term.GetState(int(p.slave.Fd())); return err == nil && *state != *before })
			}
			interrupt(cli.ErrInterrupted)
			select {
			case got := <-code:
				if got != cli.CodeFailed {
					t.Errorf("exit code %d", got)
				}
			case <-time.After(scriptPatience):
				t.Fatal("it asks on")
			}
			p.sees(tt.says)
			if after, err := term.GetState(int(p.slave.Fd())); err != nil || *after != *before {
				t.Errorf("the terminal is left in another state: %v", err)
			}
			p.keys("\n") // for the read that has not ended
		})
	}
}

// On a terminal init asks, tries what it hears at once, asks again for what does not
// work, and shows no secret.
func TestInitAsksAtATerminal(t *testing.T) {
	t.Setenv("TERM", "dumb")
	t.Setenv("OPENAI_API_KEY", "")
	t.Chdir(t.TempDir())
	site := fakeSite(t, "s3cret")
	t.Setenv("OLLAMA_HOST", site)
	p := newPTY(t)
	code := p.run("init")
	p.sees(`Model \[echo\]: `)
	p.keys("ollama/llama3\n")
	p.sees(`no such model; it has llama3.2:3b`)
	p.sees(`Enter it again\? .* \[yes\]: `)
	p.keys("\n")
	p.sees(`Model \[echo\]: `)
	p.keys("ollama/llama3.2:3b\n")
	p.sees(`model llama3.2:3b: the server answers`)
	p.sees(`Channels \[web\]: `)
	p.keys("telepathy\n")
	p.sees(`There is no channel telepathy`)
	p.sees(`Channels \[web\]: `)
	p.keys("web, matrix.help web\n")
	for _, password := range []string{"wrong", "s3cret"} {
		p.sees(`Homeserver.*: `)
		p.keys(site + "\n")
		p.sees(`User.*: `)
		p.keys("@ana:test\n")
		p.sees(`Password \(not shown\): `)
		p.keys(password + "\n")
		if password == "wrong" {
			p.sees(`check user and password`)
			p.sees(`\[yes\]: `)
			p.keys("yes\n")
		}
	}
	if shown := p.sees(`next: agenthost chat`); strings.Contains(shown, "s3cret") || !strings.Contains(shown, "channels: web, matrix.help") {
		t.Errorf("the terminal shows %q", shown)
	}
	if got := <-code; got != cli.CodeDone {
		t.Errorf("exit code %d", got)
	}
	cfg, err := config.Load("agenthost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Plugins.Matrix["help"]; got.Password != "s3cret" || got.User != "@ana:test" || cfg.Models["main"].Model != "llama3.2:3b" {
		t.Errorf("the configuration has %+v, %+v", got, cfg.Models["main"])
	}

	code = p.run("init") // it is here already: nothing is asked
	if got := <-code; got != cli.CodeFailed {
		t.Errorf("exit code %d", got)
	}
	if err := os.Remove("agenthost.yaml"); err != nil {
		t.Fatal(err)
	}
	p.sees(`agenthost.yaml exists; use --force`)
	code = p.run("init")
	p.sees(`Model \[echo\]: `)
	p.keys("\x04")
	if got := <-code; got != cli.CodeFailed {
		t.Errorf("exit code %d", got)
	}
	if _, err := os.Stat("agenthost.yaml"); err == nil {
		t.Error("half a configuration was written")
	}
}
