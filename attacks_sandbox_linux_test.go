//go:build long

package agenthost_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const confinedConfig = `nats: {embedded: {listen: "NATS"}}
http: {listen: ""}
models: {play: {provider: scripted, script: play.yaml}}
agents:
  - {id: ana, model: play, channels: [web], tools: [run_command], permissions: {run_command: allow}}
`

const confinedScript = `rules:
  - {when: intrude, tool_calls: [{name: run_command, args: {command: "./intruder intruder FOLDER PORT"}}]}
  - {when: outlive, tool_calls: [{name: run_command, args: {command: "mkfifo begun; env -i setsid sh -c 'exec 4>fifo; echo up >&4; echo >begun; exec sleep 300' & read line <begun"}}]}
  - {after_tool: "*", text: "${result}"}
`

// nobody is an ordinary user that every system has.
const nobody = 65534

// Attacks of a command that an agent runs, by all that its host is: root where
// the test is, and an ordinary user.
func TestAttacksOfCommands(t *testing.T) {
	t.Parallel()
	binary := built(t)
	users := map[string]uint32{"as it is": uint32(os.Getuid())}
	if os.Getuid() == 0 {
		users = map[string]uint32{"as root": 0, "as an ordinary user": nobody}
	}
	for name, uid := range users {
		t.Run(name, func(t *testing.T) { attackByCommands(t, binary, uid) })
	}
}

func attackByCommands(t *testing.T, binary string, uid uint32) {
	t.Helper()
	victim := newVictim(t, uid)
	script := strings.NewReplacer("FOLDER", victim, "PORT", strconv.Itoa(listeningPort(t))).Replace(confinedScript)
	a := newTarget(t, binary, confinedConfig, script)
	a.arm()
	a.belongTo(uid)
	if err := a.run(); err != nil {
		t.Fatal(err)
	}
	out := a.outbound()
	t.Run("what it reaches", func(t *testing.T) { a.intrude(t, out, uid) })
	t.Run("what outlives it", func(t *testing.T) { a.outlive(t, out, uid) })
}

// newVictim is a folder of the host's user with a secret and a socket.
func newVictim(t *testing.T, uid uint32) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "victim") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "secret", "socket"} {
		if err := os.Chown(filepath.Join(dir, name), int(uid), -1); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func listeningPort(t *testing.T) int {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// arm puts this program into the workspace, as a model can by a compiler.
func (a *target) arm() {
	a.t.Helper()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		a.t.Fatal(err)
	}
	workspace := filepath.Join(a.dir, "data/workspaces/ana")
	if err := errors.Join(os.MkdirAll(workspace, 0o700), os.WriteFile(filepath.Join(workspace, "intruder"), program, 0o755), syscall.Mkfifo(filepath.Join(workspace, "fifo"), 0o600)); err != nil {
		a.t.Fatal(err)
	}
}

// belongTo has the host run as this user, with a folder and a binary of its own.
func (a *target) belongTo(uid uint32) {
	a.t.Helper()
	if int(uid) == os.Getuid() {
		return
	}
	program, err := os.ReadFile(a.binary)
	if err != nil {
		a.t.Fatal(err)
	}
	a.binary = filepath.Join(a.dir, "agenthost")
	err = errors.Join(os.WriteFile(a.binary, program, 0o755), os.Chmod(filepath.Dir(a.dir), 0o711), filepath.WalkDir(a.dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(uid), int(uid)))
	}))
	if err != nil {
		a.t.Fatal(err)
	}
	a.uid = uid
}

// intrude has ana run the attacks and tells which got through. Without namespaces,
// which not every system gives an ordinary user, modes and times of what is the
// host's own are open: the host says so when it starts.
func (a *target) intrude(t *testing.T, out listener, uid uint32) {
	t.Helper()
	a.t = t
	said := a.ask(out, "ann", "intrude").Text
	if strings.Contains(a.read("host.log"), "sandbox commands: not confined") {
		return // this kernel has no sandbox, and each command is asked for
	}
	open := uid != 0 && !strings.Contains(a.read("host.log"), `"layers":"namespaces`)
	tried := 0
	for line := range strings.Lines(said) {
		name, outcome, found := strings.Cut(strings.TrimSpace(line), ": ")
		if !found {
			continue
		}
		tried++
		if outcome == "got through" && (!open || !strings.HasPrefix(name, "file ")) {
			t.Errorf("%s: %s", name, outcome)
		}
	}
	if tried < len(intrusions) {
		t.Errorf("%d of %d attacks were tried:\n%s", tried, len(intrusions), said)
	}
}

// outlive has ana leave a process behind that holds a FIFO open, and end only once it
// has a session of its own.
func (a *target) outlive(t *testing.T, out listener, uid uint32) {
	t.Helper()
	a.t = t
	fifo, err := os.OpenFile(filepath.Join(a.dir, "data/workspaces/ana/fifo"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	said := a.ask(out, "ann", "outlive")
	if said.Kind == "approval" { // who approves a command approves no process that stays
		said = a.ask(out, "ann", "approve")
	}
	if err := fifo.SetReadDeadline(time.Now().Add(attackPatience)); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 10)
	if n, err := fifo.Read(text); err != nil || string(text[:n]) != "up\n" {
		t.Fatalf("the command writes %q, %v: %+v", text[:n], err, said)
	}
	if _, err := fifo.Read(text); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a process outlives its command")
	}
}

func init() { programs["intruder"] = intrude }

// intrude tries what a command may not do: its arguments are the victim's folder
// and a port that listens.
func intrude() int {
	for name, try := range intrusions {
		outcome := "got through"
		if err := try(os.Args[2], os.Args[3]); err != nil {
			outcome = "refused: " + err.Error()
		}
		fmt.Println(name+":", outcome)
	}
	return 0
}

var intrusions = map[string]func(folder, port string) error{
	"TCP": func(_, port string) error { return reach(unix.IPPROTO_TCP, 0, port) },
	"TCP Fast Open": func(_, port string) error {
		return reach(unix.IPPROTO_TCP, unix.MSG_FASTOPEN, port)
	},
	"Multipath TCP": func(_, port string) error { return reach(unix.IPPROTO_MPTCP, 0, port) },
	"a unix socket": func(folder, _ string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Join(folder, "socket")})
	},
	"io_uring": func(string, string) error {
		var parameters [120]byte
		if _, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 8, uintptr(unsafe.Pointer(&parameters)), 0); errno != 0 {
			return errno
		}
		return nil
	},
	"a suid bit": func(string, string) error {
		return errors.Join(os.WriteFile("suid", nil, 0o700), unix.Chmod("suid", 0o4755))
	},
	"file mode": func(folder, _ string) error { return unix.Chmod(filepath.Join(folder, "secret"), 0o666) },
	"file owner": func(folder, _ string) error {
		return unix.Chown(filepath.Join(folder, "secret"), os.Getuid(), os.Getgid())
	},
	"file times": func(folder, _ string) error {
		return unix.Utimes(filepath.Join(folder, "secret"), make([]unix.Timeval, 2))
	},
	"file size": func(folder, _ string) error { _, err := os.Stat(filepath.Join(folder, "secret")); return err },
}

// reach sends something to the port, in the first packet with MSG_FASTOPEN.
func reach(protocol, flags int, port string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	to := &unix.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}}
	if flags == 0 {
		return unix.Connect(fd, to)
	}
	return unix.Sendto(fd, []byte("x"), flags, to)
}
