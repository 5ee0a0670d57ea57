package doorstest

import (
	"agenthost/client"
	"agenthost/config"
	"agenthost/run"
)

// OneRunEach kills the process and proves from what it has stored that n requests, each in
// a session of its own, were one message, one run and one reply each; and that the model
// was asked once for each, and once more only for what a killed life had not written down.
// It returns a host that serves what is stored.
func (p *Process) OneRunEach(n int) *Host {
	p.t.Helper()
	p.Kill()
	p.wantCalls(n)
	cfg, err := config.Load(p.File)
	if err != nil {
		p.t.Fatal(err)
	}
	h := Serve(p.t, cfg)
	if got := h.Inbound(p.t); got != uint64(n) {
		p.t.Errorf("%d messages are stored, want %d", got, n)
	}
	list, err := h.Client.Sessions().List(p.t.Context(), client.SessionPage{Agent: "ana", Limit: 1000})
	if err != nil || len(list.Sessions) != n {
		p.t.Errorf("there are %d sessions, want %d; %v", len(list.Sessions), n, err)
	}
	for _, s := range list.Sessions {
		p.wantOneRun(h, s)
	}
	return h
}

// wantCalls wants no text to be asked again within a life, nor more in all than n and what
// the lives before the last have asked.
func (p *Process) wantCalls(n int) {
	p.t.Helper()
	all, most := p.Model.Asked()
	last := p.Model.AskedIn(p.lives)
	p.t.Logf("%d requests, %d calls of the model, %d of them in the last life", n, all, last)
	if last > n || most > p.lives {
		p.t.Errorf("the model was asked %d times, %d of them in the last life, and %d times for one text; want at most %d in a life, and %d for a text",
			all, last, most, n, p.lives)
	}
}

// wantOneRun reads the log of a session.
func (p *Process) wantOneRun(h *Host, s client.SessionSummary) {
	p.t.Helper()
	runs, replies := map[string]bool{}, 0
	for f, err := range h.Client.Sessions().History(p.t.Context(), "ana", s.SID, 1) {
		if err != nil {
			p.t.Fatal(err)
		}
		switch f.Event.Type {
		case run.Started:
			runs[f.Event.Run] = true
		case run.Replied:
			replies++
		}
	}
	if len(runs) != 1 || replies != 1 {
		p.t.Errorf("session %s has %d runs with %d replies, want one with one", s.Key, len(runs), replies)
	}
}
