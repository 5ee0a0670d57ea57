package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"agenthost/agents"
	"agenthost/bus/publishing"
	"agenthost/client"
	"agenthost/internal/audit"
	"agenthost/internal/control"
	"agenthost/internal/eval"
	"agenthost/internal/httpapi"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// openAPI makes the HTTP API of the operations of a service, and returns what it runs.
func (a *assembly) openAPI(service *control.Service) (serve func(context.Context) error) {
	feed := httpapi.NewFeed(client.New(a.bus.NC, a.bus.JS, client.Options{}), a.log)
	a.api.Store(httpapi.New(httpapi.Options{
		Auth: a.httpAuth, Operations: service.Operations(), Events: feed.Handler(a.httpAuth), Version: a.opt.Version, Log: a.log,
	}))
	return feed.Run
}

// serveAPI serves the API once the host has NATS.
func (h *Host) serveAPI(w http.ResponseWriter, r *http.Request) {
	api := h.api.Load()
	if api == nil {
		httpapi.WriteError(w, http.StatusServiceUnavailable, errors.New("the host is "+*h.state.Load()+"; try again"))
		return
	}
	api.ServeHTTP(w, r)
}

// profiles are the agents of the configuration, as they are now.
func (h *Host) profiles() []control.AgentProfile {
	var list []control.AgentProfile
	for _, a := range h.now.Load().Config.Agents {
		accepts := a.Accepts
		if accepts == nil {
			accepts = agents.Selection{"*"}
		}
		p := control.AgentProfile{
			ID: a.ID, Description: a.Description, Models: listed(a.Model), Tools: listed(a.Tools), Permissions: a.Permissions,
			Delegates: listed(a.Delegates), Accepts: listed(accepts), Approvers: listed(a.Approvers), ShadowOf: a.ShadowOf, Budget: a.Limits.Budget,
			Channels: []string{},
		}
		if p.Permissions == nil {
			p.Permissions = map[string]string{}
		}
		for _, b := range a.Channels {
			p.Channels = append(p.Channels, bound(b))
		}
		list = append(list, p)
	}
	return list
}

func bound(b agents.Binding) string { return strings.TrimSuffix(b.Channel+"."+b.Instance, ".") }

// listed is list as JSON shows an empty one.
func listed[T ~[]string](list T) []string { return append([]string{}, list...) }

// chain is the models of these names, as the host asks them.
func (h *Host) chain(names []string) (*llm.Chain, error) {
	return h.now.Load().Models.Chain(names)
}

// rerun asks a model of the configuration what the runs of a log asked theirs.
func (h *Host) rerun(ctx context.Context, r eval.Rerun, facts []session.Fact) ([]eval.Comparison, error) {
	const most = 20 // what one request may cost
	var list []eval.Comparison
	enough := errors.New("enough")
	r.Admit = h.fleet.Load().Trial(r.Agent)
	err := r.Of(ctx, h.now.Load().Config, facts, func(c eval.Comparison) error {
		if list = append(list, c); len(list) == most {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	if err == nil && r.Run != "" && len(list) == 0 {
		err = fmt.Errorf("the session has no run %q that has asked a model", r.Run)
	}
	return list, err
}

// auditOf writes into the audit log what people have approved, denied and stopped, as
// the logs of sessions have it.
func (h *Host) auditOf(p *publishing.Publisher) func(string, session.Key, string, uint64, []run.Event) {
	return func(subject string, key session.Key, of string, seq uint64, events []run.Event) {
		for _, e := range audit.OfCommit(h.opt.Name, subject, string(key), of, seq, events) {
			msg, err := e.Message()
			if err != nil {
				h.log.Error().Err(err).Msg("write audit log: failed")
				continue
			}
			p.Publish(msg, func(_ uint64, _ bool, err error) {
				if err != nil {
					h.log.Error().Err(err).Str("action", e.Action).Str("by", e.By).Msg("write audit log: failed")
				}
			})
		}
	}
}
