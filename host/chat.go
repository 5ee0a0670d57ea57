package host

import (
	"context"
	"net/http"
	"slices"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/plugins/web"
)

// chats reports whether the chat page is served.
func (h *Host) chats() bool {
	if page := h.chat.Load(); page != nil {
		return page.Served()
	}
	return h.opt.Config.Plugins.Web != nil
}

// chatPage serves the chat page once the host has NATS.
func (h *Host) chatPage() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := h.chat.Load()
		switch {
		case !h.chats():
			answer(w, http.StatusNotFound, map[string]any{"error": "this host has no chat page; add plugins: {web: {}} to its configuration, and web to the channels of an agent"})
			return
		case page == nil:
			w.Header().Set("Retry-After", "2")
			answer(w, http.StatusServiceUnavailable, map[string]any{"error": "the host is " + *h.state.Load() + "; try again"})
			return
		}
		page.Handler().ServeHTTP(w, r)
	})
}

// openChat makes the chat page, and returns what it runs.
func (h *Host) openChat(b *bus.Bus) (run func(context.Context) error) {
	page := web.New(h.opt.Config.Plugins.Web, web.Parts{
		Client: client.New(b.NC, b.JS, client.Options{}), Auth: h.httpAuth, Agents: h.chatAgents, Session: h.identities.Session, Log: h.log,
	})
	h.chat.Store(page)
	return page.Run
}

// chatAgents are those that are bound to the chat page.
func (h *Host) chatAgents() []web.Agent {
	list := []web.Agent{}
	for _, a := range h.now.Load().Config.Agents {
		bound := func(b agents.Binding) bool { return b.Channel == "web" && b.Instance == "" }
		if a.ShadowOf == "" && slices.ContainsFunc(a.Channels, bound) {
			list = append(list, web.Agent{ID: a.ID, Description: a.Description})
		}
	}
	return list
}

// sayPages prints the addresses of the pages on the terminal that started the host.
func (h *Host) sayPages() {
	address := h.httpAddress()
	if address == "" {
		return
	}
	switch {
	case h.chats():
		h.log.Info().Msg("chat: http://" + address + "/chat")
	case len(h.chatAgents()) > 0: // another program may be that channel
		h.log.Info().Msg("chat: no page; agents have the channel web, and plugins has no web: {}")
	}
	h.log.Info().Msg("console: http://" + address + "/")
}
