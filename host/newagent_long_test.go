//go:build long

package host_test

import "testing"

// An agent that is new answers what comes from then on, whichever lane it falls on, and not
// what others have answered before it was there.
func TestNewAgentAnswersNothingOld(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		channel, before, after string
		second                 bool // the configuration is that of a host that joins
	}{
		"restart":                {channel: "demo", before: "demo", after: "demo"},
		"second host":            {channel: "demo", before: "demo", after: "demo", second: true},
		"every instance":         {channel: "demo.one", before: "demo.one", after: "demo.*"},
		"one of every instance":  {channel: "demo.one", before: "demo.*", after: "demo.one"},
		"second, every instance": {channel: "demo.one", before: "demo.one", after: "demo.*", second: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newChangedFleet(t)
			first, stop := f.start("blue", f.config(tt.before, "ana"))
			f.write(tt.channel, "old1", "old2")
			f.done("ana")
			f.want(first, "old1 reply: ana", "old2 reply: ana")
			cfg := f.config(tt.before, "ana")
			added := everyLane()
			cfg.Agents = append(cfg.Agents, f.config(tt.after, added...).Agents...)
			name := "blue"
			if tt.second {
				name = "green"
			} else {
				stop()
			}
			h, _ := f.start(name, cfg)
			stop() // it knows ana alone
			f.write(tt.channel, "new")
			all := append([]string{"ana"}, added...)
			f.done(all...)
			want := []string{"old1 reply: ana", "old2 reply: ana"}
			for _, agent := range all {
				want = append(want, "new reply: "+agent)
			}
			f.want(h, want...)
		})
	}
}
