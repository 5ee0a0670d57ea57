package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"

	"agenthost/internal/build"
	"agenthost/llm"
)

// leastWindow is less than what any model in use has.
const leastWindow = 2048

// model checks one entry of models.
func (d *Doctor) model(name string, c llm.Config) check {
	return func(ctx context.Context, n *notes) {
		o := n.on("models", name)
		if _, err := build.Provider(c); err != nil {
			o.fail("correct models."+name, "%v", err)
			return
		}
		if c.Provider == "echo" || c.Provider == "scripted" {
			o.ok("provider %s: answers within the host, without a server or a key", c.Provider)
			return
		}
		if o.key(c) && !d.Offline {
			o.servers(ctx, c)
		}
		o.window(c)
		o.price(c)
		o.rate(c)
	}
}

// servers asks all servers of a model at once, so that one that does not answer takes no
// time from the others.
func (o note) servers(ctx context.Context, c llm.Config) {
	servers := c.Servers()
	found := make([]notes, len(servers))
	var group sync.WaitGroup
	for i, one := range servers {
		if p, err := build.Server(one); err == nil { // as above
			group.Go(func() { found[i].on(o.group, o.about).server(ctx, one, p) })
		}
	}
	group.Wait()
	for _, n := range found {
		o.to.list = append(o.to.list, n.list...)
	}
}

// server asks the server of a model which ones it has.
func (o note) server(ctx context.Context, c llm.Config, p llm.Provider) {
	names, err := namesOf(ctx, p)
	if err != nil {
		o.away(ctx, c, err)
		return
	}
	if c.APIKey == "" {
		o.ok("its server answers")
	} else {
		o.keyOf(ctx, c)
	}
	near := nearest(c.Model, names)
	switch {
	case slices.Contains(names, c.Model):
		o.ok("the server has %s", c.Model)
	case len(names) == 0:
		o.warn("load it there, if calls fail", "whether the server has %q is unknown: its list of models is empty", c.Model)
	default:
		o.fail("set model to one that it has"+near, "the server has no model %q", c.Model)
	}
}

// namesOf are the models that the server of p lists.
func namesOf(ctx context.Context, p llm.Provider) ([]string, error) {
	asked, ok := p.(interface {
		Models(ctx context.Context) ([]string, error)
	})
	if !ok {
		return nil, errors.New("this provider cannot list models")
	}
	return asked.Models(ctx)
}

// keyOf says whether a server that has listed its models has accepted the key for that:
// some list them for who has none, too.
func (o note) keyOf(ctx context.Context, c llm.Config) {
	c.APIKey = ""
	p, err := build.Provider(c)
	if err == nil {
		_, err = namesOf(ctx, p)
		if err == nil {
			o.ok("its server answers; whether it accepts the key is unknown, as it lists its models without one too")
			return
		}
		if ctx.Err() != nil {
			o.ok("its server answers; whether it accepts the key is unknown, as it has not answered without one")
			return
		}
	}
	o.ok("its server answers and accepts the key")
}

// away says why a server did not list its models.
func (o note) away(ctx context.Context, c llm.Config, err error) {
	e := llm.AsError(err)
	at := serverOf(c)
	switch {
	case ctx.Err() != nil:
		o.fail("try again; look at the network, a proxy, or that server", "%s did not answer in time", at)
	case errors.Is(err, llm.ErrForeign):
		o.fail(apiPath(ctx, c), "%s answers, but not as this API does", at)
	case e.Code == llm.CodeProviderAuth && c.APIKey == "":
		o.fail("set api_key", "%s asks for a key: %v", at, e.Err)
	case e.Code == llm.CodeProviderAuth:
		o.fail("look up the key in your account there, and what it may do", "%s refuses the key: %v", at, e.Err)
	case e.Status == http.StatusTooManyRequests:
		o.warn("wait, or look at the quota of your account", "%s says that it has had too many calls: %v", at, e.Err)
	case e.Status == http.StatusTemporaryRedirect || e.Status == http.StatusPermanentRedirect:
		o.warn("set base_url to there", "%s is elsewhere: %v", at, e.Err)
	case e.Status/100 == 3:
		o.fail("set base_url to there", "%s is elsewhere: %v", at, e.Err)
	case e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented:
		if cure := apiPath(ctx, c); cure != checkBase {
			o.fail(cure, "%s has no API at that address (%d)", at, e.Status)
			return
		}
		o.warn("look at base_url if calls fail; it mostly ends in /v1", "whether %s has %q is unknown: it has no list of models (%d)", at, c.Model, e.Status)
	case e.Status != 0:
		o.fail("wait, or look at that server", "%s answers with %d: %v", at, e.Status, e.Err)
	default:
		o.unreached(at, err)
	}
}

