package mcpoauth

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// largestMetadata bounds what is read of a description.
const largestMetadata = 1 << 20

// A vetting looks at what a server and those who give tokens for it say of themselves during a
// login. After the first thing that is wrong it sends no request: the login would go on by
// guesses otherwise, as with a server that says nothing.
type vetting struct {
	next     http.RoundTripper
	server   string // its url
	metadata string // where it says that its description is; empty: at the usual places

	mu    sync.Mutex
	fault error
}

// vet is what vets a login to a server that has given that answer without a token.
func vet(server string, answer *http.Response) *vetting {
	v := &vetting{next: http.DefaultTransport, server: server}
	challenges, _ := oauthex.ParseWWWAuthenticate(answer.Header.Values("WWW-Authenticate")) // the login fails by itself
	for _, c := range challenges {
		if at := c.Params["resource_metadata"]; at != "" {
			v.metadata = at
			break
		}
	}
	return v
}

// RoundTrip sends a request, unless something is wrong.
func (v *vetting) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := v.Fault(); err != nil {
		return nil, err
	}
	resp, err := v.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	first := req
	for first.Response != nil && first.Response.Request != nil { // it was redirected here
		first = first.Response.Request
	}
	check := v.checkOf(first.URL)
	if check == nil {
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, largestMetadata+1))
	_ = resp.Body.Close()
	if err == nil {
		err = check(first.URL.String(), body)
	}
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.fault = err
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// Fault is what is wrong, once it is known.
func (v *vetting) Fault() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fault
}

// checkOf is what checks the answer of an address; nil: nothing does.
func (v *vetting) checkOf(at *url.URL) func(at string, body []byte) error {
	switch {
	case at.String() == v.metadata, strings.HasPrefix(at.Path, "/.well-known/oauth-protected-resource"):
		return v.checkResource
	case strings.Contains(at.Path, "/.well-known/oauth-authorization-server"), strings.Contains(at.Path, "/.well-known/openid-configuration"):
		return checkPKCE
	}
	return nil
}

// checkResource refuses the description of another resource, as RFC 9728 has it: this server
// takes no token for that. One of the same machine that the server is a part of will do.
func (v *vetting) checkResource(at string, body []byte) error {
	said := struct {
		Resource string `json:"resource"`
	}{}
	if json.Unmarshal(body, &said) != nil || said.Resource == "" || covers(said.Resource, v.server) {
		return nil //nolint:nilerr // what cannot be read is as if it were not there
	}
	return fmt.Errorf("%s describes the resource %q, and this server is %q: set its url to that address if it is the same server, or have the server describe itself", at, said.Resource, v.server)
}

// covers reports whether a server is a resource, or a part of it.
func covers(resource, server string) bool {
	r, err := url.Parse(resource)
	if err != nil {
		return false
	}
	s, err := url.Parse(server)
	if err != nil {
		return false
	}
	below := strings.TrimRight(s.Path, "/") + "/"
	return origin(r) == origin(s) && strings.HasPrefix(below, strings.TrimRight(r.Path, "/")+"/")
}

// origin is the machine that an address is on, and its port.
func origin(u *url.URL) string {
	usual := map[string]string{"http": "80", "https": "443"}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + cmp.Or(u.Port(), usual[u.Scheme]))
}

// checkPKCE refuses an authorization server that says it has other methods than S256, which is
// the one of MCP: with plain, the address of the login has both the code and its proof.
func checkPKCE(at string, body []byte) error {
	said := struct {
		Methods []string `json:"code_challenge_methods_supported"`
	}{}
	if json.Unmarshal(body, &said) != nil || len(said.Methods) == 0 || slices.Contains(said.Methods, "S256") {
		return nil //nolint:nilerr // the same
	}
	return fmt.Errorf("%s offers PKCE by %s alone, and MCP wants S256: turn S256 on in the authorization server", at, strings.Join(said.Methods, ", "))
}
