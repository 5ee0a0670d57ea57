//go:build unix

package sandbox

import (
	"cmp"
	"context"
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
	stopDelay  = 5 * time.Second        // for the helper of the sandbox to kill all that is left
)

// Run returns when what the command started is dead, which is soon after ctx has
// ended.
func (c Command) Run(ctx context.Context) (Result, error) {
	// The kernel kills the command when the thread dies that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", "--", c.Text)
	cmd.Dir, cmd.Env = c.Dir, c.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	h, err := c.confine(cmd)
	if err != nil {
		return Result{}, err
	}
	defer h.close()
	read, write, err := os.Pipe()
	if err != nil {
		return Result{}, err
	}
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	write.Close()
	h.started()
	if err != nil {
		return Result{}, err
	}
	return settle(ctx, cmd, h, read)
}

// environment holds nothing of the host's own but where programs are: keys and
// tokens stay with it.
func (c Command) environment() []string {
	path := cmp.Or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin")
	return []string{"PATH=" + path, "HOME=" + c.Dir, "PWD=" + c.Dir, "TMPDIR=" + c.Temp, "LANG=C.UTF-8"}
}

// settle waits for the end of a command, or makes it.
func settle(ctx context.Context, cmd *exec.Cmd, h *helper, read *os.File) (Result, error) {
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
		if h.stop(); h != nil {
			within(stopDelay, exited)
		}
	}
	signalGroup(group, syscall.SIGKILL)
	<-exited
	if !within(drainDelay, drained) {
		read.Close()
		<-drained
	}
	var failed *exec.ExitError
	if waited != nil && !errors.As(waited, &failed) {
		return Result{}, waited
	}
	end, ok := h.report()
	if state := cmd.ProcessState; !ok {
		end = Result{State: state.String(), OK: state.Success() && h == nil}
	}
	end.Output = out.String()
	return end, nil
}

// terminate asks a process group to end, and gives it killDelay. The group is
// over when its shell is and nobody writes any more.
func terminate(group int, exited, drained <-chan struct{}) {
	signalGroup(group, syscall.SIGTERM)
	if over := time.Now().Add(killDelay); within(killDelay, exited) {
		within(time.Until(over), drained)
	}
}

// signalGroup reaches all of a process group. The only error is that none is left,
// which is as good.
func signalGroup(group int, s syscall.Signal) { _ = syscall.Kill(-group, s) }

// within reports whether done is closed before d has passed.
func within(d time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}
