//go:build interop

package web_test

import (
	"net"
	"testing"

	"agenthost/config"
	"agenthost/internal/httpauth"
	"agenthost/internal/interop"
	"agenthost/plugins/settings"
)

func TestPageInChromium(t *testing.T) {
	base, _ := serve(t)
	interop.Browse(t, "page.mjs", base)
}

func TestTextStaysTextInChromium(t *testing.T) {
	base, _ := serve(t)
	interop.Browse(t, "injection.mjs", base)
}

func TestLoginInChromium(t *testing.T) {
	base, _ := serve(t, func(c *config.Config) {
		c.HTTP.Tokens = []httpauth.Token{
			{Name: "ana", Token: "ana-secret", Role: httpauth.Chat, Agents: []string{"bob"}}, {Name: "eye", Token: "eye-secret", Role: httpauth.Read},
		}
	})
	interop.Browse(t, "login.mjs", base)
}

func TestWidgetInChromium(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	base, _ := serve(t, func(c *config.Config) {
		c.HTTP.Tokens = []httpauth.Token{{Name: "shop", Token: "shop-secret", Role: httpauth.Chat}}
		c.Plugins.Web = &settings.Web{Embed: []string{"http://localhost:" + port}}
	})
	interop.Browse(t, "widget.mjs", base, port)
}
