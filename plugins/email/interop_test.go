//go:build interop

package email

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/email/emailtest"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

func realAccount(h *emailtest.House) settings.Email {
	return settings.Email{
		Address: h.Bot + "@localhost", Name: "Bot",
		IMAP: settings.MailServer{Server: "127.0.0.1:" + h.IMAP, User: h.Bot, Password: "pw", TLS: tlsOff},
		SMTP: settings.MailServer{Server: "127.0.0.1:" + h.SMTP, TLS: tlsOff},
	}
}

// A patient channel has a mail delivered when the person has it: mail servers bring
// two mails in any order, and a person sees them by their date, in seconds.
type patient struct {
	*Channel
	t testing.TB
	h *emailtest.House
}

func (p patient) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	id, err := p.Channel.Deliver(ctx, m)
	if err == nil {
		waittest.Until(p.t, "the mail has arrived", func() bool {
			return ctx.Err() != nil || bytes.Contains(bytes.Join(p.h.Mails(p.h.Human), nil), []byte("<"+id+">"))
		})
	}
	return id, err
}

// The suite of channels, with real servers.
func TestInteropSuite(t *testing.T) {
	whole := emailtest.NewHouse(t) // OpenSMTPD is there once a machine
	var platforms int
	plugintest.Run(t, plugintest.Suite{Shared: true, New: func(t testing.TB) plugintest.Platform {
		platforms++
		h := whole.Of(t, platforms)
		var count atomic.Int64
		var last []string
		return plugintest.Platform{
			Channel: func() plugins.Channel { return patient{channel(t, realAccount(h)), t, h} },
			Write: func(w plugintest.Written) {
				last = []string{
					"--header", fmt.Sprintf("Message-Id: <m%d@human>", count.Add(1)), "--header", "References: <root@human>", "--header", "Subject: ", "--body", w.Text,
				}
				if w.File != nil {
					path := filepath.Join(h.Dir, w.File.Name)
					h.File(w.File.Name, string(w.File.Data))
					last = append(last, "--attach-type", w.File.MIME, "--attach-name", w.File.Name, "--attach", "@"+path)
				}
				before := len(h.Mails(h.Bot))
				h.Swaks(last...)
				// Two mails at once may arrive in any order.
				waittest.Until(t, "the mail has arrived", func() bool { return len(h.Mails(h.Bot)) > before })
			},
			Sent:       func(plugintest.Chat) []plugintest.Sent { return readAll(t, h.Mails(h.Human)) },
			Repeat:     func() { h.Swaks(last...) },
			Disconnect: func() { whole.Stop(); whole.Start() },
			Persons:    true,
		}
	}})
}

// Mail waits while IMAP is away for the account, and while LMTP is away for a person.
func TestInteropServersAway(t *testing.T) {
	h := emailtest.NewHouse(t)
	in := &memory{}
	c := channel(t, realAccount(h))
	if as, err := c.Check(t.Context()); err != nil || as != "bot@localhost" {
		t.Fatalf("check: %q, %v", as, err)
	}
	serve(t, c, in)
	h.Swaks("--header", "Message-Id: <auto@human>", "--header", "Auto-Submitted: auto-replied", "--body", "I am away")
	h.Swaks("--header", "Message-Id: <m1@human>", "--header", "Subject: Grüße", "--body", "one")
	m := in.next(t, 1)
	if m.ID != "m1@human" || m.From != "human@localhost" || m.Text != "Subject: Grüße\n\none" || m.Thread != "m1@human" {
		t.Errorf("got %+v", m)
	}

	h.Stop()
	h.Swaks("--header", "Message-Id: <m2@human>", "--header", "In-Reply-To: <m1@human>", "--body", "two") // waits at OpenSMTPD
	reply := plugins.Message{Key: "k", Place: plugins.Place{To: m.From, Thread: m.Thread}, Text: "**hi**", Plain: "hi", ReplyTo: m.ID}
	if _, err := c.Deliver(t.Context(), reply); err != nil {
		t.Fatalf("OpenSMTPD takes it while LMTP is away: %v", err)
	}
	h.Start()
	waittest.Until(t, "OpenSMTPD tries again", func() bool {
		exec.Command("smtpctl", "schedule", "all").Run()
		return len(h.Mails(h.Human)) == 1
	})
	if m := in.next(t, 2); m.ID != "m2@human" || m.Thread != "m1@human" {
		t.Errorf("got %+v", m)
	}
	mail := string(h.Mails(h.Human)[0])
	for _, want := range []string{"Subject: =?utf-8?q?Re:_Gr=C3=BC=C3=9Fe?=", "In-Reply-To: <m1@human>", "References: <m1@human>", "Auto-Submitted: auto-replied"} {
		if !strings.Contains(mail, want) {
			t.Errorf("no %q in\n%s", want, mail)
		}
	}

	h.StopSMTP()
	_, err := c.Deliver(t.Context(), reply)
	if _, ok := errors.AsType[*plugins.PermanentError](err); err == nil || ok {
		t.Errorf("without OpenSMTPD: %v", err)
	}
	if n := len(in.messages()); n != 2 {
		t.Errorf("%d mails were taken: %+v", n, in.messages())
	}
}
