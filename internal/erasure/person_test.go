package erasure

import (
	"strings"
	"testing"

	"agenthost/session"
)

func TestParsePerson(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Person{
		"ana":                 {"", "ana"},
		"web/ana":             {"web", "ana"},
		"telegram.sales/42":   {"telegram.sales", "42"},
		"web/a/b":             {"web", "a/b"},
		"email/bo@shop.test":  {"email", "bo@shop.test"},
		"@bo:hs.test":         {"", "@bo:hs.test"},
		"Web/ana":             {"", "Web/ana"},
		"telegram.a.b/42":     {"", "telegram.a.b/42"},
		"matrix/@bo:hs.test":  {"matrix", "@bo:hs.test"},
		"web/100%/dm of that": {"web", "100%/dm of that"},
	} {
		if got, err := ParsePerson(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "name the person", "web/": "name the person", "web/dm/ana": "name the person as web/ana", "web.a/group/7": "is the key of a session",
	} {
		if _, err := ParsePerson(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	for key, want := range map[session.Key]bool{
		"web/dm/a%2Fb":             true,
		"web/dm/a%2Fb/other":       true,
		"web/dm/a%2Fb~fork-2":      true,
		"telegram.sales/dm/a%2Fb":  false,
		"web/dm/a%2Fbc":            false,
		"web/group/a%2Fb":          false,
		"route/dm/a%2Fb":           false,
		"web/group/x/dm/a%2Fb":     false,
		"web/dm/other/dm/a%2Fb":    false,
		"schedule/dm/a%2Fb":        false,
		"web/dm/a%2Fb~fork-x":      false,
		"web/dm/a%2Fb~fork-1/deep": false,
	} {
		if got := (Person{"web", "a/b"}).Owns(key); got != want {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
	}
	for _, name := range []string{"bea", "program:bea"} {
		for key, want := range map[session.Key]bool{
			"route/bea/c1": true, "route/program:bea/a%2Fb": true, "event/bea": true, "route/beate/c1": false, "route/bea": false, "web/dm/bea": false,
			"route/bea/bea.abcdefghijklmnopqrst.abc": false, "route/bea/bea.abc.abc": true,
		} {
			if got := (Person{"route", name}).Owns(key); got != want {
				t.Errorf("%s by route: %s: got %v, want %v", name, key, got, want)
			}
		}
	}
	for id, want := range map[string]bool{
		"web/dm/a%2Fb:17": true, "web/dm/a%2Fb:17:x": true, "web/dm/a%2Fbc:17": false, "web/dm/a%2Fb": false, "web.x/dm/a%2Fb:17": false, "17": false, "web/group/a%2Fb:17": false, "a b/dm/a%2Fb:1": false,
	} {
		if got := (Person{"web", "a/b"}).Logged(id); got != want {
			t.Errorf("%s as an id of a log: got %v, want %v", id, got, want)
		}
	}
	if !(Person{"", "42"}).Owns("telegram.sales/dm/42") {
		t.Error("on all channels: not owned")
	}
}
