package doctor

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"

	"agenthost/internal/build"
	"agenthost/internal/httptransport"
	"agenthost/internal/mcpoauth"
	"agenthost/tools"
)

// toolSources checks where tools come from, but for services, which are on NATS.
func (d *Doctor) toolSources() []check {
	list := []check{func(_ context.Context, n *notes) { d.sandbox(n) }}
	for _, name := range slices.Sorted(maps.Keys(d.Config.MCP)) {
		list = append(list, d.mcp(name, d.Config.MCP[name]))
	}
	return list
}

func (d *Doctor) mcp(name string, c tools.MCPConfig) check {
	return func(ctx context.Context, n *notes) {
		o := n.on("tools", "mcp."+name)
		switch {
		case len(c.Command) > 0 && c.Env["PATH"] != "":
			o.ok("%s is looked for in a PATH of its own", c.Command[0])
		case len(c.Command) > 0:
			path, err := exec.LookPath(c.Command[0])
			if err != nil {
				o.fail("install it, or write its whole path", "%q is no program that this user can run", c.Command[0])
				return
			}
			o.ok("its program is %s", path)
		case !d.Offline:
			o.mcpServer(ctx, c, build.TokenFolder(d.Config))
		}
	}
}

// mcpServer asks a server for something that it need not have: any answer shows
// that it is there, and its status whether it lets us in.
func (o note) mcpServer(ctx context.Context, c tools.MCPConfig, tokens string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		o.fail("correct its url", "its url cannot be read")
		return
	}
	for key, value := range c.Headers {
		req.Header.Set(key, value)
	}
	req.Header.Set("Accept", "text/event-stream, application/json")
	transport := httptransport.New()
	defer transport.CloseIdleConnections()
	authorized, err := mcpoauth.NewTransport(transport, c, tokens)
	if err != nil {
		o.fail("correct its oauth", "%v", err)
		return
	}
	client := http.Client{Transport: authorized, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	at := "its server"
	if u, err := url.Parse(c.URL); err == nil {
		at = u.Scheme + "://" + u.Host + u.Path
	}
	res, err := client.Do(req)
	login := "run \"agenthost mcp login " + strings.TrimPrefix(o.about, "mcp.") + "\""
	missing, noToken := errors.AsType[*mcpoauth.Error](err)
	switch {
	case noToken:
		o.fail(login, "there is no token for %s: %v", at, missing)
		return
	case ctx.Err() != nil:
		o.fail("look at the network, or at that server", "%s did not answer in time", at)
		return
	case err != nil:
		o.unreached(at, err)
		return
	}
	defer res.Body.Close()
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		o.fail(login+", or set headers, say Authorization", "%s does not let us in (%d)", at, code)
	case code == http.StatusNotFound || code/100 == 3:
		o.fail("look at the path of its url; it mostly ends in /mcp", "%s is not the address of an MCP server (%d)", at, code)
	case code >= 500:
		o.warn("look at that server", "%s answers with %d", at, code)
	default:
		o.ok("%s answers", at)
	}
}
