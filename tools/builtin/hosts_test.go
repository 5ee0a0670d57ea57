package builtin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agenthost/tools"
	"agenthost/tools/builtin"
)

func TestFetchAsksUnlessItsHostIsAllowed(t *testing.T) {
	allowed := builtin.Options{AllowHosts: []string{"docs.test", "Wiki.Test.", "api.test:8443", "192.0.2.1", "[2001:db8::1]:8080"}}
	tests := map[string]struct {
		address string
		want    tools.Verdict
		key     string
	}{
		"a page":                      {"https://docs.test/any/page?with=query", tools.Allow, "fetch_url:docs.test:443"},
		"without TLS":                 {"http://docs.test/", tools.Allow, "fetch_url:docs.test:80"},
		"with the usual port":         {"https://docs.test:443/", tools.Allow, "fetch_url:docs.test:443"},
		"in capitals":                 {"HTTPS://DOCS.test", tools.Allow, "fetch_url:docs.test:443"},
		"with the dot of the root":    {"https://docs.test./", tools.Allow, "fetch_url:docs.test:443"},
		"written in another way":      {"https://wiki.test/", tools.Allow, "fetch_url:wiki.test:443"},
		"with its port":               {"https://api.test:8443/", tools.Allow, "fetch_url:api.test:8443"},
		"an address":                  {"http://192.0.2.1/", tools.Allow, "fetch_url:192.0.2.1:80"},
		"an address of version 6":     {"http://[2001:db8::1]:8080/", tools.Allow, "fetch_url:[2001:db8::1]:8080"},
		"another host":                {"https://evil.test/?secret", tools.Ask, "fetch_url:evil.test:443"},
		"a host below":                {"https://secret.docs.test/", tools.Ask, "fetch_url:secret.docs.test:443"},
		"a host that ends so":         {"https://evildocs.test/", tools.Ask, "fetch_url:evildocs.test:443"},
		"a host that begins so":       {"https://docs.test.evil.test/", tools.Ask, "fetch_url:docs.test.evil.test:443"},
		"another port":                {"https://docs.test:8443/", tools.Ask, "fetch_url:docs.test:8443"},
		"the usual port of another":   {"https://api.test/", tools.Ask, "fetch_url:api.test:443"},
		"the host as a user":          {"https://docs.test@evil.test/", tools.Ask, "fetch_url=https://docs.test@evil.test/"},
		"the host as a password":      {"https://docs.test:443@evil.test/", tools.Ask, "fetch_url=https://docs.test:443@evil.test/"},
		"a user":                      {"https://secret@docs.test/", tools.Ask, "fetch_url=https://secret@docs.test/"},
		"a backslash":                 {`https://docs.test\@evil.test/`, tools.Ask, `fetch_url=https://docs.test\@evil.test/`},
		"the host in a fragment":      {"https://evil.test/#@docs.test/", tools.Ask, "fetch_url:evil.test:443"},
		"the host in a query":         {"https://evil.test?@docs.test/", tools.Ask, "fetch_url:evil.test:443"},
		"a letter that looks alike":   {"https://d\u043ecs.test/", tools.Ask, "fetch_url:xn--dcs-sed.test:443"},
		"a letter that becomes it":    {"https://wi\u212Ai.test/", tools.Ask, "fetch_url:wiki.test:443"},
		"a wide letter":               {"https://\uff44ocs.test/", tools.Ask, "fetch_url:docs.test:443"},
		"a wide dot":                  {"https://docs\u3002test/", tools.Ask, "fetch_url:docs.test:443"},
		"another scheme":              {"ftp://docs.test/", tools.Ask, "fetch_url=ftp://docs.test/"},
		"a number":                    {"http://3221225985/", tools.Ask, "fetch_url=http://3221225985/"},
		"an address in disguise":      {"http://0300.0.2.1/", tools.Ask, "fetch_url=http://0300.0.2.1/"},
		"nothing that can be read":    {"https://docs.test/%zz\x00", tools.Ask, "fetch_url=https://docs.test/%zz\x00"},
		"an address without its host": {"https:///docs.test", tools.Ask, "fetch_url=https:///docs.test"},
	}
	fetch := open(t, allowed).tools["fetch_url"]
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			args := []byte(urlArgs(t, tt.address))
			d := tools.Policy{}.Decide(fetch, args, nil)
			if d.Verdict != tt.want || d.Verdict == tools.Ask && d.Address != tt.address {
				t.Errorf("got %s unless %q is written (%s), want %s", d.Verdict, d.Address, d.Reason, tt.want)
			}
			if got := tools.Key(fetch, args); got != tt.key {
				t.Errorf("an approval is remembered by %q, want %q", got, tt.key)
			}
		})
	}
}

