//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/cli"
)

// Another user of the machine is told that it is one, whatever the command. Where
// the tests run as an ordinary user, that user is kept from the folder instead.
func TestTokenOfAnotherUser(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	store := filepath.Join(dir, "data")
	bustest.OpenConfig(t, bus.Config{Embedded: bus.Embedded{Store: store, Listen: new("")}})
	var other *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		other = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	} else if err := os.Chmod(store, 0); err != nil {
		t.Fatal(err)
	}
	program := copied(t, dir)
	for _, args := range []string{"agents", "sessions ls", "dead ls", "approvals ls", "send demo hello", "reload", "nats-context"} {
		cmd := exec.Command(program, strings.Fields(args)...)
		cmd.Args[0], cmd.Dir, cmd.SysProcAttr = "agenthost", dir, other
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "permission denied; run this as the user that runs the host") {
			t.Errorf("%s: got %q, %v, want why", args, out, err)
		}
	}
	if err := os.Chmod(store, 0o700); err != nil {
		t.Fatal(err)
	}
}

// An expiry that is empty, as of a variable that is not set, makes no token for ever.
func TestTokenWithAnEmptyExpiry(t *testing.T) {
	t.Chdir(t.TempDir())
	_, errs := call(t, cli.CodeUsage, "", "tokens", "add", "desk", "--role", "read", "--expires", "")
	contains(t, errs, "--expires is empty; want how long, such as 30d, or a date; leave it out for a token that never expires")
}

// copied is this program where any user may run it.
func copied(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "program"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to.Name()
}
