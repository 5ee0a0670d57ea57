package intake

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// intakeOf is the intake of ana, which reads no orders of its own.
func intakeOf(cfg agents.Config) *Intake {
	cfg.ID = "ana"
	box := &profile.Toolbox{Registry: tools.NewRegistry()}
	p := profile.New(cfg, profile.Kit{Chain: new(llm.Chain), Box: box}, new(profile.Peers))
	return &Intake{
		Agent: "ana", Parts: parts.New(parts.Options{}), Now: func() *profile.Profile { return p },
		IsOrder: func(*bus.Inbound) bool { return false },
		Work:    context.Background,
		Busy:    new(sync.WaitGroup),
	}
}

// Whose work an agent takes, and what it says to the others.
func TestRefuseTask(t *testing.T) {
	t.Parallel()
	chain := func(n int) []string { return strings.Split(strings.Repeat("x", n), "") }
	tests := map[string]struct {
		cfg  agents.Config
		task bus.Route
		code llm.Code
		why  string
	}{
		"anyone's":                  {task: bus.Route{From: "ben"}},
		"of one that is accepted":   {cfg: agents.Config{Accepts: []string{"ben"}}, task: bus.Route{From: "ben"}},
		"of all":                    {cfg: agents.Config{Accepts: []string{"*"}}, task: bus.Route{From: "ben"}},
		"of another":                {cfg: agents.Config{Accepts: []string{"kate"}}, task: bus.Route{From: "ben"}, code: llm.CodeToolDenied, why: `ana does not take work from "ben".`},
		"where none is accepted":    {cfg: agents.Config{Accepts: agents.Selection{}}, task: bus.Route{From: "ben"}, code: llm.CodeToolDenied, why: `ana does not take work from "ben".`},
		"of the operator":           {cfg: agents.Config{Accepts: []string{"kate"}}, task: bus.Route{From: "ben", Door: bus.DoorCLI}},
		"of a program":              {cfg: agents.Config{Accepts: []string{"kate"}}, task: bus.Route{From: bus.ProgramPrefix + "job"}},
		"of a program by that name": {cfg: agents.Config{Accepts: []string{"kate"}}, task: bus.Route{From: bus.ProgramPrefix + "kate"}, code: llm.CodeToolDenied, why: "does not take work"},
		"for a shadow":              {cfg: agents.Config{ShadowOf: "kate"}, task: bus.Route{From: "ben"}, code: llm.CodeToolDenied, why: "ana is a shadow of kate and takes no work."},
		"in a circle":               {task: bus.Route{From: "ben", Chain: []string{"ana", "ben"}}, code: llm.CodeToolDenied, why: "delegation cycle: ana already waits for this."},
		"as deep as it may be":      {task: bus.Route{From: "ben", Chain: chain(profile.MaxDepth)}},
		"too deep":                  {task: bus.Route{From: "ben", Chain: chain(profile.MaxDepth + 1)}, code: llm.CodeToolDenied, why: "too many agents"},
		"in time":                   {task: bus.Route{From: "ben", Deadline: time.Now().Add(time.Hour)}},
		"too late":                  {task: bus.Route{From: "ben", Deadline: time.Now().Add(-time.Hour)}, code: llm.CodeRunTimeout, why: "The time for this task was over"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := intakeOf(tt.cfg).RefuseTask(&tt.task)
			switch {
			case got == nil:
				if tt.why != "" {
					t.Error("it is taken")
				}
			case tt.why == "" || got.Code != tt.code || !strings.Contains(got.Message, tt.why):
				t.Errorf("got %+v, want %s %q", got, tt.code, tt.why)
			}
		})
	}
}

// A firing that is not to be made up for is left out when it comes late.
func TestTimely(t *testing.T) {
	t.Parallel()
	now := time.Now()
	firing := bus.Route{Kind: bus.RouteSchedule, From: "morning", Due: now.Add(-time.Hour), Missed: "skip"}
	with := func(change func(*bus.Route)) *bus.Route { r := firing; change(&r); return &r }
	tests := map[string]struct {
		route           *bus.Route
		tried, doubtful bool
		want            bool
	}{
		"late":               {route: &firing},
		"in time":            {route: with(func(r *bus.Route) { r.Due = now }), want: true},
		"to be made up for":  {route: with(func(r *bus.Route) { r.Missed = "once" }), want: true},
		"perhaps begun":      {route: &firing, tried: true, want: true},
		"as far as is known": {route: &firing, doubtful: true, want: true},
		"not due":            {route: with(func(r *bus.Route) { r.Due = time.Time{} }), want: true},
		"a heartbeat":        {route: with(func(r *bus.Route) { r.Kind = bus.RouteHeartbeat }), want: true},
		"of a person":        {want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			it := &message.Item{Origin: message.Origin{Route: tt.route}, Tried: tt.tried, Delivery: &delivery.Delivery{Doubtful: tt.doubtful}}
			if got := intakeOf(agents.Config{}).Timely(it); got != tt.want || it.Late != (tt.tried || tt.doubtful) {
				t.Errorf("got %v, late %v", got, it.Late)
			}
		})
	}
}

