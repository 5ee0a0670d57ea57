package host_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/plugins/telegram/telegramtest"
)

// goroutines counts all that the process has, and those that are about channels. Left
// out are those of the embedded server, which keeps the consumer of an account that is
// gone, and HTTP connections, which stay open for a while.
func goroutines() (all, ofChannels int) {
	stacks := make([]byte, 16<<20)
	for one := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		switch {
		case strings.Contains(one, "nats-server/v2/server."), strings.Contains(one, "net/http.(*"):
			continue
		case strings.Contains(one, "agenthost/plugins."), strings.Contains(one, "agenthost/plugins/telegram."):
			ofChannels++
		}
		all++
	}
	return all, ofChannels
}

// outboundConsumers are the consumers of channels.
func (r *reloadable) outboundConsumers() (names []string) {
	r.t.Helper()
	s, err := r.Bus().JS.Stream(r.t.Context(), bus.OutboundStream)
	if err != nil {
		r.t.Fatal(err)
	}
	list := s.ConsumerNames(r.t.Context())
	for name := range list.Name() {
		if strings.HasPrefix(name, "plugin-") {
			names = append(names, name)
		}
	}
	if list.Err() != nil {
		r.t.Fatal(list.Err())
	}
	return names
}

// A host without plugins has nothing of channels, and nothing is left of an account
// that is gone. Not in parallel: it counts goroutines.
func TestUnusedChannelsCostNothing(t *testing.T) {
	platform := telegramtest.New(t)
	const agents = "models: {main: {provider: echo}}\nagents: [{id: ana, channels: [web, {channel: telegram, instance: one}]}]\n"
	r := startReloadable(t, "", agents, nil)
	if names := r.outboundConsumers(); len(names) > 0 {
		t.Errorf("consumers %q, though there are no plugins", names)
	}
	for _, path := range []string{"/hooks/x", "/hooks/x/y"} {
		if code := r.status(path); code != http.StatusNotFound {
			t.Errorf("POST %s: %d, want 404", path, code)
		}
	}
	waittest.Until(t, "no goroutine of a channel, as there are no plugins", func() bool { // those of other tests may just be ending
		_, n := goroutines()
		return n == 0
	})
	before := 0 // how many there are once the first account is gone: by then all else of the host has started
	for k := range 2 {
		r.reload(agents + "plugins: {telegram: {one: {token: \"" + telegramtest.Token + "\", api: \"" + platform.URL + "\"}}}\n")
		platform.Write(telegramtest.Message{From: 7, Name: "Ana", Text: "hello"})
		waittest.Until(t, "a reply", func() bool { return len(platform.Messages(7)) > k })
		if _, n := goroutines(); n == 0 { // of all there may be fewer: those of other tests end
			t.Error("no goroutine of a channel, with an account")
		}
		r.reload(agents)
		waittest.Until(t, "as many goroutines as before", func() bool {
			now, n := goroutines()
			if k == 0 {
				before = now
			}
			return n == 0 && now <= before
		})
	}
}

// status is that of an empty POST.
func (r *reloadable) status(path string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+r.HTTP()+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
