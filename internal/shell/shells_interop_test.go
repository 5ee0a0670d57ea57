//go:build interop && unix

package shell_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/internal/shell"
)

// pieces are what lines are made of: three programs, and all that shells do to
// hide one.
var pieces = []string{
	"aa", "bb", "cc", "aa ", "bb ", " cc", "aa x", " ", " ", "\n", "\n", ";", "|", "&&", "||", "(", ")", "{ ", "; }", "!", "#", " #",
	"'", "'", `"`, `"`, `\`, "\\\n", "`", "`", "$(", ")", "${x:-", "${x:+", "${#x}", "${x%", "}", "$", "$x", "$'", `$"`, "$((", "))", "~",
	"<<E\n", "<<'E'\n", "<<-E\n", "\nE\n", "\tE\n", "\\\nE\n", "<<<", ">/dev/null ", "2>&1 ", "</dev/null ", ">f ", "case x in x) ", ";; esac", "if aa; then ",
	"; fi", "for i in ", "; do ", "; done", "while cc; do break", "f() { ", "command ", "env ", "xargs ", "eval ", "sh -c ", "[[ ", " ]]", "[ ", " ]",
	"${x:0:1}", "${x/a/b}", "false && ", " || aa == b ", "jobs -x ", "=", "*", "?", "{", ",", "-", "--", "\t", "x", "0",
}

// A shellBench is a folder in which lines are run: what runs of aa, bb and cc
// is written down in a log.
type shellBench struct{ dir, bin, log string }

func newShellBench(t *testing.T) shellBench {
	t.Helper()
	base := t.TempDir()
	b := shellBench{filepath.Join(base, "dir"), filepath.Join(base, "bin"), filepath.Join(base, "log")}
	for _, dir := range []string{b.dir, b.bin} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"aa", "bb", "cc"} {
		script := "#!/bin/sh\necho " + name + " >>" + b.log + "\n"
		if err := os.WriteFile(filepath.Join(b.bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"env", "xargs", "sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(b.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// runs are the programs that a shell runs for a line, and the files that it
// leaves.
func (b shellBench) runs(t *testing.T, shell, line string) (programs, files []string) {
	t.Helper()
	if err := os.WriteFile(b.log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", "--", line)
	cmd.Dir, cmd.Env = b.dir, []string{"PATH=" + b.bin}
	_ = cmd.Run() // most lines fail
	data, err := os.ReadFile(b.log)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		files = append(files, e.Name())
		if err := os.RemoveAll(filepath.Join(b.dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Fields(string(data)), files
}

// What is said of a line without an error holds in dash and bash: they run no
// program that was not named, and write no file unless that was said.
func TestInteropShells(t *testing.T) {
	b := newShellBench(t)
	var shells []string
	for _, name := range []string{"dash", "bash"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		shells = append(shells, path)
	}
	random := rand.New(rand.NewPCG(1, 2))
	const lines = 2000
	for n := 0; n < lines; {
		var line strings.Builder
		for range 2 + random.IntN(12) {
			line.WriteString(pieces[random.IntN(len(pieces))])
		}
		names, writes, err := shell.Commands(line.String())
		if err != nil {
			continue
		}
		n++
		for _, shell := range shells {
			for _, fault := range b.faults(t, shell, line.String(), names, writes) {
				t.Errorf("%s %s; got %v for\n%s", filepath.Base(shell), fault, names, line.String())
			}
		}
	}
}

// faults are what a shell does for a line that was not said of it. A process of
// an earlier line may be late, so a fault has to come again.
func (b shellBench) faults(t *testing.T, shell, line string, names []string, writes bool) (faults []string) {
	t.Helper()
	for range 3 {
		faults = nil
		programs, files := b.runs(t, shell, line)
		for _, program := range programs {
			if !slices.Contains(names, program) {
				faults = append(faults, "runs "+program)
			}
		}
		if len(files) > 0 && !writes {
			faults = append(faults, "writes "+strings.Join(files, " "))
		}
		if faults == nil {
			return nil
		}
	}
	return faults
}
