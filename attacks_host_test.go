//go:build unix

package agenthost_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agenthost/internal/freeport"

	"github.com/nats-io/nats.go"
)

// attackPatience bounds every wait for something that a host does.
const attackPatience = time.Minute

// A target is a host as a process, in a folder of its own. Only what others can
// reach of it is used: its NATS, its HTTP listener, its commands.
type target struct {
	t                      *testing.T
	binary, dir, nats, web string
	uid                    uint32 // of the host, when it is not that of the test

	kill func() // the host, by SIGKILL, and waits for its end
}

// newTarget is a folder with a configuration in which NATS and WEB stand for
// addresses, and a script for its models.
func newTarget(t *testing.T, binary, config, script string) *target {
	t.Helper()
	a := &target{t: t, binary: binary, dir: t.TempDir(), nats: freeport.Address(t), web: freeport.Address(t)}
	a.write("agenthost.yaml", strings.NewReplacer("NATS", a.nats, "WEB", a.web).Replace(config))
	a.write("play.yaml", script)
	return a
}

// An attack reports what it achieves as a failure of the test.
type attack struct {
	name string
	run  func(*target)
}

// suffer runs attacks one after the other, on the same host.
func (a *target) suffer(attacks []attack) {
	t := a.t
	t.Helper()
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			here := *a
			here.t = t
			attack.run(&here)
		})
	}
}

func (a *target) write(name, text string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// command is a command of agenthost in the folder of the target.
func (a *target) command(ctx context.Context, args ...string) *exec.Cmd {
	a.t.Helper()
	cmd := exec.CommandContext(ctx, a.binary, args...)
	cmd.Dir = a.dir
	cmd.Env = []string{"HOME=" + a.dir, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a.uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.uid}
	}
	return cmd
}

// run starts the host and returns once it is ready; the error is that of a host
// that ended before.
func (a *target) run() error {
	a.t.Helper()
	cmd := a.command(context.Background(), "run", "--json")
	out, err := cmd.StderrPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(a.dir, "host.log"))
	if err != nil {
		a.t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(io.TeeReader(out, log))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.Contains(lines.Text(), `"message":"ready"`) {
				close(ready)
			}
		}
		ended <- errors.Join(cmd.Wait(), log.Close())
	}()
	a.kill = sync.OnceFunc(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may be gone
		<-ended
	})
	a.t.Cleanup(a.kill)
	select {
	case <-ready:
		return nil
	case err := <-ended:
		ended <- nil
		return fmt.Errorf("the host ended: %w\n%s", err, a.read("host.log"))
	case <-time.After(attackPatience):
		a.t.Fatalf("the host is not ready:\n%s", a.read("host.log"))
		return nil
	}
}

func (a *target) read(name string) string {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join(a.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		a.t.Fatal(err)
	}
	return string(data)
}

// stranger is a connection without the token, operator one with it.
func (a *target) stranger() *nats.Conn { a.t.Helper(); return a.connect() }

func (a *target) operator() *nats.Conn {
	a.t.Helper()
	return a.connect(nats.UserInfo("agenthost", strings.TrimSpace(a.read("data/token"))))
}

func (a *target) connect(opts ...nats.Option) *nats.Conn {
	a.t.Helper()
	nc, err := nats.Connect("nats://"+a.nats, append(opts, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(nc.Close)
	return nc
}

// A said is what an agent says on a channel, or as a result.
type said struct {
	Kind, Text, Call, Run string
	Error                 *struct{ Code, Message string }
}

// A listener hears what is published on a subject.
type listener struct {
	t *testing.T
	*nats.Subscription
}

func listen(t *testing.T, nc *nats.Conn, subject string) listener {
	t.Helper()
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return listener{t, sub}
}

func (l listener) next() said {
	l.t.Helper()
	msg, err := l.NextMsg(attackPatience)
	if err != nil {
		l.t.Fatalf("%s: %v", l.Subject, err)
	}
	var s said
	if err := json.Unmarshal(msg.Data, &s); err != nil {
		l.t.Fatalf("%s: %v: %s", l.Subject, err, msg.Data)
	}
	return s
}

// silent reports whether nothing came so far.
func (l listener) silent() bool {
	l.t.Helper()
	n, _, err := l.Pending()
	if err != nil {
		l.t.Fatal(err)
	}
	return n == 0
}

func publish(t *testing.T, nc *nats.Conn, subject string, message map[string]any) {
	t.Helper()
	data, err := json.Marshal(message)
	if err == nil {
		err = nc.Publish(subject, data)
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// refused reports when the last thing that nc did about subject was allowed.
func (a *target) refused(nc *nats.Conn, subject string) {
	a.t.Helper()
	if err := nc.Flush(); err != nil {
		a.t.Fatal(err)
	}
	if err := nc.LastError(); err == nil || !strings.Contains(strings.ToLower(err.Error()), `"`+strings.ToLower(subject)+`"`) {
		a.t.Errorf("%s is allowed: %v", subject, err)
	}
}

// ask has a person say something to ana and returns what comes back.
func (a *target) ask(l listener, from, text string) said {
	a.t.Helper()
	publish(a.t, a.operator(), "plugin.inbound.web", map[string]any{"from": from, "text": text})
	return l.next()
}

func (a *target) outbound() listener {
	a.t.Helper()
	return listen(a.t, a.operator(), "plugin.outbound.web")
}

// job gives ana a task as a program does.
func (a *target) job(nc *nats.Conn, from, replyTo string) {
	a.t.Helper()
	publish(a.t, nc, "agent.route.ana", map[string]any{"kind": "delegate", "from": from, "correlation_id": "c", "text": "hello", "reply_to": replyTo})
}