const checkBase = "look at base_url; it mostly ends in /v1"

// apiPath is the cure for an address that is not of the API: with /v1 where
// that is what it lacks.
func apiPath(ctx context.Context, c llm.Config) string {
	base, err := url.Parse(c.BaseURL)
	if c.Provider != "openai" || err != nil || strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/v1") {
		return checkBase
	}
	c.BaseURL = base.JoinPath("v1").String()
	if p, err := build.Provider(c); err == nil {
		if _, err = namesOf(ctx, p); err == nil || llm.AsError(err).Code == llm.CodeProviderAuth {
			return "set base_url to " + serverOf(c)
		}
	}
	return checkBase
}

// unreached says why there was no answer at all.
func (o note) unreached(at string, err error) {
	_, unknownHost := errors.AsType[*net.DNSError](err)
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	cause := err
	if u, ok := errors.AsType[*url.Error](err); ok {
		cause = u.Err
	}
	switch {
	case unknownHost:
		o.fail("look at the name in its address, and at this machine's DNS", "%s: there is no such host: %v", at, cause)
	case badCertificate:
		o.fail("have this machine trust the certificate (SSL_CERT_FILE), or use the name that it is for", "%s: its certificate is not accepted: %v", at, cause)
	case noTLS || strings.Contains(cause.Error(), "server gave HTTP response to HTTPS client"):
		o.fail("write http:// in its address", "%s does not speak TLS", at)
	case errors.Is(err, syscall.ECONNREFUSED):
		o.fail("start that server, or correct the address", "nothing answers at %s", at)
	default:
		o.fail("look at the network, a proxy, and the address", "%s cannot be reached: %v", at, cause)
	}
}

// serverOf is where a model is served, without what may be secret in it.
func serverOf(c llm.Config) string {
	u, err := url.Parse(c.BaseURL)
	if err != nil || c.BaseURL == "" {
		return "the server of " + c.Provider
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func (o note) window(c llm.Config) {
	bare := c
	bare.Window = 0
	known, _ := bare.Known()
	window := c.Window
	switch {
	case window == 0 && known.Window == 0:
		o.warn("set window to what the server gives the model", "its window is not known; a conversation is shortened only when the model refuses it")
		return
	case window == 0:
		window = known.Window
		o.ok("window of %d tokens, as is known of it", window)
	case window < leastWindow:
		o.warn("window is in tokens, say 128000", "its window is set to %d tokens, which leaves no room for a conversation", window)
	case known.Window > 0 && window > known.Window:
		o.warn(fmt.Sprintf("set window to %d, or leave it out", known.Window), "its window is set to %d tokens, and it has %d as far as is known", window, known.Window)
	default:
		o.ok("window of %d tokens, as is configured", window)
	}
	if c.MaxTokens >= window {
		o.warn("set max_tokens to less than window", "max_tokens (%d) leaves nothing of its window for the question", c.MaxTokens)
	}
}

func (o note) price(c llm.Config) {
	info, priced := c.Known()
	if !priced {
		o.ok("no price is known: its calls count as nothing; price: sets one")
		return
	}
	o.ok("$%v in, $%v out for a million tokens", info.Price.Input, info.Price.Output)
}

func (o note) rate(c llm.Config) {
	var words []string
	if c.Rate.Requests > 0 {
		words = append(words, counted(c.Rate.Requests, "call")+" a minute")
	}
	if c.Rate.Concurrency > 0 {
		words = append(words, fmt.Sprintf("%d at once", c.Rate.Concurrency))
	}
	if len(words) > 0 {
		o.ok("at most %s, by each host", strings.Join(words, ", "))
	}
}

// nearest names some of what a server has, the most alike first.
func nearest(want string, names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int { return alike(want, b) - alike(want, a) })
	if len(names) > 3 {
		names = append(names[:3:3], "…")
	}
	return ": " + strings.Join(names, ", ")
}

// alike is the length of the longest run of letters that both have.
func alike(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	longest := 0
	for i := range a {
		for longest < len(a)-i && strings.Contains(b, a[i:i+longest+1]) {
			longest++
		}
	}
	return longest
}
