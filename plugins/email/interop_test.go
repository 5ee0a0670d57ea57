//go:build interop

package email

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/internal/interop"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

// A house is a mail server as there are many: dovecot keeps the mailboxes, OpenSMTPD
// takes mail and brings it to dovecot by LMTP.
type house struct {
	t                    testing.TB
	dir                  string
	imap, lmtp, smtp     string // ports
	dovecot, smtpd       string // programs
	running, runningSMTP *exec.Cmd
	bot, human           string // who has a mailbox
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{
		t: t, bot: "bot", human: "human", imap: freePort(t), lmtp: freePort(t), smtp: freePort(t),
		dovecot: interop.Program(t, "dovecot"), smtpd: interop.Program(t, "smtpd"),
	}
	interop.Program(t, "swaks")
	var err error
	if h.dir, err = os.MkdirTemp("", "mail"); err != nil { //nolint:usetesting // dovecot's user has to reach it
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(h.dir) })
	for _, folder := range []string{"", "box", "home"} {
		if err := os.MkdirAll(filepath.Join(h.dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(h.dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	h.file("d.conf", fmt.Sprintf(`base_dir = %[1]s/run
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
`, h.dir, h.imap, h.lmtp))
	h.file("smtpd.conf", fmt.Sprintf(`listen on 127.0.0.1 port %s
table users { "@" = nobody }
action "l" lmtp "127.0.0.1:%s" rcpt-to virtual <users>
match from any for any action "l"
`, h.smtp, h.lmtp))
	t.Cleanup(func() {
		h.stop()
		h.end(&h.runningSMTP)
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(h.dir, "dovecot.log"))
			t.Logf("dovecot: %s", log)
		}
	})
	h.start()
	h.runningSMTP = h.launch(h.smtp, h.smtpd, "-d", "-f", filepath.Join(h.dir, "smtpd.conf"))
	return h
}

// of is the same house for two others in it.
func (h *house) of(n int) *house {
	other := *h
	other.bot, other.human = fmt.Sprintf("bot%d", n), fmt.Sprintf("human%d", n)
	return &other
}

func (h *house) file(name, text string) {
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// launch starts a program and waits until it listens.
func (h *house) launch(port, program string, arguments ...string) *exec.Cmd {
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

func (h *house) end(cmd **exec.Cmd) {
	if *cmd == nil {
		return
	}
	(*cmd).Process.Signal(os.Interrupt)
	(*cmd).Wait()
	*cmd = nil
}

// stop ends dovecot: no IMAP and no LMTP.
func (h *house) stop() {
	h.end(&h.running)
	waittest.Until(h.t, "dovecot has ended", func() bool { return !listens(h.imap) })
}

func (h *house) start() {
	h.running = h.launch(h.imap, h.dovecot, "-F", "-c", filepath.Join(h.dir, "d.conf"))
}

// swaks sends a mail as a person does.
func (h *house) swaks(arguments ...string) {
	h.t.Helper()
	arguments = append([]string{"--server", "127.0.0.1", "--port", h.smtp, "--to", h.bot + "@localhost", "--from", h.human + "@localhost", "--hide-all"}, arguments...)
	if out, err := exec.Command("swaks", arguments...).CombinedOutput(); err != nil {
		h.t.Errorf("swaks: %v\n%s", err, out)
	}
}

// mails are those in the mailbox of a person, the oldest first.
func (h *house) mails(name string) (mails [][]byte) {
	var files []string
	for _, folder := range []string{"new", "cur"} {
		found, _ := filepath.Glob(filepath.Join(h.dir, "box", name, folder, "*"))
		files = append(files, found...)
	}
	slices.SortFunc(files, func(a, b string) int { return slices.Compare(arrival(a), arrival(b)) })
	for _, file := range files {
		mail, err := os.ReadFile(file)
		if err != nil {
			return h.mails(name) // dovecot has renamed it meanwhile
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

func (h *house) account() settings.Email {
	return settings.Email{
		Address: h.bot + "@localhost", Name: "Bot",
		IMAP: settings.MailServer{Server: "127.0.0.1:" + h.imap, User: h.bot, Password: "pw", TLS: tlsOff},
		SMTP: settings.MailServer{Server: "127.0.0.1:" + h.smtp, TLS: tlsOff},
	}
}

// A patient channel has a mail delivered when the person has it: mail servers bring
// two mails in any order, and a person sees them by their date, in seconds.
type patient struct {
	*Channel
	h *house
}

func (p patient) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	id, err := p.Channel.Deliver(ctx, m)
	if err == nil {
		waittest.Until(p.h.t, "the mail has arrived", func() bool {
			return ctx.Err() != nil || bytes.Contains(bytes.Join(p.h.mails(p.h.human), nil), []byte("<"+id+">"))
		})
	}
	return id, err
}

// The suite of channels, with real servers.
func TestInteropSuite(t *testing.T) {
	whole := newHouse(t) // OpenSMTPD is there once a machine
	var platforms int
	plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform {
		platforms++
		h := whole.of(platforms)
		var count atomic.Int64
		var last []string
		return plugintest.Platform{
			Channel: func() plugins.Channel { return patient{channel(t, h.account()), h} },
			Write: func(w plugintest.Written) {
				last = []string{
					"--header", fmt.Sprintf("Message-Id: <m%d@human>", count.Add(1)), "--header", "References: <root@human>", "--header", "Subject: ", "--body", w.Text,
				}
				if w.File != nil {
					path := filepath.Join(h.dir, w.File.Name)
					h.file(w.File.Name, string(w.File.Data))
					last = append(last, "--attach-type", w.File.MIME, "--attach-name", w.File.Name, "--attach", "@"+path)
				}
				before := len(h.mails(h.bot))
				h.swaks(last...)
				// Two mails at once may arrive in any order.
				waittest.Until(t, "the mail has arrived", func() bool { return len(h.mails(h.bot)) > before })
			},
			Sent:       func(plugintest.Chat) []plugintest.Sent { return readAll(t, h.mails(h.human)) },
			Repeat:     func() { h.swaks(last...) },
			Disconnect: func() { whole.stop(); whole.start() },
			Persons:    true,
		}
	}})
}

// Mail waits while IMAP is away for the account, and while LMTP is away for a person.
func TestInteropServersAway(t *testing.T) {
	h := newHouse(t)
	in := &memory{}
	c := channel(t, h.account())
	if as, err := c.Check(t.Context()); err != nil || as != "bot@localhost" {
		t.Fatalf("check: %q, %v", as, err)
	}
	serve(t, c, in)
	h.swaks("--header", "Message-Id: <auto@human>", "--header", "Auto-Submitted: auto-replied", "--body", "I am away")
	h.swaks("--header", "Message-Id: <m1@human>", "--header", "Subject: Grüße", "--body", "one")
	m := in.next(t, 1)
	if m.ID != "m1@human" || m.From != "human@localhost" || m.Text != "Subject: Grüße\n\none" || m.Thread != "m1@human" {
		t.Errorf("got %+v", m)
	}

	h.stop()
	h.swaks("--header", "Message-Id: <m2@human>", "--header", "In-Reply-To: <m1@human>", "--body", "two") // waits at OpenSMTPD
	reply := plugins.Message{Key: "k", Place: plugins.Place{To: m.From, Thread: m.Thread}, Text: "**hi**", Plain: "hi", ReplyTo: m.ID}
	if _, err := c.Deliver(t.Context(), reply); err != nil {
		t.Fatalf("OpenSMTPD takes it while LMTP is away: %v", err)
	}
	h.start()
	waittest.Until(t, "OpenSMTPD tries again", func() bool {
		exec.Command("smtpctl", "schedule", "all").Run()
		return len(h.mails(h.human)) == 1
	})
	if m := in.next(t, 2); m.ID != "m2@human" || m.Thread != "m1@human" {
		t.Errorf("got %+v", m)
	}
	mail := string(h.mails(h.human)[0])
	for _, want := range []string{"Subject: =?utf-8?q?Re:_Gr=C3=BC=C3=9Fe?=", "In-Reply-To: <m1@human>", "References: <m1@human>", "Auto-Submitted: auto-replied"} {
		if !strings.Contains(mail, want) {
			t.Errorf("no %q in\n%s", want, mail)
		}
	}

	h.end(&h.runningSMTP)
	_, err := c.Deliver(t.Context(), reply)
	if _, ok := errors.AsType[*plugins.PermanentError](err); err == nil || ok {
		t.Errorf("without OpenSMTPD: %v", err)
	}
	if n := len(in.messages()); n != 2 {
		t.Errorf("%d mails were taken: %+v", n, in.messages())
	}
}
