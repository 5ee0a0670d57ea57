//go:build unix

package clock_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"agenthost/internal/agenthost-chaos/clock"
)

// A line of its input is answered with the wall clock and the time since the start.
const program = `package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	start := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(time.Now().Unix(), time.Since(start).Milliseconds())
	}
}
`

func build(t *testing.T) string {
	t.Helper()
	overlay, err := clock.Overlay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", binary, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// The wall clock of a process jumps while it runs, forward and backward, and its monotonic
// clock does not.
func TestClock(t *testing.T) {
	c, err := clock.New(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), build(t))
	cmd.Env = append(os.Environ(), c.Env())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	for _, ahead := range []time.Duration{0, 5 * time.Minute, -3 * time.Hour, 0} {
		c.Set(ahead)
		before := time.Now()
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatal("it has ended")
		}
		after, wall, ran := time.Now(), int64(0), int64(0)
		if _, err := fmt.Sscan(answers.Text(), &wall, &ran); err != nil {
			t.Fatal(err)
		}
		if at := time.Unix(wall, 0).Add(-ahead); at.Before(before.Truncate(time.Second)) || at.After(after) {
			t.Errorf("%s ahead its clock says %s, between %s and %s", ahead, time.Unix(wall, 0), before, after)
		}
		if most := time.Since(begun).Milliseconds(); ran < 0 || ran > most {
			t.Errorf("%s ahead %d ms have passed for it, of %d", ahead, ran, most)
		}
	}
	_ = in.Close() // it ends then
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
