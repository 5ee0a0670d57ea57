package builtin_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/tools"
	"agenthost/tools/builtin"
)

func urlArgs(t testing.TB, address string) string {
	t.Helper()
	return quoted(t, map[string]string{"url": address})
}

// website serves what the tests fetch, on 127.0.0.1, and counts.
func website(t *testing.T, handlers map[string]http.HandlerFunc) (base string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if handle, ok := handlers[r.URL.Path]; ok {
			handle(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func says(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, body)
	}
}

func TestFetch(t *testing.T) {
	const page = `<!doctype html><html><head><title>A page</title><style>p{}</style><script>var x = "<p>";</script></head>
		<body><h1>Head</h1><p>One <b>bold</b>
		word &amp; more<br>next<template>none</template><ul><li>a<li>b</ul><svg><text>none</text></svg>
		<table><tr><td>1<td>2</table></body></html>`
	big := strings.Repeat("x", 3<<20)
	base, _ := website(t, map[string]http.HandlerFunc{
		"/page": says("text/html; charset=utf-8", page),
		"/text": says("text/plain", "line\nline"),
		"/json": says("application/json", `{"a":1}`),
		"/feed": says("application/atom+xml", `<feed/>`),
		"/none": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			w.Write([]byte("plain"))
		},
		"/big":   says("text/plain", big),
		"/latin": says("text/plain", "caf\xe9"),
		"/gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write([]byte(big))
			z.Close()
		},
	})
	tests := map[string]struct {
		path, kind, want string
		max              int
	}{
		"html":          {"/page", "text/html", "A page\nHead\nOne bold word & more\nnext\na\nb\n1 2\n", 0},
		"text":          {"/text", "text/plain", "line\nline", 0},
		"json":          {"/json", "application/json", `{"a":1}`, 0},
		"xml":           {"/feed", "application/atom+xml", `<feed/>`, 0},
		"unnamed":       {"/none", "text/plain", "plain", 0},
		"other letters": {"/latin", "text/plain", "caf\uFFFD", 0},
		"too much":      {"/big", "text/plain", big[:2<<20] + "\n[cut here]", 0},
		"gzipped bomb":  {"/gzip", "text/plain", big[:2<<20] + "\n[cut here]", 0},
		"some of it":    {"/text", "text/plain", "lin\n[cut here]", 3},
		"all of it":     {"/text", "text/plain", "line\nline", 9},
	}
	b := open(t, builtin.Options{AllowPrivate: []string{"127.0.0.1"}})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := b.text(t, "fetch_url", quoted(t, map[string]any{"url": base + tt.path, "max": tt.max}))
			if want := fmt.Sprintf("%s%s\n200 OK\n%s\n\n%s", base, tt.path, tt.kind, tt.want); got != want {
				t.Errorf("got %.200q of %d bytes, want %.200q of %d", got, len(got), want, len(want))
			}
		})
	}
}

// Pages say in what letters they are, and their servers say all kinds of things.
func TestFetchOfOtherLetters(t *testing.T) {
	tests := map[string]struct{ kind, body, want string }{
		"by the type":         {"text/plain; charset=ISO-8859-1", "caf\xe9", "café"},
		"by a page":           {"text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2", "Привет\n"},
		"Japanese":            {"text/html; charset=Shift_JIS", "<p>\x93\xfa\x96{", "日本\n"},
		"in seven bits":       {"text/html", "<meta charset=iso-2022-jp><p>\x1b$BF|K\\\x1b(B", "日本\n"},
		"by its beginning":    {"text/plain", "\xff\xfeh\x00\xe9\x00", "hé"},
		"a mark":              {"text/plain", "\xef\xbb\xbfhé", "hé"},
		"a page does not say": {"text/html", "<p>" + strings.Repeat("x", 2000) + "é", strings.Repeat("x", 2000) + "é\n"},
		"a page says wrong":   {"text/html", "<meta charset=iso-8859-1><p>é", "é\n"},
		"an unknown one":      {"text/plain; charset=klingon", "é", "é"},
		"half a parameter":    {"text/plain; charset", "é", "é"},
		"one twice":           {"text/plain; charset=utf-8; charset=utf-8", "é", "é"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base, _ := website(t, map[string]http.HandlerFunc{"/": says(tt.kind, tt.body)})
			b := open(t, builtin.Options{AllowPrivate: []string{"127.0.0.1"}})
			if _, got, _ := strings.Cut(b.text(t, "fetch_url", urlArgs(t, base+"/")), "\n\n"); got != tt.want {
				t.Errorf("got %.100q, want %.100q", got, tt.want)
			}
		})
	}
}

