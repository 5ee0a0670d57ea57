package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"agenthost/tools"
)

const (
	maxBody      = 2 << 20
	maxRedirects = 5
	fetchTimeout = 30 * time.Second
)

// fetchTool counts as read-only: a GET is not to change anything. But its
// address can carry anything to anybody.
func fetchTool(f *fetcher) tools.Tool {
	return tools.Tool{
		Name:        "fetch_url",
		Description: "Fetches a web page or a text from a public http or https address, up to 2 MB. Of HTML only the text is returned.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["url"],"properties":{
			"url":{"type":"string","minLength":1},
			"max":{"type":"integer","minimum":1,"description":"how many bytes of the text to return; all by default"}}}`),
		ReadOnly: true,
		Outward:  f.destination,
		Rerun:    true,
		Timeout:  fetchTimeout + 5*time.Second, // its own comes first, and says more
		Preview: func(_ context.Context, call tools.Call) tools.Preview {
			return tools.Preview{Sentence: "approval_fetch", Values: map[string]string{"address": shownAddress(f.destination(call.Args).Address)}}
		},
		Run: decoded(f.fetch),
	}
}

// A fetcher gets pages. It keeps no connections and no cookies.
type fetcher struct {
	allow    allowed
	open     hosts
	resolver *net.Resolver
	client   *http.Client
}

func newFetcher(allow allowed, open hosts, resolver *net.Resolver) *fetcher {
	f := &fetcher{allow: allow, open: open, resolver: resolver}
	f.client = &http.Client{
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			if err := dialAs(req.URL); err != nil {
				return err
			}
			return f.checkRedirect(via[0].URL, req.URL)
		},
		Transport: &http.Transport{ // without Proxy: a proxy would dial what is refused here
			DialContext:            f.dial,
			DisableKeepAlives:      true,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout:    10 * time.Second,
		},
	}
	return f
}

// dial checks each address as it is dialled, after all names are resolved, so
// that no second answer of a name server and no redirect gets past it.
func (f *fetcher) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Timeout:  10 * time.Second,
		Resolver: f.resolver,
		Control: func(_, dialled string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(dialled)
			if err != nil {
				return err
			}
			if !f.allow.permits(host, at.Addr()) && !f.open.names(host, port) {
				return &privateError{at.Addr()}
			}
			return nil
		},
	}
	return d.DialContext(ctx, network, address)
}

// A privateError refuses an address.
type privateError struct{ addr netip.Addr }

func (e *privateError) Error() string {
	return fmt.Sprintf("address %s is not public, and not allowed; fetch.allow_private of the configuration names what is", e.addr)
}

// checkURL refuses what is wrong in the URL itself.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("scheme %q is neither http nor https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("no host")
	case u.User != nil:
		return errors.New("a name or password in the URL")
	case endsInNumber(u.Hostname()):
		return fmt.Errorf("host %q is no proper address", u.Hostname())
	}
	return nil
}

type fetchArgs struct {
	URL string
	Max int
}

func (f *fetcher) fetch(ctx context.Context, _ tools.Call, args fetchArgs) (tools.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("no answer within %s", fetchTimeout))
	defer cancel()
	resp, err := f.get(ctx, args.URL)
	if err != nil {
		return tools.Result{}, fmt.Errorf("fetch %q: %w", args.URL, plainest(ctx, err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return tools.Result{}, fmt.Errorf("fetch %q: %w", args.URL, plainest(ctx, err))
	}
	text, err := answerText(resp, body, args.Max)
	if err != nil {
		return tools.Result{}, fmt.Errorf("fetch %q: %w", args.URL, err)
	}
	return tools.Result{Text: text, Failed: resp.StatusCode/100 != 2}, nil
}

func (f *fetcher) get(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	if err := dialAs(req.URL); err != nil {
		return nil, err
	}
	req.Host = req.URL.Host
	req.Header.Set("User-Agent", "agenthost")
	return f.client.Do(req)
}

// plainest is the part of the error that says why, without the URL again.
func plainest(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if refused, ok := errors.AsType[*privateError](err); ok {
		return refused
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("lookup %s: %s", name.Name, name.Err) // not which server was asked
	}
	if whole, ok := errors.AsType[*url.Error](err); ok {
		return whole.Err
	}
	return err
}

// answerText is the answer for a model: what it is and from where, a blank line,
// its text.
func answerText(resp *http.Response, body []byte, limit int) (string, error) {
	kind := cmp.Or(resp.Header.Get("Content-Type"), http.DetectContentType(body))
	media, err := mediaType(kind)
	if err != nil {
		return "", fmt.Errorf("content type %q: %w", kind, err)
	}
	cut := len(body) > maxBody
	if body = body[:min(len(body), maxBody)]; textual(media) || isHTML(media) {
		body = inUTF8(body, kind, isHTML(media))
	}
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	switch {
	case isHTML(media):
		text = htmlText(text)
	case !textual(media) || binary(body):
		return "", fmt.Errorf("%s, not text", media)
	}
	if limit > 0 && len(text) > limit {
		text, cut = strings.ToValidUTF8(text[:limit], ""), true
	}
	if cut {
		text += "\n[cut here]"
	}
	return fmt.Sprintf("%s\n%s\n%s\n\n%s", resp.Request.URL, resp.Status, media, text), nil
}

// textual reports whether a media type is one that people can read.
func textual(media string) bool {
	if strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") {
		return true
	}
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/yaml", "application/toml",
		"application/x-ndjson", "application/x-yaml", "application/x-www-form-urlencoded":
		return true
	}
	return false
}
