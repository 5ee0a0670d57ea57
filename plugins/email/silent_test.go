package email

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/plugins/settings"
)

// mute is a server that greets, answers as many lines as there are answers, in which %s is the
// first word of the line, and says no more. An empty greeting is none.
func mute(t *testing.T, greeting string, answers ...string) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer conn.Close()
				fmt.Fprint(conn, greeting)
				left := answers
				for in := bufio.NewScanner(conn); in.Scan(); {
					if len(left) > 0 {
						tag, _, _ := strings.Cut(in.Text(), " ")
						fmt.Fprint(conn, strings.ReplaceAll(left[0], "%s", tag))
						left = left[1:]
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); group.Wait() })
	return l.Addr().String()
}

// A server that takes the connection and stops to answer at some step of the login is left.
func TestLeavesServerThatIsSilentAtLogin(t *testing.T) {
	t.Parallel()
	const (
		imapOK = "* OK hello\r\n"
		smtpOK = "220 hello\r\n"
		ehloOK = "250-hello\r\n250 STARTTLS\r\n"
	)
	tests := map[string]struct {
		tls, greeting string
		answers       []string
		smtp          bool
	}{
		"IMAP":                       {tls: tlsOff},
		"IMAP, STARTTLS":             {tls: startTLS},
		"IMAP, STARTTLS is asked":    {tls: startTLS, greeting: imapOK},
		"IMAP, STARTTLS is promised": {tls: startTLS, greeting: imapOK, answers: []string{"%s OK go\r\n"}},
		"SMTP":                       {tls: tlsOff, smtp: true},
		"SMTP, STARTTLS":             {tls: startTLS, smtp: true},
		"SMTP, STARTTLS is asked":    {tls: startTLS, smtp: true, greeting: smtpOK, answers: []string{ehloOK}},
		"SMTP, STARTTLS is promised": {tls: startTLS, smtp: true, greeting: smtpOK, answers: []string{ehloOK, "220 go\r\n"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := settings.MailServer{Server: mute(t, tt.greeting, tt.answers...), User: "u", Password: "p", TLS: tt.tls}
			c := channel(t, settings.Email{Address: bot, IMAP: server, SMTP: server})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			left := make(chan error, 1)
			go func() {
				if tt.smtp {
					_, err := c.login(ctx)
					left <- err
					return
				}
				_, err := c.open(ctx, nil)
				left <- err
			}()
			select {
			case err := <-left:
				if err == nil || !strings.Contains(err.Error(), server.Server) {
					t.Errorf("got %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Error("it still waits")
				cancel()
				<-left
			}
		})
	}
}
