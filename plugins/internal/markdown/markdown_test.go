package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asterisks is like the dialects of chats: marks, and escapes for them.
var asterisks = Dialect{
	Escape: strings.NewReplacer("*", `\*`, "_", `\_`).Replace,
	Bold:   Around("*"), Italic: Around("_"), Strike: Around("~"), Code: Around("`"),
	Pre:  func(code, language string) string { return "```" + language + "\n" + code + "\n```" },
	Link: func(text, url string) string { return "<" + url + "|" + text + ">" },
}

func TestRender(t *testing.T) {
	tests := map[string]struct {
		source             string
		plain, html, chats string
	}{
		"words": {"hello", "hello", "<p>hello</p>", "hello"},
		"marks": {
			"**b** *i* ~~s~~ `c*`", "b i s c*",
			"<p><strong>b</strong> <em>i</em> <del>s</del> <code>c*</code></p>", "*b* _i_ ~s~ `c*`",
		},
		"marks within marks": {
			"**b *i* __b__**", "b i b",
			"<p><strong>b <em>i</em> b</strong></p>", "*b _i_ b*",
		},
		"paragraphs and lines": {
			"a\nb\n\nc  \nd", "a\nb\n\nc\nd",
			"<p>a<br>\nb</p>\n<p>c<br>\nd</p>", "a\nb\n\nc\nd",
		},
		"headings": {
			"# One **two**\ntext\n\n### Three", "One two\n\ntext\n\nThree",
			"<h1>One <strong>two</strong></h1>\n<p>text</p>\n<h3>Three</h3>", "*One two*\n\ntext\n\n*Three*",
		},
		"escapes": {
			`1 * 2 \* 3_4 &amp; <b> &lt;`, "1 * 2 * 3_4 & <b> <",
			"<p>1 * 2 * 3_4 &amp; &lt;b&gt; &lt;</p>", `1 \* 2 \* 3\_4 & <b> <`,
		},
		"escaped entities": {
			`\&amp; \\&amp; \&\#65; a\`, `&amp; \& &#65; a\`,
			`<p>&amp;amp; \&amp; &amp;#65; a\</p>`, `&amp; \& &#65; a\`,
		},
		"links": {
			"[a](https://x.y/z?q=1&r=2) [b](javascript:alert(1)) [c](/d)", "a (https://x.y/z?q=1&r=2) b c",
			`<p><a href="https://x.y/z?q=1&amp;r=2">a</a> b c</p>`, "<https://x.y/z?q=1&r=2|a> b c",
		},
		"addresses": {
			"see https://x.y/a_b and <me@x.y>", "see https://x.y/a_b and me@x.y",
			`<p>see <a href="https://x.y/a_b">https://x.y/a_b</a> and <a href="mailto:me@x.y">me@x.y</a></p>`,
			"see <https://x.y/a_b|> and <mailto:me@x.y|me@x.y>",
		},
		"definitions": {
			"See [1].\n\n[1]: https://x.y/a\n[2]: https://x.y/b\n[3]: https://x.y/c \"C\"\n[//]: # (no address)", "See 1 (https://x.y/a).\n\n[2]: https://x.y/b\n[3]: https://x.y/c (C)",
			"<p>See <a href=\"https://x.y/a\">1</a>.</p>\n<p>[2]: <a href=\"https://x.y/b\">https://x.y/b</a></p>\n<p>[3]: <a href=\"https://x.y/c\">https://x.y/c</a> (C)</p>",
			"See <https://x.y/a|1>.\n\n[2]: <https://x.y/b|>\n[3]: <https://x.y/c|> (C)",
		},
		"an image": {
			"![a cat](https://x.y/cat.png)", "a cat (https://x.y/cat.png)",
			`<p><a href="https://x.y/cat.png">a cat</a></p>`, "<https://x.y/cat.png|a cat>",
		},
		"a link around an image": {
			"[![build](https://x.y/b.svg)](https://x.y)", "build (https://x.y)",
			`<p><a href="https://x.y">build</a></p>`, "<https://x.y|build>",
		},
		"code": {
			"```go\nx := a<b\n\n  y\n```\n", "x := a<b\n\n  y",
			"<pre><code class=\"language-go\">x := a&lt;b\n\n  y\n</code></pre>", "```go\nx := a<b\n\n  y\n```",
		},
		"a fence that is still open": {"```\na", "a", "<pre><code>a\n</code></pre>", "```\na\n```"},
		"indented code":              {"    a\n    b", "a\nb", "<pre><code>a\nb\n</code></pre>", "```\na\nb\n```"},
		"code over two lines":        {"`a\nb`", "a b", "<p><code>a b</code></p>", "`a b`"},
		"bullets": {
			"- a\n- b\n  c\n  - d", "• a\n• b\n  c\n  • d",
			"<ul>\n<li>a</li>\n<li>b<br>\nc\n<ul>\n<li>d</li>\n</ul></li>\n</ul>", "• a\n• b\n  c\n  • d",
		},
		"numbers": {
			"9. a\n10. b\n", "9. a\n10. b",
			"<ol start=\"9\">\n<li>a</li>\n<li>b</li>\n</ol>", "9. a\n10. b",
		},
		"items with blocks": {
			"1. a\n\n   ```\n   x\n   ```\n\n2. b", "1. a\n\n   x\n\n2. b",
			"<ol>\n<li><p>a</p>\n<pre><code>x\n</code></pre></li>\n<li><p>b</p></li>\n</ol>",
			"1. a\n\n   ```\n   x\n   ```\n\n2. b",
		},
		"tasks": {"- [x] a\n- [ ] b", "• ☑ a\n• ☐ b", "<ul>\n<li>☑ a</li>\n<li>☐ b</li>\n</ul>", "• ☑ a\n• ☐ b"},
		"a quote": {
			"> a\n> b\n>\n> c", "> a\n> b\n> \n> c",
			"<blockquote>\n<p>a<br>\nb</p>\n<p>c</p>\n</blockquote>", "> a\n> b\n> \n> c",
		},
		"a rule": {"a\n\n---\n\nb", "a\n\n———\n\nb", "<p>a</p>\n<hr>\n<p>b</p>", "a\n\n———\n\nb"},
		"a table": {
			table, " n |      word\n---+----------------\n 1 |       a_b\n20 | x (https://y.z)",
			"<pre><code> n |      word\n---+----------------\n 1 |       a_b\n20 | x (https://y.z)\n</code></pre>",
			"```\n n |      word\n---+----------------\n 1 |       a_b\n20 | x (https://y.z)\n```",
		},
		"HTML is text": {
			"<script>alert(1)</script>\n\na <b onclick=x>b</b>", "<script>alert(1)</script>\n\na <b onclick=x>b</b>",
			"<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>",
			"<script>alert(1)</script>\n\na <b onclick=x>b</b>",
		},
		"nothing": {"", "", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for dialect, want := range map[*Dialect]string{&Plain: tt.plain, &HTML: tt.html, &asterisks: tt.chats} {
				if diff := cmp.Diff(want, dialect.Render(tt.source)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

const table = "| n | **word** |\n|--:|:-:|\n| 1 | a_b |\n| 20 | [x](https://y.z) |"

func FuzzRender(f *testing.F) {
	f.Add("**a** [b](c) ```\n| x |\n|--|\n> - 1. `")
	f.Fuzz(func(t *testing.T, source string) {
		for _, d := range []*Dialect{&Plain, &HTML, &asterisks} {
			d.Render(source)
		}
		if out := HTML.Render(source); strings.Contains(strings.ToLower(out), "<script") || strings.Contains(out, `href="javascript:`) {
			t.Errorf("%q: %s", source, out)
		}
	})
}
