package childprocess

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"agenthost/internal/waittest"
)

// asHost is the variable that makes TestProgramOfAKilledHost a host, which names its program
// and then does nothing.
const asHost = "CHILDPROCESS_TEST_HOST"

// A program that does not care for the end of its input dies with its host all the same.
func TestProgramOfAKilledHost(t *testing.T) {
	if os.Getenv(asHost) != "" {
		p, err := Start(Config{Command: []string{"sleep", "600"}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(p.cmd.Process.Pid)
		select {}
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self, "-test.run=^TestProgramOfAKilledHost$")
	host.Env = append(os.Environ(), asHost+"=1")
	out, err := host.StdoutPipe()
	if err == nil {
		err = host.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Process.Kill() }() // it is dead by then, unless the test has failed
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || !runs(pid) {
		t.Fatalf("the host says %q, want the id of a program that runs", line)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // it was killed
	t.Cleanup(func() {
		if t.Failed() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	waittest.Until(t, "the program ends", func() bool { return !runs(pid) })
}

// runs reports whether a process runs, and is not only waiting to be reaped.
func runs(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return err == nil && !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X"))
}

// A program lives on when threads of the host end, as they do with goroutines that keep theirs.
func TestProgramOutlivesThreads(t *testing.T) {
	t.Parallel()
	p, err := Start(Config{Command: []string{"cat"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.Close(); <-p.Done() }()
	var group sync.WaitGroup
	for range 200 {
		group.Go(runtime.LockOSThread) // the thread ends with the goroutine
	}
	group.Wait()
	out := bufio.NewReader(p.Out)
	for range 100 {
		if _, err := p.In.WriteString("hello\n"); err != nil {
			t.Fatal(err)
		}
		if text, err := out.ReadString('\n'); text != "hello\n" || err != nil {
			t.Fatalf("got %q, %v", text, err)
		}
	}
}
