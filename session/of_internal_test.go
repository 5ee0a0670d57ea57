package session

import (
	"testing"
)

// A person's own conversations are those, and no one else's.
func TestIsOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[Key]bool{
		"web/dm/ann": true, "web.shop/dm/ann": true, "web/dm/ann/second": true,
		"web/dm/anna": false, "web/dm/ben": false, "web/group/ann": false, "web/group/x/dm/ann": false, "": false,
	} {
		if got := isOf(key, "/dm/ann"); got != want {
			t.Errorf("%q: got %t, want %t", key, got, want)
		}
	}
}

// A page has what it asks for: a channel with all its accounts, but none whose name begins alike.
func TestPageKeeps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		page Page
		key  Key
		want bool
	}{
		"all":                {Page{}, "web/dm/ann", true},
		"its channel":        {Page{Channel: "web"}, "web/dm/ann", true},
		"an account of it":   {Page{Channel: "web"}, "web.shop/dm/ann", true},
		"its account":        {Page{Channel: "web.shop"}, "web.shop/dm/ann", true},
		"another account":    {Page{Channel: "web.shop"}, "web/dm/ann", false},
		"a channel like it":  {Page{Channel: "web"}, "webhook/dm/ann", false},
		"its state":          {Page{Channel: "web", State: WaitingSession}, "web/dm/ann", true},
		"another state":      {Page{State: RunningSession}, "web/dm/ann", false},
		"another, elsewhere": {Page{Channel: "irc", State: WaitingSession}, "web/dm/ann", false},
	} {
		if got := tt.page.keeps(Summary{Key: tt.key, State: WaitingSession}); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

// A place is a commit, or an event of it; nothing else is read as one.
func TestParsePlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Place{"7": {Seq: 7}, "7.1": {Seq: 7, N: 1}, "12.30": {Seq: 12, N: 30}} {
		if got, err := ParsePlace(text); got != want || err != nil {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "0.1", "7.", "7.0", "7.-1", "-7", "x", "7.x", "7.1.1", " 7"} {
		if got, err := ParsePlace(text); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
