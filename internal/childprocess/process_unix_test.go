//go:build unix

package childprocess

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines are what a program has written on its standard error.
type lines struct {
	mu  sync.Mutex
	got []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, line)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.got, "|")
}

func TestEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", longestLine)
	tests := map[string]struct{ script, ended, says string }{
		"well":                     {"exit 0", "cook has ended", ""},
		"well, with words":         {"echo bye >&2", "cook has ended", "bye"},
		"badly":                    {"exit 3", "cook has ended: exit status 3", ""},
		"badly, with words":        {"echo one >&2; echo >&2; echo two >&2; exit 3", "cook has ended: exit status 3: two", "one|two"},
		"with half a line":         {"printf 'no end' >&2; exit 1", "cook has ended: exit status 1: no end", "no end"},
		"with what is no text":     {`printf 'a\377b\n' >&2; exit 1`, "cook has ended: exit status 1: a\uFFFDb", "a\uFFFDb"},
		"with a line that is long": {"printf '%s' " + long + "y >&2; exit 1", "cook has ended: exit status 1: " + long, long},
		"by a signal":              {"kill -9 $$", "cook has ended: signal: killed", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said lines
			p, err := Start(Config{Command: []string{"sh", "-c", tt.script}, Says: said.add, Drain: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			<-p.Done()
			if got := p.Ended("cook").Error(); got != tt.ended {
				t.Errorf("ended %q, want %q", got, tt.ended)
			}
			if got := said.text(); got != tt.says {
				t.Errorf("said %q, want %q", got, tt.says)
			}
		})
	}
}

func TestStartThatFails(t *testing.T) {
	t.Parallel()
	if _, err := Start(Config{}); err == nil || err.Error() != "no command" {
		t.Errorf("got %v", err)
	}
	if _, err := Start(Config{Command: []string{"/nowhere/cook"}}); err == nil || !strings.HasPrefix(err.Error(), `start "/nowhere/cook": `) {
		t.Errorf("got %v", err)
	}
}

// A program gets a few variables and its own: no keys of the host.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	t.Setenv("HOME", "/home/ana")
	p, err := Start(Config{Command: []string{"sh", "-c", `echo "$HOME $KITCHEN $OPENAI_API_KEY"`}, Env: map[string]string{"KITCHEN": "open"}, Drain: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got, err := io.ReadAll(p.Out); string(got) != "/home/ana open \n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// A program goes with its helpers, whether it listens to TERM or not.
func TestStop(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"at the end of its input": "sleep 600 & echo on; read line",
		"by TERM":                 "sleep 600 & echo on; wait",
		"by KILL":                 "trap '' TERM; sleep 600 & echo on; while :; do wait; done",
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Start(Config{Command: []string{"sh", "-c", script}, Drain: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			on := make([]byte, 3)
			if _, err := io.ReadFull(p.Out, on); err != nil {
				t.Fatal(err)
			}
			_ = p.In.Close()
			p.Stop(50*time.Millisecond, 50*time.Millisecond)
			<-p.Done()
			if rest, err := io.ReadAll(p.Out); len(rest) > 0 || err != nil { // the helper held the output open
				t.Errorf("got %q, %v", rest, err)
			}
		})
	}
}