// Whether it is late is by the clock of NATS, which has fired it.
func TestTimelyByTheClockOfNATS(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tt := range map[string]struct {
		due  time.Time
		want bool
	}{"in time, and this host an hour ahead": {now.Add(-time.Hour), true}, "late": {now.Add(-2 * time.Hour), false}} {
		t.Run(name, func(t *testing.T) {
			i := intakeOf(agents.Config{})
			i.Parts.Now = func() time.Time { return now.Add(-time.Hour) }
			it := &message.Item{
				Origin:   message.Origin{Route: &bus.Route{Kind: bus.RouteSchedule, From: "morning", Due: tt.due, Missed: "skip"}},
				Delivery: &delivery.Delivery{},
			}
			if got := i.Timely(it); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// Over its rate a message waits for its turn; what belongs to a run under way does not
// count.
func TestWithinRate(t *testing.T) {
	t.Parallel()
	shadow := agents.Config{ShadowOf: "ben"} // which tells nobody anything
	said := func(in bus.Inbound) *message.Item {
		in.From = "ann"
		return &message.Item{
			Binding: &agents.Binding{Rate: agents.Rate{Messages: 1, Per: time.Hour}},
			Origin:  message.Origin{Subject: "plugin.inbound.web", Inbound: &in},
		}
	}
	i := intakeOf(shadow)
	first, second, third := said(bus.Inbound{}), said(bus.Inbound{}), said(bus.Inbound{})
	for _, it := range []*message.Item{first, second, third} {
		if !i.Admits(it) || it.Unrated.IsZero() || !i.WithinRate(it) || !it.Unrated.IsZero() {
			t.Error("a message that may wait is not admitted")
		}
	}
	if !first.NotBefore.IsZero() || time.Until(second.NotBefore) < 50*time.Minute || third.NotBefore.Sub(second.NotBefore).Round(time.Minute) != time.Hour {
		t.Errorf("they wait until %s, %s and %s", first.NotBefore, second.NotBefore, third.NotBefore)
	}
	for name, it := range map[string]*message.Item{
		"an answer": said(bus.Inbound{Answers: "w"}), "an edit": said(bus.Inbound{Edits: "m"}),
	} {
		if !i.Admits(it) || !it.Unrated.IsZero() {
			t.Errorf("%s counts", name)
		}
	}
	tried, doubtful := said(bus.Inbound{}), said(bus.Inbound{})
	tried.Tried, doubtful.Delivery = true, &delivery.Delivery{Doubtful: true}
	for _, it := range []*message.Item{tried, doubtful} {
		if !i.Admits(it) || it.Unrated.IsZero() {
			t.Error("what may have begun does not count, also where the log of its session does not have it")
		}
	}
	if it := (&message.Item{Origin: message.Origin{Route: &bus.Route{}}}); !i.Admits(it) {
		t.Error("what comes by route has no binding")
	}
}

// What nobody serves is answered where somebody waits, under one name on all hosts.
func TestErrorOfUnserved(t *testing.T) {
	t.Parallel()
	person := message.Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{ID: "7", From: "ann", Chat: "c"}}
	routed := func(kind string) message.Origin {
		return message.Origin{Subject: "agent.route.ana", Route: &bus.Route{ID: "d1", Kind: kind, From: "ben", ReplyTo: "agent.route.ben", Chain: []string{"ben"}}}
	}
	tests := map[string]struct {
		origin  message.Origin
		subject string
	}{
		"a person":   {person, "plugin.outbound.web"},
		"a delegate": {routed(bus.RouteDelegate), "agent.route.ben"},
		"a schedule": {routed(bus.RouteSchedule), ""},
		"an event":   {routed(bus.RouteEvent), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := unserved{Agent: "ana", Subject: tt.origin.Subject, Seq: 7, Header: nats.Header{}}
			subject, envelope := m.errorReply(tt.origin, "agent \"ana\" is not configured")
			if subject != tt.subject {
				t.Fatalf("it goes to %q, want %q", subject, tt.subject)
			}
			switch out := envelope.(type) {
			case *bus.Outbound:
				if out.ID != "ana:AGENT_INBOUND:7:unserved" || out.To != "ann" || out.InReplyTo != "7" || out.Text != (texts.Book{}).Say("message_failed") {
					t.Errorf("got %+v", out)
				}
			case *bus.Route:
				if out.ID != "ana:AGENT_ROUTES:7:unserved" || out.CorrelationID != "d1" || out.Error.Message != `agent "ana" is not configured` || !cmp.Equal(out.Chain, []string{"ben"}) {
					t.Errorf("got %+v", out)
				}
			}
		})
	}
}

func TestNotConfigured(t *testing.T) {
	t.Parallel()
	p := parts.New(parts.Options{Peers: new(profile.Peers)})
	if got := (UnservedEnder{p}).notConfigured("gost"); got != `agent "gost" is not configured` {
		t.Errorf("got %q", got)
	}
	p.Nearest = func(string, []string) string { return "ghost" }
	if got := (UnservedEnder{p}).notConfigured("gost"); got != `agent "gost" is not configured; did you mean "ghost"?` {
		t.Errorf("got %q", got)
	}
	if got := (UnservedEnder{p}).notConfigured(lanes.Unbound); got != "no agent is bound to this channel" {
		t.Errorf("got %q", got)
	}
	if served, err := (UnservedEnder{p}).Served(t.Context()); err != nil || served.Hosts != 1 {
		t.Errorf("a host alone: got %+v, %v", served, err)
	}
}

// The id of a message that no session knows: its own, its publisher's, its place.
func TestIDOfUnserved(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		origin message.Origin
		header nats.Header
		want   string
	}{
		"its own":       {message.Origin{Inbound: &bus.Inbound{ID: "7"}}, nats.Header{nats.MsgIdHdr: {"p"}}, "7"},
		"of its route":  {message.Origin{Route: &bus.Route{ID: "d"}}, nil, "d"},
		"the publisher": {message.Origin{Inbound: &bus.Inbound{}}, nats.Header{nats.MsgIdHdr: {"p"}}, "p"},
		"its place":     {message.Origin{}, nil, "AGENT_INBOUND:7"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (unserved{Subject: "plugin.inbound.web", Seq: 7, Header: tt.header}).id(tt.origin); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