func TestFetchOfWhatIsNoPage(t *testing.T) {
	base, _ := website(t, map[string]http.HandlerFunc{
		"/image":  says("image/png", "\x89PNG"),
		"/binary": says("text/plain", "a\x00b"),
		"/odd":    says("/;", "a"),
		"/short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			w.Write([]byte("abc"))
		},
	})
	b := open(t, builtin.Options{AllowPrivate: []string{"127.0.0.0/8"}})
	b.fails(t, "fetch_url", urlArgs(t, base+"/image"), `/image": image/png, not text`)
	b.fails(t, "fetch_url", urlArgs(t, base+"/binary"), `/binary": text/plain, not text`)
	b.fails(t, "fetch_url", urlArgs(t, base+"/odd"), `/odd": content type "/;": `)
	b.fails(t, "fetch_url", urlArgs(t, base+"/short"), `/short": unexpected EOF`)
	result, err := b.call(t, "fetch_url", urlArgs(t, base+"/missing"))
	if want := base + "/missing\n404 Not Found\ntext/plain\n\n404 page not found\n"; err != nil || !result.Failed || result.Text != want {
		t.Errorf("got %q, failed %v, %v, want %q", result.Text, result.Failed, err, want)
	}
}

func TestFetchRefusesAddresses(t *testing.T) {
	base, requests := website(t, nil)
	port := base[strings.LastIndexByte(base, ':'):]
	const private, improper = "is not public, and not allowed", "is no proper address"
	tests := map[string]string{
		"http://127.0.0.1" + port:                   private,
		"http://127.0.0.1" + port + "/?q#f":         private,
		"http://127.1.2.3" + port:                   private,
		"http://0.0.0.0" + port:                     private,
		"http://10.0.0.1/":                          private,
		"http://100.64.0.1/":                        private,
		"http://169.254.169.254/latest/":            private,
		"http://172.16.0.1/":                        private,
		"http://192.168.1.1:8080/":                  private,
		"https://192.168.1.1/":                      private,
		"http://224.0.0.1/":                         private,
		"http://255.255.255.255/":                   private,
		"http://[::ffff:127.0.0.1]" + port:          private,
		"http://[::ffff:7f00:1]" + port:             private,
		"http://localhost" + port:                   private,
		"http://LOCALHOST" + port:                   private,
		"http://localhost." + port:                  "",
		"http://\uff11\uff12\uff17.0.0.1" + port:    "",
		"http://127\u3002\u0030.0.1" + port:         "",
		"http://2130706433" + port:                  improper,
		"http://0x7f000001" + port:                  improper,
		"http://0x7f.0.0.1" + port:                  improper,
		"http://0177.0.0.1" + port:                  improper,
		"http://0x7f.1" + port:                      improper,
		"http://127.1" + port:                       improper,
		"http://127.0.1" + port:                     improper,
		"http://127.0.0.1." + port:                  improper,
		"http://127.0.0.0x1" + port:                 improper,
		"http://127.0.0.1.256" + port:               improper,
		"http://0x" + port:                          improper,
		"http://user@127.0.0.1" + port:              "a name or password in the URL",
		"http://example.com:pw@127.0.0.1" + port:    "a name or password in the URL",
		"ftp://127.0.0.1/":                          `scheme "ftp" is neither http nor https`,
		"file:///etc/passwd":                        `scheme "file" is neither http nor https`,
		"gopher://127.0.0.1/":                       `scheme "gopher" is neither http nor https`,
		"data:text/plain,hello":                     `scheme "data" is neither http nor https`,
		"unix:///var/run/docker.sock":               `scheme "unix" is neither http nor https`,
		"//127.0.0.1" + port:                        `scheme "" is neither http nor https`,
		"127.0.0.1" + port:                          "first path segment in URL cannot contain colon",
		"http:///path":                              "no host",
		"http://":                                   "no host",
		"http://127.0.0.1%00" + port:                "invalid URL escape",
		"http://[fe80::1%25eth0]" + port:            "",
		"http://[::1]" + port:                       "",
		"http://[64:ff9b::7f00:1]" + port:           "",
		"http://[fd00:ec2::254]/latest/meta-data/":  "",
		"http://\x7f127.0.0.1" + port:               "invalid control character in URL",
		"http://127.0.0.1\\@public.example" + port:  "",
		"http://127.0.0.1:" + "99999/":              "",
		"http://no-such-host.invalid/" + "anything": `": lookup no-such-host.invalid: no such host`,
	}
	b := open(t, builtin.Options{Resolver: (&nameServer{t: t}).resolver()})
	for address, want := range tests {
		t.Run(address, func(t *testing.T) { b.fails(t, "fetch_url", urlArgs(t, address), want) })
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
}

func TestFetchRefusesNames(t *testing.T) {
	base, requests := website(t, nil)
	port := base[strings.LastIndexByte(base, ':'):]
	names := &nameServer{t: t, answers: map[string][][]string{
		"loop.test":     {{"127.0.0.1"}},
		"metadata.test": {{"169.254.169.254"}},
		"six.test":      {{"::1", "fd00::1"}},
		"many.test":     {{"10.0.0.1", "127.0.0.1", "192.168.0.1"}},
		"allowed.test":  {{"127.0.0.1"}},
	}}
	b := open(t, builtin.Options{AllowPrivate: []string{"Allowed.test."}, Resolver: names.resolver()})
	for _, name := range []string{"loop.test", "LOOP.test", "metadata.test", "many.test", "x.allowed.test", "six.test", "allowed.test.loop.test"} {
		b.fails(t, "fetch_url", urlArgs(t, "http://"+name+port), "")
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	for _, name := range []string{"allowed.test", "ALLOWED.test"} {
		if _, err := b.call(t, "fetch_url", urlArgs(t, "http://"+name+port)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFetchFollowsRedirects(t *testing.T) {
	base, _ := website(t, map[string]http.HandlerFunc{
		"/five":  http.RedirectHandler("/four", http.StatusFound).ServeHTTP,
		"/four":  http.RedirectHandler("/three", http.StatusMovedPermanently).ServeHTTP,
		"/three": http.RedirectHandler("/two", http.StatusSeeOther).ServeHTTP,
		"/two":   http.RedirectHandler("/one", http.StatusTemporaryRedirect).ServeHTTP,
		"/one":   http.RedirectHandler("/end", http.StatusPermanentRedirect).ServeHTTP,
		"/six":   http.RedirectHandler("/five", http.StatusFound).ServeHTTP,
		"/loop":  http.RedirectHandler("/loop", http.StatusFound).ServeHTTP,
		"/end":   says("text/plain", "here"),
	})
	b := open(t, builtin.Options{AllowPrivate: []string{"127.0.0.1"}})
	if got, want := b.text(t, "fetch_url", urlArgs(t, base+"/five")), base+"/end\n200 OK\ntext/plain\n\nhere"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.fails(t, "fetch_url", urlArgs(t, base+"/six"), `/six": more than 5 redirects`)
	b.fails(t, "fetch_url", urlArgs(t, base+"/loop"), `/loop": more than 5 redirects`)
}

func TestFetchChecksRedirects(t *testing.T) {
	other, otherRequests := website(t, nil)
	port := other[strings.LastIndexByte(other, ':'):]
	tests := map[string]string{
		"http://loop.test" + port:       "address 127.0.0.2 is not public",
		"http://meta.test/":             "address 169.254.169.254 is not public",
		"//inside.test/":                "address 10.0.0.1 is not public",
		"http://six.test/":              "127.0.0.2 is not public",
		"http://2130706433" + port:      "is no proper address",
		"http://me:pw@127.0.0.1" + port: "a name or password in the URL",
		"file:///etc/passwd":            `scheme "file" is neither http nor https`,
		"javascript:alert(1)":           `scheme "javascript" is neither http nor https`,
	}
	base, _ := website(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", r.URL.Query().Get("to"))
			w.WriteHeader(http.StatusFound)
		},
	})
	names := &nameServer{t: t, answers: map[string][][]string{
		"loop.test": {{"127.0.0.2"}}, "meta.test": {{"169.254.169.254"}}, "inside.test": {{"10.0.0.1"}}, "six.test": {{"::ffff:127.0.0.2"}},
	}}
	b := open(t, builtin.Options{
		AllowHosts:   []string{"loop.test" + port, "meta.test", "inside.test", "six.test"},
		AllowPrivate: []string{"127.0.0.1"}, Resolver: names.resolver(),
	})
	for target, want := range tests {
		t.Run(target, func(t *testing.T) {
			b.fails(t, "fetch_url", urlArgs(t, base+"/?to="+url.QueryEscape(target)), want)
		})
	}
	if n := otherRequests.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
}

// The name leads to an allowed address when it is asked for first, and to
// another one at the redirect to itself.
func TestFetchChecksNamesThatChange(t *testing.T) {
	base, requests := website(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) },
	})
	port := base[strings.LastIndexByte(base, ':'):]
	names := &nameServer{t: t, answers: map[string][][]string{"rebind.test": {{"127.0.0.1"}, {"127.0.0.2"}}}}
	b := open(t, builtin.Options{AllowPrivate: []string{"127.0.0.1/32"}, Resolver: names.resolver()})
	b.fails(t, "fetch_url", urlArgs(t, "http://rebind.test"+port+"/"), "address 127.0.0.2 is not public, and not allowed")
	if n := requests.Load(); n != 1 {
		t.Errorf("got %d requests, want 1", n)
	}
}

