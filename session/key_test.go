package session_test

import (
	"regexp"
	"strings"
	"testing"

	"agenthost/session"
)

func TestKey(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		got, want session.Key
	}{
		"dm":                         {session.DM("web", "", "bob"), "web/dm/bob"},
		"dm in a thread":             {session.DMConversation("web", "", "bob", "c1"), "web/dm/bob/c1"},
		"dm in a thread with a sign": {session.DMConversation("web", "", "b/c", "1/2"), "web/dm/b%2Fc/1%2F2"},
		"dm without a thread":        {session.DMConversation("web", "", "bob", ""), "web/dm/bob"},
		"dm of an instance":          {session.DM("telegram", "sales", "42"), "telegram.sales/dm/42"},
		"group":                      {session.Group("irc", "", "#go", ""), "irc/group/#go"},
		"group of an instance":       {session.Group("slack", "acme", "C1", ""), "slack.acme/group/C1"},
		"thread":                     {session.Group("slack", "acme", "C1", "17.5"), "slack.acme/group/C1/17.5"},
		"delegate":                   {session.Route("ops", "c-1"), "route/ops/c-1"},
		"schedule":                   {session.Schedule("morning"), "schedule/morning"},
		"event":                      {session.Event("orders.a/b"), "event/orders.a%2Fb"},
		"ordinary signs stay":        {session.DM("mail", "", "a.b+c@x.org é:_-"), "mail/dm/a.b+c@x.org é:_-"},
		"slash in an id":             {session.Group("matrix", "", "a/b", "c"), "matrix/group/a%2Fb/c"},
		"percent in an id":           {session.DM("web", "", "a%2Fb"), "web/dm/a%252Fb"},
		"dot in a channel":           {session.DM("a.b", "", "x"), "a%2Eb/dm/x"},
		"dot in an instance":         {session.DM("a", "b.c", "x"), "a.b.c/dm/x"},
		"channel named route":        {session.DM("route", "", "x"), "%72oute/dm/x"},
		"channel route, an instance": {session.DM("route", "i", "x"), "route.i/dm/x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
		})
	}
}

// everyKey makes each kind of key that a, b, c and d can be in, with what it
// was made from.
func everyKey(a, b, c, d string) map[[5]string]session.Key {
	return map[[5]string]session.Key{
		{"dm", a, b, c, d}:    session.DMConversation(a, b, c, d),
		{"group", a, b, c, d}: session.Group(a, b, c, d),
		{"route", a, b}:       session.Route(a, b),
		{"schedule", a}:       session.Schedule(a),
	}
}

func FuzzKey(f *testing.F) {
	f.Add("x", "", "a/b", "c", "x", "", "a", "b/c")
	f.Add("x", "", "a%2Fb", "", "x", "", "a/b", "")
	f.Add("a.b", "", "x", "", "a", "b", "x", "")
	f.Add("route", "", "x", "", "dm", "x", "", "")
	f.Add("route", "", "x", "", "group", "x", "", "")
	f.Add("schedule", "", "", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, a, b, c, d, a2, b2, c2, d2 string) {
		for from, key := range everyKey(a, b, c, d) {
			for from2, key2 := range everyKey(a2, b2, c2, d2) {
				if (key == key2) != (from == from2) {
					t.Errorf("%q is %q, %q is %q", from, key, from2, key2)
				}
			}
		}
	})
}

func TestSID(t *testing.T) {
	t.Parallel()
	key := session.DM("telegram", "sales", "42")
	// A golden: subjects that are on disk must be found for ever.
	if got, want := session.SID("ana", key), "aodrdqrg36zrezgzdmvo"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, in := range [][2]string{
		{"ana", "x"},
		{"an", "ax"},
		{"ana", ""},
		{"", "x"},
		{"", ""},
		{strings.Repeat("a", 127), "x"},
		{strings.Repeat("a", 128), "x"},
		{"ana", strings.Repeat("x", 1000)},
	} {
		sid := session.SID(in[0], session.Key(in[1]))
		if !regexp.MustCompile(`^[a-z2-7]{20}$`).MatchString(sid) {
			t.Errorf("SID(%q, %q): got %q, want 20 of a-z2-7", in[0], in[1], sid)
		}
		if other, ok := seen[sid]; ok {
			t.Errorf("SID(%q, %q) is that of %s too", in[0], in[1], other)
		}
		seen[sid] = in[0] + " " + in[1]
	}
}

func TestSIDAllocatesItsResultOnly(t *testing.T) {
	key := session.DM("mail", "", strings.Repeat("long", 100))
	if got := testing.AllocsPerRun(100, func() { session.SID("ana", key) }); got > 1 {
		t.Errorf("got %v allocations, want 1", got)
	}
}

func BenchmarkSID(b *testing.B) {
	key := session.DM("telegram", "sales", "123456789")
	b.ReportAllocs()
	for b.Loop() {
		session.SID("ana", key)
	}
}
