package doctor

import (
	"errors"
	"strings"
	"testing"

	"agenthost/bus/streams"

	"github.com/google/go-cmp/cmp"
)

// A server that lags and one that was removed from the cluster need different cures.
func TestReplicasThatAreMissing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		state      streams.State
		text, cure string
	}{
		"up to date": {streams.State{Has: 3, Replicas: 3, Copies: 3}, "", ""},
		"behind":     {streams.State{Has: 3, Replicas: 2, Copies: 3}, "has 2 of its 3 replicas up to date", "start the servers that are down"},
		"removed":    {streams.State{Has: 3, Replicas: 2, Copies: 2}, "is kept by 2 servers, and is to have 3 replicas", "under another name"},
		"alone":      {streams.State{Has: 1, Replicas: 1}, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &notes{}
			n.on("nats", "AGENT_INBOUND").stream(tt.state)
			var text, cure string
			for _, f := range n.list {
				text, cure = text+f.Text, cure+f.Cure
			}
			if text != tt.text || !strings.Contains(cure, tt.cure) || tt.cure == "" && cure != "" {
				t.Errorf("got %q and the cure %q, want %q and %q", text, cure, tt.text, tt.cure)
			}
		})
	}
}

// What holds for several streams is said once, with their names.
func TestWhatHoldsForSeveralStreams(t *testing.T) {
	t.Parallel()
	behind := func(name string) streams.State { return streams.State{Name: name, Has: 3, Replicas: 2, Copies: 3} }
	inMemory := func(name string) streams.State { return streams.State{Name: name, Foreign: "storage memory"} }
	ledBy := func(name string) streams.State {
		return streams.State{Name: name, Fault: errors.New("stream " + name + " has no leader")}
	}
	fine, both := streams.State{Name: "fine"}, behind("b")
	both.Foreign = "storage memory"
	for name, tt := range map[string]struct {
		states []streams.State
		want   []string
	}{
		"none":            {[]streams.State{fine, fine}, nil},
		"one":             {[]streams.State{fine, behind("b")}, []string{"warn b: has 2 of its 3 replicas up to date"}},
		"some":            {[]streams.State{inMemory("a"), fine, inMemory("c")}, []string{"warn a, c: each has settings of its own, which stay: storage memory"}},
		"all":             {[]streams.State{behind("a"), behind("b")}, []string{"warn all 2 streams: each has 2 of its 3 replicas up to date"}},
		"a fault of each": {[]streams.State{ledBy("a"), fine, ledBy("c")}, []string{"fail a, c: each has no leader"}},
		"a fault of one":  {[]streams.State{fine, ledBy("c")}, []string{"fail c: has no leader"}},
		"of several kinds": {[]streams.State{inMemory("a"), both, behind("c")}, []string{
			"warn a, b: each has settings of its own, which stay: storage memory", "warn b, c: each has 2 of its 3 replicas up to date",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &notes{}
			n.each(tt.states)
			var got []string
			for _, f := range n.list {
				got = append(got, string(f.Verdict)+" "+f.About+": "+f.Text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
