package matrix

import "testing"

func TestNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		said message
		want bool
	}{
		"m.mentions":                {message{Body: "hi", Mentions: &mentions{Users: []string{"@bot:hs"}}}, true},
		"m.mentions of others":      {message{Body: "bot, hi", Mentions: &mentions{Users: []string{"@ana:hs"}}}, false},
		"m.mentions of none":        {message{Body: "bot, hi", Mentions: &mentions{}}, false},
		"a pill":                    {message{Body: "Robot: hi", FormattedBody: `<a href="https://matrix.to/#/@bot:hs">Robot</a>: hi`}, true},
		"a pill, escaped":           {message{Body: "x", FormattedBody: `<a href="https://matrix.to/#/%40bot%3Ahs">x</a>`}, true},
		"a pill of a longer name":   {message{Body: "x", FormattedBody: `<a href="https://matrix.to/#/@bot:hs2">x</a>`}, false},
		"the Matrix ID":             {message{Body: "ask @bot:hs please"}, true},
		"the display name":          {message{Body: "Little Bot: hi"}, true},
		"the display name, lower":   {message{Body: "hi little bot!"}, true},
		"@ and the local part":      {message{Body: "@bot hi"}, true},
		"within a word":             {message{Body: "little bottom"}, false},
		"within a word, then alone": {message{Body: "little bots and little bot"}, true},
		"nothing":                   {message{Body: "hi all"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := named("@bot:hs", "Little Bot", tt.said); got != tt.want {
				t.Errorf("named: got %t, want %t", got, tt.want)
			}
		})
	}
	if named("@bot:hs", "", message{Body: "hi"}) {
		t.Error("an empty display name is found in every text")
	}
}

// An answer or an order stands alone, so the mention by which it is for the agent is no part of it.
func TestUnmention(t *testing.T) {
	t.Parallel()
	pill := func(text string) string { return `<a href="https://matrix.to/#/@bot:hs.test">` + text + `</a>` }
	us := &mentions{Users: []string{"@bot:hs.test"}}
	tests := map[string]struct {
		said message
		want string
	}{
		"the display name":              {message{Body: "Little Bot: approve"}, "approve"},
		"the display name, lower":       {message{Body: "little bot, /stop"}, "/stop"},
		"no space behind the colon":     {message{Body: "Little Bot:2: red"}, "2: red"},
		"the local part":                {message{Body: "bot: blue"}, "blue"},
		"@ and the local part":          {message{Body: "@bot approve"}, "approve"},
		"the Matrix ID":                 {message{Body: "@bot:hs.test approve"}, "approve"},
		"the Matrix ID, colon":          {message{Body: " @bot:hs.test: approve"}, "approve"},
		"a pill":                        {message{Body: "Robot: approve", FormattedBody: pill("Robot") + ": approve", Mentions: us}, "approve"},
		"a pill without a colon":        {message{Body: "Robot approve", FormattedBody: pill("Robot") + " approve"}, "approve"},
		"a pill with @":                 {message{Body: "@Robot /stop", FormattedBody: pill("@Robot") + " /stop"}, "/stop"},
		"a pill, escaped":               {message{Body: "R&D: approve", FormattedBody: `<a class="x" href='https://matrix.to/#/%40bot%3Ahs.test'>R&amp;<b>D</b></a>: approve`}, "approve"},
		"a pill, as Markdown":           {message{Body: "[Robot](https://matrix.to/#/@bot:hs.test) approve", FormattedBody: pill("Robot") + " approve"}, "approve"},
		"a name in brackets":            {message{Body: "@[Little Bot] approve", Mentions: us}, "approve"},
		"m.mentions and the name alone": {message{Body: "Little Bot approve", Mentions: us}, "approve"},
		"several lines":                 {message{Body: "Little Bot:\none\ntwo"}, "one\ntwo"},
		"at the end":                    {message{Body: "approve @bot"}, "approve"},
		"at the end, with a comma":      {message{Body: "/stop, Little Bot"}, "/stop"},
		"at the end, with a stop":       {message{Body: "approve, @bot:hs.test!"}, "approve!"},
		"a pill at the end":             {message{Body: "approve Robot", FormattedBody: "approve " + pill("Robot")}, "approve"},

		"the name as a word":             {message{Body: "Little Bot is broken"}, "Little Bot is broken"},
		"the name as a word, at the end": {message{Body: "restart the little bot"}, "restart the little bot"},
		"in the middle":                  {message{Body: "ask @bot:hs.test please"}, "ask @bot:hs.test please"},
		"a question about it":            {message{Body: "who is @bot?"}, "who is @bot?"},
		"a possessive":                   {message{Body: "Little Bot's turn", Mentions: us}, "Little Bot's turn"},
		"of another server":              {message{Body: "@bot:hs2.test approve"}, "@bot:hs2.test approve"},
		"of a longer server":             {message{Body: "@bot:hs.test.org approve"}, "@bot:hs.test.org approve"},
		"of another port":                {message{Body: "@bot:hs.test:8448 approve"}, "@bot:hs.test:8448 approve"},
		"of a longer name":               {message{Body: "bots: approve"}, "bots: approve"},
		"a pill of another":              {message{Body: "Ben: approve", FormattedBody: `<a href="https://matrix.to/#/@ben:hs.test">Ben</a>: approve`}, "Ben: approve"},
		"m.mentions of others":           {message{Body: "Little Bot: hi", Mentions: &mentions{Users: []string{"@other:hs.test"}}}, "Little Bot: hi"},
		"a call without words":           {message{Body: "Little Bot:", Mentions: us}, "Little Bot:"},
		"a call with a mark":             {message{Body: "@bot!"}, "@bot!"},
		"a pill without text":            {message{Body: ": x", FormattedBody: pill("") + ": x"}, ": x"},
		"nothing":                        {message{}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := unmention("@bot:hs.test", "Little Bot", tt.said, tt.said.Body); got != tt.want {
				t.Errorf("unmention: got %q, want %q", got, tt.want)
			}
		})
	}
	if got := unmention("@bot:hs.test", "", message{}, "hi: approve"); got != "hi: approve" {
		t.Errorf("with an empty display name: %q", got)
	}
}
