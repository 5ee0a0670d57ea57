package emailtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"agenthost/internal/freeport"
	"agenthost/internal/interop"
	"agenthost/internal/waittest"
)

// A House is a mail server as there are many: dovecot keeps the mailboxes, OpenSMTPD
// takes mail and brings it to dovecot by LMTP.
type House struct {
	Dir        string // of its files
	IMAP, SMTP string // ports
	Bot, Human string // who has a mailbox

	t                    testing.TB
	lmtp                 string // port
	dovecot, smtpd       string // programs
	running, runningSMTP *exec.Cmd
}

// NewHouse starts the servers, until t ends. OpenSMTPD is there once a machine.
func NewHouse(t testing.TB) *House {
	t.Helper()
	h := &House{
		t: t, Bot: "bot", Human: "human", IMAP: freeport.Port(t), lmtp: freeport.Port(t), SMTP: freeport.Port(t),
		dovecot: interop.Program(t, "dovecot"), smtpd: interop.Program(t, "smtpd"),
	}
	interop.Program(t, "swaks")
	var err error
	if h.Dir, err = os.MkdirTemp("", "mail"); err != nil { //nolint:usetesting // dovecot's user has to reach it
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(h.Dir) })
	for _, folder := range []string{"", "box", "home"} {
		if err := os.MkdirAll(filepath.Join(h.Dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(h.Dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	h.File("d.conf", fmt.Sprintf(`base_dir = %[1]s/run
state_dir = %[1]s/state
log_path = %[1]s/dovecot.log
protocols = imap lmtp
ssl = no
disable_plaintext_auth = no
auth_username_format = %%n
passdb {
  driver = static
  args = password=pw
}
userdb {
  driver = static
  args = uid=nobody gid=nogroup home=%[1]s/home/%%n
}
first_valid_uid = 1
mail_location = maildir:%[1]s/box/%%n
service imap-login {
  inet_listener imap {
    address = 127.0.0.1
    port = %[2]s
  }
  inet_listener imaps {
    port = 0
  }
}
service lmtp {
  inet_listener lmtp {
    address = 127.0.0.1
    port = %[3]s
  }
}
`, h.Dir, h.IMAP, h.lmtp))
	h.File("smtpd.conf", fmt.Sprintf(`listen on 127.0.0.1 port %s
table users { "@" = nobody }
action "l" lmtp "127.0.0.1:%s" rcpt-to virtual <users>
match from any for any action "l"
`, h.SMTP, h.lmtp))
	t.Cleanup(func() {
		h.Stop()
		h.end(&h.runningSMTP)
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(h.Dir, "dovecot.log"))
			t.Logf("dovecot: %s", log)
		}
	})
	h.Start()
	h.runningSMTP = h.launch(h.SMTP, h.smtpd, "-d", "-f", filepath.Join(h.Dir, "smtpd.conf"))
	return h
}

// Of is the same house for two others in it.
func (h *House) Of(t testing.TB, n int) *House {
	other := *h
	other.t, other.Bot, other.Human = t, fmt.Sprintf("bot%d", n), fmt.Sprintf("human%d", n)
	return &other
}

// File writes a file into Dir.
func (h *House) File(name, text string) {
	if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// launch starts a program and waits until it listens.
func (h *House) launch(port, program string, arguments ...string) *exec.Cmd {
	h.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(program, arguments...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if h.t.Failed() {
			h.t.Logf("%s: %s", program, out.String())
		}
	})
	waittest.Until(h.t, program+" listens", func() bool { return listens(port) })
	return cmd
}

func listens(port string) bool {
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

func (h *House) end(cmd **exec.Cmd) {
	if *cmd == nil {
		return
	}
	(*cmd).Process.Signal(os.Interrupt)
	(*cmd).Wait()
	*cmd = nil
}

// StopSMTP ends OpenSMTPD.
func (h *House) StopSMTP() { h.end(&h.runningSMTP) }

// Stop ends dovecot: no IMAP and no LMTP.
func (h *House) Stop() {
	h.end(&h.running)
	waittest.Until(h.t, "dovecot has ended", func() bool { return !listens(h.IMAP) })
}

// Start starts it again.
func (h *House) Start() {
	h.running = h.launch(h.IMAP, h.dovecot, "-F", "-c", filepath.Join(h.Dir, "d.conf"))
}

// Swaks sends a mail as a person does.
func (h *House) Swaks(arguments ...string) {
	h.t.Helper()
	arguments = append([]string{"--server", "127.0.0.1", "--port", h.SMTP, "--to", h.Bot + "@localhost", "--from", h.Human + "@localhost", "--hide-all"}, arguments...)
	if out, err := exec.Command("swaks", arguments...).CombinedOutput(); err != nil {
		h.t.Errorf("swaks: %v\n%s", err, out)
	}
}

// Mails are those in the mailbox of a person, the oldest first.
func (h *House) Mails(name string) (mails [][]byte) {
	var files []string
	for _, folder := range []string{"new", "cur"} {
		found, _ := filepath.Glob(filepath.Join(h.Dir, "box", name, folder, "*"))
		files = append(files, found...)
	}
	slices.SortFunc(files, func(a, b string) int { return slices.Compare(arrival(a), arrival(b)) })
	for _, file := range files {
		mail, err := os.ReadFile(file)
		if err != nil {
			return h.Mails(name) // dovecot has renamed it meanwhile
		}
		mails = append(mails, mail)
	}
	return mails
}

// arrival is when a mail was stored, in seconds and microseconds: dovecot names files so,
// without leading zeros.
func arrival(file string) []int {
	at := make([]int, 2)
	_, _ = fmt.Sscanf(filepath.Base(file), "%d.M%dP", &at[0], &at[1]) // its own names are all so
	return at
}
