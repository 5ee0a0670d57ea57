package telegram_test

import (
	"strings"
	"testing"

	"agenthost/plugins"
)

// TestRender sends what Render makes to a server that parses it as Telegram does.
func TestRender(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ markdown, html string }{
		"text":      {"a < b & c", "a &lt; b &amp; c"},
		"emphasis":  {"**b** *i* ~~s~~ `c<d`", "<b>b</b> <i>i</i> <s>s</s> <code>c&lt;d</code>"},
		"a heading": {"# Title\n\ntext", "<b>Title</b>\n\ntext"},
		"code":      {"```go\nif a < b {\n}\n```", `<pre><code class="language-go">if a &lt; b {` + "\n}</code></pre>"},
		"no code":   {"```\nx\n```", "<pre>x</pre>"},
		"a link":    {"[shop](https://shop.test/?a=1&b=2)", `<a href="https://shop.test/?a=1&amp;b=2">shop</a>`},
		"a list":    {"- one\n- two", "• one\n• two"},
		"a quote":   {"> said", "<blockquote>said</blockquote>"},
		"nested":    {"> a\n>\n> > b", "<blockquote>a\n\nb</blockquote>"},
		"html":      {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			got := ch.Limits().Render(tt.markdown)
			if got != tt.html {
				t.Errorf("got  %q\nwant %q", got, tt.html)
			}
			deliver(t, ch, plugins.Message{Place: plugins.Place{To: "7"}, Text: got, Plain: "plain"})
			if shown := only(t, srv, ana); shown.HTML != got {
				t.Errorf("Telegram did not take it: it shows %q", shown.Text)
			}
		})
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	ch, _ := open(t)
	limits := ch.Limits()
	tests := map[string]struct {
		text string
		want int
	}{
		"ASCII":    {"abc", 3},
		"umlauts":  {"äöü", 3},
		"emoji":    {"😀", 2},
		"markup":   {"<b>ab</b>", 2},
		"entities": {"&lt;&amp;&gt;&#34;", 4},
		"a link":   {`<a href="https://long.test/` + strings.Repeat("x", 500) + `">ab</a>`, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := limits.Measure(tt.text); got != tt.want {
				t.Errorf("%q has %d units, want %d", tt.text, got, tt.want)
			}
		})
	}
}

func TestTheLongestTextIsTaken(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	text := strings.Repeat("&lt;", ch.Limits().Text-2) + "😀"
	deliver(t, ch, plugins.Message{Place: plugins.Place{To: "7"}, Text: text})
	if got := only(t, srv, ana); len(got.Text) != ch.Limits().Text-2+4 {
		t.Errorf("it shows %d bytes", len(got.Text))
	}
}
