package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"agenthost/bus"
	"agenthost/client"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptPatience is far more than anything here takes.
const scriptPatience = time.Minute

type vars struct{}

// A process is a host in a process of its own.
type process struct {
	cmd   *exec.Cmd
	lines chan string // of its log
	done  chan struct{}
}

// start starts "agenthost run" under a name: start NAME [ARG...]. When it is
// ready, $URL is where its NATS is.
func start(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command("agenthost", append([]string{"run", "--log-format", "json"}, args[1:]...)...)
	env := ts.Value(vars{}).(*testscript.Env)
	cmd.Dir, cmd.Env = ts.MkAbs("."), slices.Concat(env.Vars, []string{"PORT=" + ts.Getenv("PORT")})
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	p := &process{cmd, make(chan string, 10_000), make(chan struct{})}
	env.Values[args[0]] = p
	go p.read(stderr)
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-p.done
	})
	ready := p.await(ts, "ready")
	ts.Setenv("URL", ready.NATS)
	_, port, _ := strings.Cut(strings.TrimPrefix(ready.NATS, "nats://"), ":")
	ts.Setenv("PORT", port)
}

func (p *process) read(stderr io.Reader) {
	defer close(p.done)
	for in := bufio.NewScanner(stderr); in.Scan(); {
		p.lines <- in.Text()
	}
	close(p.lines)
	_ = p.cmd.Wait() // ended reads the exit code
}

type logLine struct {
	Message string
	NATS    string
}

// await reads the log up to a message.
func (p *process) await(ts *testscript.TestScript, message string) logLine {
	patience := time.After(scriptPatience)
	for {
		select {
		case text, ok := <-p.lines:
			if !ok {
				ts.Fatalf("the host ended before it logged %q", message)
			}
			ts.Logf("%s", text)
			var l logLine
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				ts.Fatalf("log line %q: %v", text, err)
			}
			if strings.Contains(l.Message, message) {
				return l
			}
		case <-patience:
			ts.Fatalf("the host did not log %q", message)
		}
	}
}

func named(ts *testscript.TestScript, name string) *process {
	p, ok := ts.Value(name).(*process)
	if !ok {
		ts.Fatalf("no host %q", name)
	}
	return p
}

// signalHost sends a host a signal: signal NAME TERM|INT|HUP|KILL.
func signalHost(ts *testscript.TestScript, _ bool, args []string) {
	sig := map[string]os.Signal{
		"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
	}[args[1]]
	ts.Check(named(ts, args[0]).cmd.Process.Signal(sig))
}

// ended waits for the end of a host: ended NAME CODE; the code of one that was
// killed is -1.
func ended(ts *testscript.TestScript, _ bool, args []string) {
	p := named(ts, args[0])
	select {
	case <-p.done:
	case <-time.After(scriptPatience):
		ts.Fatalf("the host did not end")
	}
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit code: got %s, want %s", got, args[1])
	}
}

// logged waits for a message in a host's log: logged NAME MESSAGE.
func logged(ts *testscript.TestScript, _ bool, args []string) {
	named(ts, args[0]).await(ts, args[1])
}

func dial(ts *testscript.TestScript) *nats.Conn {
	cfg, err := bus.Config{URL: ts.Getenv("URL"), Embedded: bus.Embedded{Store: ts.MkAbs("data")}}.WithToken()
	ts.Check(err)
	nc, err := nats.Connect(cfg.URL, nats.UserInfo(cfg.User, cfg.Password))
	ts.Check(err)
	return nc
}

// publish publishes at $URL: publish SUBJECT FILE.
func publish(ts *testscript.TestScript, _ bool, args []string) {
	nc := dial(ts)
	defer nc.Close()
	js, err := jetstream.New(nc)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	_, err = js.Publish(ctx, args[0], []byte(strings.TrimSuffix(ts.ReadFile(args[1]), "\n")))
	ts.Check(err)
}

// buried waits until there was a dead letter of that number: buried SEQ.
func buried(ts *testscript.TestScript, _ bool, args []string) {
	nc := dial(ts)
	defer nc.Close()
	js, err := jetstream.New(nc)
	ts.Check(err)
	seq, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	c, err := js.OrderedConsumer(ctx, bus.DeadStream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: seq,
	})
	ts.Check(err)
	_, err = c.Next(jetstream.FetchMaxWait(scriptPatience))
	ts.Check(err)
}

// running waits until the hosts work on something.
func running(ts *testscript.TestScript, _ bool, _ []string) {
	nc := dial(ts)
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	for {
		hosts, err := client.New(nc, nil, client.Options{}).Hosts(ctx)
		ts.Check(err)
		for _, h := range hosts {
			for _, a := range h.Agents {
				if a.Running > 0 {
					return
				}
			}
		}
	}
}

// busy takes a port that does not speak NATS, $PORT.
func busy(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Setenv("PORT", port)
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				_ = c.Close()
			}
		}
	}()
}
