package host_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/hooks"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"
)

// A host that stops keeps the requests at its doors until the hosts that have the runs answer.
func TestAnswersOfOtherHostsAreWaitedFor(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	begun, end := make(chan string, 1), make(chan struct{})
	hosts, stops := map[string]*host.Host{}, map[string]func(){}
	for _, name := range []string{"blue", "green"} {
		cfg := hosttest.Demo(t)
		cfg.NATS = bus.Config{URL: url}
		cfg.NATS.Embedded.Store = t.TempDir()
		hold := hooks.Hook{Point: hooks.BeforeMessage, Name: "hold", Options: hooks.Options{Timeout: waittest.Within}, Handler: func(ctx context.Context, call hooks.Call) (hooks.Outcome, error) {
			if strings.Contains(string(call.Args["message"]), "wait") {
				begun <- name
				<-end
			}
			return hooks.Outcome{}, nil
		}}
		hosts[name] = host.New(host.Options{Config: cfg, Name: name, Log: bustest.Log(t), Hooks: []hooks.Hook{hold}, Version: "0.1.0", Grace: waittest.Within})
		stops[name] = hosttest.Serve(t, hosts[name])
	}
	ask := func(name, text string) <-chan error {
		answered := make(chan error, 1)
		go func() { answered <- complete(t, hosts[name], text) }()
		return answered
	}
	if err := waittest.For(t, "an answer", ask("blue", "hello")); err != nil {
		t.Fatal(err)
	}
	one := ask("blue", "wait for one")
	works := waittest.For(t, "a run", begun)
	other := map[string]string{"blue": "green", "green": "blue"}[works]
	two := ask(other, "wait for the other")
	waittest.For(t, "a run", begun)
	stopped := make(chan error, 1)
	go func() { stops[other](); stopped <- nil }()
	waittest.Until(t, "the host stops", func() bool {
		res, err := http.Get("http://" + hosts[other].HTTP() + "/readyz")
		if err != nil {
			return true
		}
		_ = res.Body.Close()
		return res.StatusCode != http.StatusOK
	})
	close(end)
	for _, answered := range []<-chan error{one, two} {
		if err := waittest.For(t, "the answer", answered); err != nil {
			t.Error(err)
		}
	}
	_ = waittest.For(t, "the end of the host", stopped)
}

// complete asks the demo agent at the OpenAI door of a host.
func complete(t *testing.T, h *host.Host, text string) error {
	body := `{"model":"demo","messages":[{"role":"user","content":"` + text + `"}],"user":"` + strings.ReplaceAll(text, " ", "-") + `"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.HTTP()+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || !strings.Contains(string(answer), text)) {
		t.Errorf("%s: got %d %s", text, res.StatusCode, answer)
	}
	return err
}
