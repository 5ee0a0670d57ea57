package host

import (
	"context"
	"iter"
	"time"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/config"
	"agenthost/doors"
	"agenthost/internal/build"
	"agenthost/internal/control"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/session"
	"agenthost/tools"
	"agenthost/tools/mcp"
)

// An assembly is a host with all its parts, on NATS. Making one starts nothing.
type assembly struct {
	*Host
	bus     *bus.Bus
	builder *build.Builder
	shared  *engine.Parts
	fleet   *engine.Fleet
	wakers  *wakers
	parts   []part
	desks   []*doors.Desk // of the doors that are in this host, among them natsDesk

	natsDesk *doors.Desk
}

// flushWithin bounds how long a stopping host waits for the bus to take what is
// left to publish.
const flushWithin = 5 * time.Second

// assemble builds the parts of the configuration.
func (h *Host) assemble(b *bus.Bus) (*assembly, error) {
	publisher, err := publishing.New(b.NC, h.log)
	if err != nil {
		return nil, err
	}
	publisher.SignWith(h.signer)
	cfg := h.opt.Config
	h.identities.Set(cfg.Identities)
	builder := build.New(cfg, build.Options{
		Load: h.opt.again(), Version: h.opt.Version,
		Behaviors: h.opt.Behaviors, Tools: h.opt.ownTools(), Providers: h.opt.Providers,
		NC: b.NC, JS: b.JS, Ask: h.askPerson, Introduce: h.introduce, Observe: h.observe, Chats: h.identities.Chats, Log: h.log,
	})
	remote := build.NewRemoteHooks(b.NC, filestore.New(b.JS), h.log)
	if err := h.opt.addHooks(remote.Registry); err != nil {
		return nil, err
	}
	if err := remote.Change(cfg.Hooks); err != nil {
		return nil, err
	}
	now, err := builder.Build(cfg, nil)
	if err != nil {
		return nil, err
	}
	now.Tools.Use()
	h.now.Store(now)
	h.posts.Store(publisher)
	reader := records.NewReader(b.JS)
	wakers := h.newWakers(b, publisher, reader, cfg)
	shared := h.share(b, publisher, reader, remote, wakers)
	a := &assembly{Host: h, bus: b, builder: builder, shared: shared, wakers: wakers, fleet: newFleet(b, shared, now)}
	h.fleet.Store(a.fleet)
	h.metrics.Gates(h.gates)
	h.metrics.Suspects(a.fleet.Suspects)
	h.metrics.Open(a.fleet.OpenApprovals, a.fleet.OpenQuestions)
	h.metrics.Lanes(a.fleet.LaneLags)
	h.metrics.OldestWaiting(a.fleet.OldestWaiting)
	h.metrics.Channels(h.accountStatus)
	h.metrics.DeadLetters(h.configured)
	a.parts = a.table(remote)
	return a, nil
}

// share is what the agents of the host have in common.
func (h *Host) share(b *bus.Bus, publisher *publishing.Publisher, reader *records.Reader, remote *build.RemoteHooks, w *wakers) *engine.Parts {
	files := filestore.New(b.JS)
	opt := engine.Options{
		Host: h.opt.Name, Weight: h.opt.Weight, NC: b.NC, JS: b.JS, Publisher: publisher, Reader: reader, Files: files, Hooks: remote.Registry,
		Log: h.log, Peers: &engine.Peers{}, Identities: &h.identities,
		Store:   &session.Store{Publisher: publisher, Reader: reader, Files: files, Log: h.log, Committed: h.committed(publisher)},
		Nearest: config.Nearest, Served: func(ctx context.Context) (engine.Served, error) { return control.ServedBy(ctx, b.NC) },
		Beat: w.decide, Now: w.now, OnHeartbeat: h.opt.OnHeartbeat, Remind: h.remind,
		Counter: counts{h},
	}
	if h.traces != nil {
		opt.Trace = h.traces.Begin
	}
	parts := engine.NewParts(opt)
	parts.Peers.Set(build.Peers(h.opt.Config))
	return parts
}

func newFleet(b *bus.Bus, shared *engine.Parts, now *build.Setup) *engine.Fleet {
	runtimes := make([]*engine.Runtime, len(now.Agents))
	for i, a := range now.Agents {
		runtimes[i] = engine.New(a.Config, now.Kits[a.ID], shared)
	}
	return engine.NewFleet(b.JS, shared, delivery.LaneCount(now.Config.NATS.Lanes), runtimes)
}

// observe counts an attempt at a model.
func (h *Host) observe(agent string, at llm.Attempt) {
	h.descriptors.note(at)
	h.metrics.Attempt(agent, at)
}

// counts count what agents do.
type counts struct{ *Host }

func (c counts) InboundMessage(agent, channel string) { c.metrics.InboundMessage(agent, channel) }

func (c counts) RunEnded(agent, outcome string) { c.metrics.RunEnded(agent, outcome) }

func (c counts) OutboundMessage(agent, channel, kind string) {
	c.metrics.OutboundMessage(agent, channel, kind)
}

// DeadLetter counts those of agents that are not configured as one: their names are without bound.
func (c counts) DeadLetter(agent string) {
	if fleet := c.fleet.Load(); fleet == nil || fleet.Runtime(agent) == nil {
		agent = engine.Unbound
	}
	c.metrics.DeadLetter(agent)
}

// configured are the ids of the agents that are configured at this moment.
func (h *Host) configured() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, a := range h.now.Load().Config.Agents {
			if !yield(a.ID) {
				return
			}
		}
	}
}

// remind does what the chat command /remind says.
func (h *Host) remind(ctx context.Context, book texts.Book, id, by string, chat bus.Origin, text string) string {
	return h.now.Load().Tools.Remind(ctx, book, id, by, chat, text)
}

// askPerson asks the person behind a tool call what an MCP server wants to know.
func (h *Host) askPerson(ctx context.Context, q mcp.Question) (string, error) {
	fleet := h.fleet.Load()
	if fleet == nil {
		return "", engine.ErrNoPerson
	}
	return fleet.Ask(ctx, q.Call, q.Prompt, q.Options)
}

// introduce is what an MCP server says, in the language of the chat that is asked.
func (h *Host) introduce(call tools.Call, server, message string) string {
	book := texts.Book{}
	if fleet := h.fleet.Load(); fleet != nil {
		book = fleet.Texts(call)
	}
	return book.Say("mcp_asks", "server", server, "question", message)
}
