package natsserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// anonymousUser is how the server calls a connection without the token.
const anonymousUser = "anonymous"

// Connections without the token have an account of their own, bus.ChannelAccount,
// which sees of the hosts' account what is listed here. Permissions alone would not
// do: a server answers a publish, and delivers to a consumer, on whatever subject the
// client names, with the rights of the server. In another account such a subject
// leads only to the client itself.

// consumerDoor is where the creation of consumers is checked: of a consumer that
// pushes, the client chooses a subject in the account of the stream.
const consumerDoor = "agenthost.channels."

const createConsumer = "CONSUMER.CREATE." + bus.OutboundStream

// A grant is a subject that a channel may publish on.
type grant struct {
	from, to string
	answers  server.ServiceRespType
}

func channelGrants(domain string) []grant {
	grants := []grant{
		{bus.InboundPrefix + ">", bus.InboundPrefix + ">", server.Singleton},
		{"$JS.ACK." + bus.OutboundStream + ".>", "", server.Singleton},
		{"$JS.ACK.*.*." + bus.OutboundStream + ".>", "", server.Singleton}, // with domain and account
	}
	prefixes := []string{"$JS.API."}
	if domain != "" {
		prefixes = append(prefixes, "$JS."+domain+".API.")
	}
	for _, prefix := range prefixes {
		for _, g := range []grant{
			{"INFO", "", server.Singleton},
			{"STREAM.NAMES", "", server.Singleton},
			{"STREAM.INFO." + bus.InboundStream, "", server.Singleton},
			{"STREAM.INFO." + bus.OutboundStream, "", server.Singleton},
			{"CONSUMER.INFO." + bus.OutboundStream + ".*", "", server.Singleton},
			{"CONSUMER.MSG.NEXT." + bus.OutboundStream + ".*", "", server.Streamed},
			{createConsumer, consumerDoor + createConsumer, server.Singleton},
			{createConsumer + ".>", consumerDoor + createConsumer + ".>", server.Singleton},
			{"CONSUMER.DURABLE.CREATE." + bus.OutboundStream + ".*", consumerDoor + "CONSUMER.DURABLE.CREATE." + bus.OutboundStream + ".*", server.Singleton},
		} {
			if g.to == "" {
				g.to = "$JS.API." + g.from
			}
			g.from = prefix + g.from
			grants = append(grants, g)
		}
	}
	for i, g := range grants {
		if g.to == "" {
			grants[i].to = g.from
		}
	}
	return grants
}

func channelPermissions(domain string) *server.Permissions {
	publish := []string{"$SYS.REQ.USER.INFO"}
	for _, g := range channelGrants(domain) {
		publish = append(publish, g.from)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: []string{bus.OutboundPrefix + ">", "_INBOX.>"}},
	}
}

// channelAccount returns the account of those without the token. It is called
// with the lock held.
func (a *admission) channelAccount() (*server.Account, error) {
	if a.channels != nil {
		return a.channels, nil
	}
	hosts := a.server.GlobalAccount()
	channels, _ := a.server.LookupOrRegisterAccount(bus.ChannelAccount)
	only := []*server.Account{channels}
	outbound := bus.OutboundPrefix + ">"
	if err := hosts.AddStreamExport(outbound, only); err != nil {
		return nil, fmt.Errorf("export %s: %w", outbound, err)
	}
	if err := channels.AddStreamImport(hosts, outbound, ""); err != nil {
		return nil, fmt.Errorf("import %s: %w", outbound, err)
	}
	exported := map[string]bool{}
	for _, g := range channelGrants(a.domain) {
		if !exported[g.to] {
			exported[g.to] = true
			if err := hosts.AddServiceExportWithResponse(g.to, g.answers, only); err != nil {
				return nil, fmt.Errorf("export %s: %w", g.to, err)
			}
		}
		if err := channels.AddServiceImport(hosts, g.from, g.to); err != nil {
			return nil, fmt.Errorf("import %s: %w", g.from, err)
		}
	}
	a.channels = channels
	return channels, nil
}

// createWithin bounds what JetStream may take to make a consumer.
const createWithin = 5 * time.Second

// ServeChannels makes the consumers of connections without the token, by nc,
// which is the host's own.
func (s *Server) ServeChannels(nc *nats.Conn) error {
	if !admits(s.opts) {
		return nil
	}
	_, err := nc.Subscribe(consumerDoor+">", func(m *nats.Msg) {
		_ = m.Respond(createForChannel(nc, m)) // the client may be gone
	})
	if err != nil {
		return fmt.Errorf("serve connections without the token: %w", err)
	}
	return nil
}

func createForChannel(nc *nats.Conn, m *nats.Msg) []byte {
	request, err := checkedConsumer(m.Data)
	if err != nil {
		return refuseConsumer(400, err.Error())
	}
	ctx, cancel := context.WithTimeout(context.Background(), createWithin)
	defer cancel()
	answer, err := nc.RequestWithContext(ctx, "$JS.API."+strings.TrimPrefix(m.Subject, consumerDoor), request)
	if err != nil {
		return refuseConsumer(503, err.Error())
	}
	return answer.Data
}

// checkedConsumer is a request for a consumer that a connection without the
// token may have: one that is pulled from, and new, or as it is already. It is
// written again, so that the server reads what was checked.
func checkedConsumer(data []byte) ([]byte, error) {
	var r server.CreateConsumerRequest
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	switch c := &r.Config; {
	case r.Stream != bus.OutboundStream:
		return nil, fmt.Errorf("stream %q: a connection without the token has consumers on %s only", r.Stream, bus.OutboundStream)
	case c.DeliverSubject != "" || c.DeliverGroup != "" || c.FlowControl || c.Heartbeat != 0:
		return nil, fmt.Errorf("a connection without the token pulls from consumers; log in as %s for one that pushes", bus.EmbeddedUser)
	case slices.ContainsFunc(append(c.FilterSubjects, c.FilterSubject), func(f string) bool { return f != "" && !strings.HasPrefix(f, bus.OutboundPrefix) }):
		return nil, fmt.Errorf("filter %q: want subjects of %s>", append(c.FilterSubjects, c.FilterSubject), bus.OutboundPrefix)
	case c.Direct || c.Sourcing:
		return nil, errors.New("a direct consumer is the server's own")
	}
	r.Action = server.ActionCreate
	return json.Marshal(r)
}

func refuseConsumer(code int, description string) []byte {
	data, _ := json.Marshal(server.JSApiConsumerCreateResponse{ApiResponse: server.ApiResponse{
		Type: server.JSApiConsumerCreateResponseType, Error: &server.ApiError{Code: code, Description: description},
	}})
	return data
}