// Letters may look like those of another host. Which one is meant is seen in the name that is
// dialled.
func TestApprovalOfFetchShowsTheHostThatIsDialled(t *testing.T) {
	t.Parallel()
	fetch := open(t, builtin.Options{}).tools["fetch_url"]
	for address, want := range map[string]string{
		"https://google.com/a?b=ö#c":                 "https://google.com/a?b=ö#c",
		"https://g\u043e\u043egle.com/":              "https://xn--ggle-55da.com/",
		"https://g%D0%BE%D0%BEgle.com/":              "https://xn--ggle-55da.com/",
		"https://GR\u00d6SSE.test:8443/größe?q=ö#/@": "https://xn--grsse-kua.test:8443/größe?q=ö#/@",
		"https://goog\uff4ce.com":                    "https://google.com",
		"https://google\u3002com/":                   "https://google.com/",
		"https://google.com@g\u043e.test/x@y":        "https://google.com@xn--g-1tb.test/x@y",
		"https://google.com\u2215a.test/":            "https://google.xn--coma-id9a.test/",
		"https://\u0301google.com/":                  "https://%CC%81google.com/",
	} {
		p := fetch.Preview(t.Context(), tools.Call{Args: []byte(urlArgs(t, address))})
		if got := p.Values["address"]; got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func TestFetchAsksTheHostThatIsShown(t *testing.T) {
	t.Parallel()
	hosts := make(chan string, 1)
	base, _ := website(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		hosts <- r.Host
		w.Header().Set("Content-Type", "text/plain")
	}})
	names := &nameServer{t: t, answers: map[string][][]string{"xn--g-1tb.test": {{"127.0.0.1"}}, "xn--mae-6ka.test": {{"127.0.0.1"}}}}
	b := open(t, builtin.Options{AllowPrivate: []string{"127.0.0.1"}, Resolver: names.resolver()})
	for _, host := range []string{"g\u043e.test", "G\u041e.test", "g\u043e\u3002test", "ma\u00dfe.test"} {
		args := urlArgs(t, strings.Replace(base, "127.0.0.1", host, 1))
		b.text(t, "fetch_url", args)
		shown := b.tools["fetch_url"].Preview(t.Context(), tools.Call{Args: []byte(args)}).Values["address"]
		if got := "http://" + <-hosts; got != shown {
			t.Errorf("%s: %s was asked, %s is shown", host, got, shown)
		}
	}
	b.fails(t, "fetch_url", urlArgs(t, "http://\u0301google.com/"), "is no name that can be looked up")
}

func TestPermissionForFetchCountsBeforeHosts(t *testing.T) {
	fetch := open(t, builtin.Options{AllowHosts: []string{"docs.test"}}).tools["fetch_url"]
	for _, verdict := range []tools.Verdict{tools.Allow, tools.Ask, tools.Deny} {
		policy, err := tools.NewPolicy(map[string]string{"fetch_url": string(verdict)})
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{"https://docs.test/", "https://other.test/"} {
			if d := policy.Decide(fetch, []byte(urlArgs(t, address)), nil); d.Verdict != verdict || d.Address != "" {
				t.Errorf("%s: got %s unless %q is written, want %s", address, d.Verdict, d.Address, verdict)
			}
		}
	}
}

func TestFetchDoesNotFollowRedirectsToOtherHosts(t *testing.T) {
	other, requests := website(t, map[string]http.HandlerFunc{"/": says("text/plain", "there")})
	base, _ := website(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		},
	})
	leads := urlArgs(t, base+"/?to="+url.QueryEscape(other+"/?secret"))
	b := open(t, builtin.Options{AllowHosts: []string{strings.TrimPrefix(base, "http://")}, AllowPrivate: []string{"127.0.0.1"}})
	b.fails(t, "fetch_url", leads, "it redirects to "+other+"/?secret, which is another host; call fetch_url with that address if it is wanted")
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	b = open(t, builtin.Options{AllowHosts: []string{strings.TrimPrefix(other, "http://")}, AllowPrivate: []string{"127.0.0.1"}})
	if got := b.text(t, "fetch_url", leads); !strings.HasSuffix(got, "there") {
		t.Errorf("got %q from a host that is allowed", got)
	}
}

// An address of allow_hosts is reached, at its port, though it is not public.
func TestFetchOfAnAllowedAddress(t *testing.T) {
	base, _ := website(t, map[string]http.HandlerFunc{"/": says("text/plain", "here")})
	_, port, _ := strings.Cut(strings.TrimPrefix(base, "http://"), ":")
	b := open(t, builtin.Options{AllowHosts: []string{"127.0.0.1:" + port}})
	if got := b.text(t, "fetch_url", urlArgs(t, base+"/")); !strings.HasSuffix(got, "here") {
		t.Errorf("got %q", got)
	}
	const refused = "address 127.0.0.1 is not public, and not allowed; fetch.allow_private"
	b.fails(t, "fetch_url", urlArgs(t, "http://127.0.0.1:1/"), refused)
	b.fails(t, "fetch_url", urlArgs(t, "http://localhost:"+port+"/"), "is not public")
	b = open(t, builtin.Options{AllowHosts: []string{"localhost:" + port}})
	if got := b.text(t, "fetch_url", urlArgs(t, "http://localhost:"+port+"/")); !strings.HasSuffix(got, "here") {
		t.Errorf("got %q", got)
	}
	b.fails(t, "fetch_url", urlArgs(t, base+"/"), refused)
	names := &nameServer{t: t, answers: map[string][][]string{"wiki.test": {{"127.0.0.1"}}}}
	b = open(t, builtin.Options{AllowHosts: []string{"wiki.test:" + port}, Resolver: names.resolver()})
	b.fails(t, "fetch_url", urlArgs(t, "http://wiki.test:"+port+"/"), refused)
}

func TestAllowedHostsThatMeanNothing(t *testing.T) {
	for _, entry := range []string{"", "*.test", "https://docs.test", "docs.test/x", "me@docs.test", "docs.test:", ":443", "10.0.0.0/8", "2130706433", "d\u043ecs.test", "a b"} {
		_, err := builtin.New(builtin.Options{AllowHosts: []string{"docs.test", entry}})
		if err == nil || !strings.HasPrefix(err.Error(), "fetch.allow_hosts: ") {
			t.Errorf("%q: got %v", entry, err)
		}
	}
}
