package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/doors"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/log"
)

const (
	root = "/a2a/"
	card = "/.well-known/agent-card.json"

	mostBody  = 16 << 20
	keepAlive = 8 * time.Second
)

// Paths are what the door serves.
var Paths = []string{root, card}

// A door serves the agents to clients of the protocol.
type door struct {
	parts doors.Parts
	files *filestore.Store
	sent  *sent
}

// New makes the door.
func New(parts doors.Parts) http.Handler {
	js := parts.Desk.Client().JetStream()
	d := &door{parts: parts, files: filestore.New(js), sent: newSent(records.NewReader(js))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+card, d.onlyCard)
	mux.HandleFunc("GET "+root+"{agent}"+card, d.card)
	mux.HandleFunc(root+"{agent}", d.call)
	mux.HandleFunc(root+"{agent}/{$}", d.call)
	return mux
}

// call answers a request in JSON-RPC.
func (d *door) call(w http.ResponseWriter, r *http.Request) {
	visit, no := d.parts.Visit(r)
	if no != nil {
		if no.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		refuse(w, no.Status, no.Why)
		return
	}
	i := slices.IndexFunc(visit.Agents, func(a doors.Agent) bool { return a.ID == r.PathValue("agent") })
	if i < 0 {
		refuse(w, http.StatusNotFound, noAgent)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "send JSON-RPC with POST; the agent's card is at "+root+visit.Agents[i].ID+card)
		return
	}
	d.serve(w, r, &handler{door: d, visit: visit, agent: visit.Agents[i]})
}

const noAgent = "there is no such agent here"

func (d *door) serve(w http.ResponseWriter, r *http.Request, h *handler) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		rpcError(w, nil, codeInvalidRequest, fmt.Sprintf("the request is larger than %d bytes", tooLarge.Limit))
		return
	}
	if err != nil {
		return // the client is gone
	}
	c, wrong := readCall(body)
	if v := strings.TrimSpace(r.Header.Get("A2A-Version")); v != "" && v != "1" && !strings.HasPrefix(v, "1.") {
		rpcError(w, c.ID, codeVersion, fmt.Sprintf("this agent speaks A2A 1.0, not %.20q", v))
		return
	}
	if now, old := renamed[c.Method]; old {
		rpcError(w, c.ID, codeNoMethod, fmt.Sprintf("%s is of A2A 0.3; this agent speaks 1.0, where it is %s", c.Method, now))
		return
	}
	if wrong != nil {
		rpcError(w, c.ID, wrong.code, wrong.why)
		return
	}
	altered := c.altersID()
	if altered {
		c.set("id", `"`+standIn+`"`)
	}
	r.Body = io.NopCloser(bytes.NewReader(c.body))
	r = r.WithContext(log.AttachLogger(r.Context(), slog.New(slog.DiscardHandler)))
	if streams[c.Method] {
		events := newBounded(w)
		defer events.end()
		w = events
	} else {
		breath := doors.Breathe(w)
		defer breath.Stop()
		w = breath
	}
	if altered {
		w = &sameID{w, c.ID}
	}
	a2asrv.NewJSONRPCHandler(h, a2asrv.WithTransportKeepAlive(keepAlive), a2asrv.WithTransportPanicHandler(h.panicked)).ServeHTTP(w, r)
}

// panicked is a bug of this host.
func (h *handler) panicked(r any) error {
	h.parts.Log.Error().Str("agent", h.agent.ID).Str("panic", fmt.Sprint(r)).Msg("A2A request: panic")
	return proto.ErrInternalError
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]string{"error": why})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