func TestFetchGoesByNoProxyAndKeepsNothing(t *testing.T) {
	var cookies, proxied atomic.Int32
	base, _ := website(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		cookies.Add(int32(len(r.Cookies())))
		if r.URL.IsAbs() {
			proxied.Add(1)
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		w.Header().Set("Content-Type", "text/plain")
	}})
	t.Setenv("HTTP_PROXY", base)
	t.Setenv("ALL_PROXY", base)
	names := &nameServer{t: t, answers: map[string][][]string{"site.test": {{"127.0.0.1"}}, "away.test": {{"10.0.0.1"}}}}
	b := open(t, builtin.Options{AllowPrivate: []string{"127.0.0.1"}, Resolver: names.resolver()})
	site := strings.Replace(base, "127.0.0.1", "site.test", 1)
	for range 2 {
		b.text(t, "fetch_url", urlArgs(t, site+"/"))
	}
	b.fails(t, "fetch_url", urlArgs(t, "http://away.test/"), "address 10.0.0.1 is not public")
	if c, p := cookies.Load(), proxied.Load(); c != 0 || p != 0 {
		t.Errorf("got %d cookies, %d by proxy", c, p)
	}
}

func TestFetchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	base, _ := website(t, map[string]http.HandlerFunc{
		"/never": func(_ http.ResponseWriter, r *http.Request) {
			cancel(errors.New("asked to stop"))
			<-r.Context().Done()
		},
	})
	b := open(t, builtin.Options{AllowPrivate: []string{"127.0.0.1"}})
	_, err := b.tools["fetch_url"].Run(ctx, tools.Call{Args: json.RawMessage(urlArgs(t, base+"/never"))})
	if err == nil || !strings.HasSuffix(err.Error(), "/never\": asked to stop") {
		t.Errorf("got error %v", err)
	}
}

func TestFetchWaitsForNobodyForEver(t *testing.T) {
	b := open(t, builtin.Options{Resolver: &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}})
	if got := b.tools["fetch_url"].Timeout; got <= 30*time.Second || got > time.Minute {
		t.Errorf("its own limit of 30s is to come first: got %v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		b.fails(t, "fetch_url", urlArgs(t, "http://silent.test/"), "i/o timeout")
	})
}
