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
