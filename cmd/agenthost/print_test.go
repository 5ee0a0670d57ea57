package main

import (
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/eval"
)

// hostile is what no terminal is to get of others.
const hostile = "a\x1b[2J\u009b2J\x9b2J\u202eb\u2066c\u200fd\x7f\re"

func steersTerminal(text string) bool {
	return strings.ContainsAny(text, "\x1b\u009b\u202e\u2066\u200f\x7f\r") || strings.Contains(text, "\x9b2J") && !strings.Contains(text, "\uFFFD2J")
}

func TestForeignTextDoesNotSteerTheTerminal(t *testing.T) {
	tests := map[string]func(a *app) error{
		"a reload": func(a *app) error {
			a.printReloaded([]client.Reloaded{{Host: hostile, Changes: []string{hostile}, Restart: []string{hostile}}})
			return nil
		},
		"an outcome": func(a *app) error { a.printOutcome(hostile, eval.Outcome{Text: hostile, Error: hostile}); return nil },
		"a note":     func(a *app) error { return a.listNotes([]client.Note{{ID: hostile, Agent: hostile, Text: hostile}}) },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			a := newApp(strings.NewReader(""), &out, &errs, func(string) string { return "" })
			if err := do(a); err != nil {
				t.Fatal(err)
			}
			if got := out.String() + errs.String(); steersTerminal(got) || got == "" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestDoctorQuietPrintsOnlyFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: echo}, bad: {provider: openai, model: m}}\nagents: [{id: ana, model: [main, bad]}]\n")
	stdout, _ := call(t, cli.CodeFailed, "", "doctor", "--offline", "--quiet")
	if strings.Contains(stdout, "  ok ") || !strings.Contains(stdout, "  fail  ") || !strings.Contains(stdout, "models\n") {
		t.Errorf("got\n%s", stdout)
	}
	put(t, "nats: {embedded: {listen: \"\"}}\nhttp: {listen: \"\"}\nmodels: {main: {provider: echo}}\nagents: [{id: ana}]\n")
	if stdout, _ := call(t, cli.CodeDone, "", "doctor", "--offline", "--quiet"); stdout != "" {
		t.Errorf("all is well: got %q", stdout)
	}
}

// put writes the configuration of the working folder.
func put(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(cli.DefaultConfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAroundShowsThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"a bicycle":                          "a bicycle",
		strings.Repeat("日", 50) + " BICYCLE": "…" + strings.Repeat("日", 29) + " BICYCLE",
		"İİİİ bicycle":                       "İİİİ bicycle",
		"no such thing":                      "no such thing",
	} {
		if got := around(text, "bicycle"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Who may not ask hears nothing: the error says what NATS has refused.
func TestCommandsOfUsersWhoMayNot(t *testing.T) {
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "guest", Password: "secret", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"$JS.API.INFO"}},
		}}}
	})
	for args, subject := range map[string]string{
		"agents":      "agenthost.status",
		"sessions ls": "$JS.API.",
		"dead ls":     "$JS.API.",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			words := append(strings.Fields(args), "-s", url, "--user", "guest", "--password", "secret")
			_, errs := call(t, cli.CodeFailed, "", words...)
			for _, want := range []string{"ermissions", subject, "this user of NATS needs the permission"} {
				if !strings.Contains(errs, want) {
					t.Errorf("got %q, want %q in it", errs, want)
				}
			}
		})
	}
}
