package hardening_test

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"agenthost/internal/hardening"
)

// Who has a process uses the machine. Only root can be another user for a while;
// for others there is at least nobody of their own name.
func TestOthers(t *testing.T) {
	const stranger = 54321
	uid := os.Geteuid()
	if uid == 0 {
		cmd := exec.Command("/bin/cat")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}, Pdeathsig: syscall.SIGKILL}
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer stdin.Close()
	}
	got := hardening.Others()
	if found := slices.Contains(got, strconv.Itoa(stranger)); found != (uid == 0) {
		t.Errorf("got %q", got)
	}
	if slices.Contains(got, strconv.Itoa(uid)) {
		t.Errorf("got myself, %d: %q", uid, got)
	}
}
