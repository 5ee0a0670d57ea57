//go:build unix

package builtin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	killDelay  = 200 * time.Millisecond // from TERM to KILL
	drainDelay = time.Second            // for what holds the output open though it should be dead
	// tokenName is the variable that marks all processes of a command: those that
	// leave its process group are found by it.
	tokenName = "AGENTHOST_COMMAND"
)

// run returns when the command's process group is dead, which is at most
// killDelay after ctx has ended.
func (s shell) run(ctx context.Context) (ending, error) {
	// The kernel kills the command when the thread dies that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	token := tokenName + "=" + rand.Text()
	cmd := s.command(context.WithoutCancel(ctx))
	cmd.Env = s.environment(token)
	read, write, err := os.Pipe()
	if err != nil {
		return ending{}, err
	}
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	write.Close()
	if err != nil {
		return ending{}, err
	}
	return s.settle(ctx, cmd, read, token)
}

func (s shell) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "--", s.text)
	if s.sandbox {
		s.enterSandbox(cmd)
	}
	cmd.Dir = s.dir
	cmd.SysProcAttr = processAttributes()
	return cmd
}

// environment holds nothing of the host's own but where programs are: keys and
// tokens stay with it.
func (s shell) environment(token string) []string {
	path := cmp.Or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin")
	return []string{"PATH=" + path, "HOME=" + s.dir, "PWD=" + s.dir, "TMPDIR=" + s.temp, "LANG=C.UTF-8", token}
}

// settle waits for the end of a command, or makes it.
func (s shell) settle(ctx context.Context, cmd *exec.Cmd, read *os.File, token string) (ending, error) {
	var out output
	var waited error
	drained, exited := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(&out, read) // ends with the last process that has the other end, or by Close
	}()
	go func() {
		defer close(exited)
		waited = cmd.Wait()
	}()
	group := cmd.Process.Pid
	select {
	case <-exited:
	case <-ctx.Done():
		terminate(group, exited, drained)
	}
	signal(group, syscall.SIGKILL)
	strays := killStrays(group, token)
	<-exited
	if !within(drainDelay, drained) {
		read.Close()
		<-drained
	}
	var failed *exec.ExitError
	if waited != nil && !errors.As(waited, &failed) {
		return ending{}, waited
	}
	state := cmd.ProcessState
	return ending{output: out.String(), state: state.String(), ok: state.Success(), strays: strays}, nil
}

// terminate asks a process group to end, and gives it killDelay. The group is
// over when its shell is and nobody writes any more.
func terminate(group int, exited, drained <-chan struct{}) {
	signal(group, syscall.SIGTERM)
	if over := time.Now().Add(killDelay); within(killDelay, exited) {
		within(time.Until(over), drained)
	}
}

// signal reaches all of a process group. The only error is that nobody is left,
// which is as good.
func signal(group int, s syscall.Signal) { _ = syscall.Kill(-group, s) }

// within reports whether done is closed before d has passed.
func within(d time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}
