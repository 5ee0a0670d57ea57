package doctor

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/config"
	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

// Places are named without what is secret in their addresses.
func TestPlacesAreNamedWithoutSecrets(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		natsOf(bus.Config{URL: "nats://me:secret@a:4222, tls://b:4222"}):                                      "a:4222, tls://b:4222",
		natsOf(bus.Config{URL: "nats://a:4222", Context: "prod"}):                                             `that of the context "prod"`,
		serverOf(llm.Config{Provider: "openai", BaseURL: "https://me:secret@a.example/v1?key=secret#secret"}): "https://a.example/v1",
		serverOf(llm.Config{Provider: "gemini"}):                                                              "the server of gemini",
		serverOf(llm.Config{Provider: "openai", BaseURL: "http://a b:secret@\x00"}):                           "the server of openai",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Of what a server has, the names that are most alike come first.
func TestNearest(t *testing.T) {
	t.Parallel()
	have := []string{"zeta", "GPT-5-mini", "gpt-4o", "alpha", "gpt-5"}
	if got, want := nearest("gpt-5-min", have), ": GPT-5-mini, gpt-5, gpt-4o, …"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := nearest("x", []string{"c", "b", "a"}), ": a, b, c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[uint64]string{0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB", 1_500_000: "1.5 MB", 2_000_000_000_000: "2.0 TB", 3_000_000_000_000_000: "3000.0 TB"} {
		if got := size(bytes); got != want {
			t.Errorf("%d: got %s, want %s", bytes, got, want)
		}
	}
}

// A host is known by what it answers, at whichever address of this machine it listens.
func TestIsHost(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"status":"ready"}`: true, `{"status":"degraded"}`: true, `{"status":"not ready"}`: true, `{"status":"ok"}`: false, `hello`: false, `"ready"`: false,
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
		for _, host := range []string{"127.0.0.1", "0.0.0.0", ""} {
			if got := isHost(t.Context(), net.JoinHostPort(host, port)); got != want {
				t.Errorf("%s at %q: got %t, want %t", body, host, got, want)
			}
		}
		srv.Close()
	}
	for _, address := range []string{"127.0.0.1:1", "no address"} {
		if isHost(t.Context(), address) {
			t.Errorf("%s is a host", address)
		}
	}
}

// A report has its groups in their order, and the findings of each in that of the checks.
func TestReportIsInOrder(t *testing.T) {
	t.Parallel()
	r := Report{}.with([]Finding{
		{Group: "nats", About: "1", Verdict: VerdictFail},
		{Group: "models", About: "2", Verdict: VerdictOK},
		{Group: "config", About: "3", Verdict: VerdictWarn},
		{Group: "models", About: "1", Verdict: VerdictOK},
	})
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.Group+" "+f.About)
	}
	if diff := cmp.Diff([]string{"config 3", "models 2", "models 1", "nats 1"}, got); diff != "" || r.OK != 2 || r.Warnings != 1 || r.Failures != 1 {
		t.Errorf("%d, %d, %d; %s", r.OK, r.Warnings, r.Failures, diff)
	}
}

// What is wrong with a configuration is said, and where that is.
func TestConfigured(t *testing.T) {
	t.Parallel()
	warned := &config.Config{Agents: []config.Agent{{}}, Warnings: []config.Problem{{File: "a.yaml", Line: 1, Text: "x is old; write y"}}}
	for name, tt := range map[string]struct {
		d    Doctor
		want string
	}{
		"the demo":      {Doctor{Config: &config.Config{}}, "warn demo there is no agenthost.yaml here"},
		"no agent":      {Doctor{Config: &config.Config{}, Path: "a.yaml"}, "ok a.yaml 0 agents, 0 models\nwarn a.yaml there is no agent"},
		"well":          {Doctor{Config: &config.Config{Agents: []config.Agent{{}}}, Path: "a.yaml"}, "ok a.yaml 1 agent, 0 models"},
		"what it warns": {Doctor{Config: warned, Path: "a.yaml"}, "ok a.yaml 1 agent\nwarn a.yaml a.yaml:1:0: x is old → write y"},
		"unreadable":    {Doctor{Fault: errors.New("no such file"), Path: "a.yaml"}, "fail a.yaml no such file → name another with -c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &notes{}
			if tt.d.Config == nil {
				tt.d.misconfigured(n)
			} else {
				tt.d.configured(t.Context(), n)
			}
			var lines []string
			for _, f := range n.list {
				lines = append(lines, string(f.Verdict)+" "+f.About+" "+f.Text+" → "+f.Cure)
			}
			want := strings.Split(tt.want, "\n")
			if !slices.EqualFunc(lines, want, strings.Contains) {
				t.Errorf("got %q, want %q", lines, want)
			}
		})
	}
}
