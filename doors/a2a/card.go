package a2a

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"agenthost/doors"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

// onlyCard is the card of the agent, where there is one.
func (d *door) onlyCard(w http.ResponseWriter, r *http.Request) {
	list := d.parts.Agents()
	if len(list) != 1 {
		refuse(w, http.StatusNotFound, "there is not one agent here; ask for the card of one of them at "+root+"AGENT"+card)
		return
	}
	d.write(w, r, list[0])
}

// card is the card of an agent.
func (d *door) card(w http.ResponseWriter, r *http.Request) {
	list := d.parts.Agents()
	i := slices.IndexFunc(list, func(a doors.Agent) bool { return a.ID == r.PathValue("agent") })
	if i < 0 {
		refuse(w, http.StatusNotFound, noAgent)
		return
	}
	d.write(w, r, list[i])
}

func (d *door) write(w http.ResponseWriter, r *http.Request, a doors.Agent) {
	w.Header().Set("Access-Control-Allow-Origin", "*") // it is for all
	answer(w, http.StatusOK, d.cardOf(a, base(r)))
}

func (d *door) cardOf(a doors.Agent, base string) *proto.AgentCard {
	about := cmp.Or(a.Description, a.ID+", an agent")
	c := &proto.AgentCard{
		Name: a.ID, Description: about, Version: cmp.Or(d.parts.Version, "0.0.0"),
		SupportedInterfaces: []*proto.AgentInterface{proto.NewAgentInterface(base+root+a.ID, proto.TransportProtocolJSONRPC)},
		Capabilities:        proto.AgentCapabilities{Streaming: true},
		DefaultInputModes:   []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []proto.AgentSkill{{ID: a.ID, Name: a.ID, Description: about, Tags: []string{"agent"}}},
	}
	if !d.parts.Auth.Open() {
		c.SecuritySchemes = proto.NamedSecuritySchemes{"bearer": proto.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		c.SecurityRequirements = proto.SecurityRequirementsOptions{{"bearer": {}}}
	}
	return c
}

var (
	hostName = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]{1,255}$`)
	prefixes = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)
)

// base is where the client has found this host: before it may stand a proxy.
func base(r *http.Request) string {
	scheme, host, prefix := "http", r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if said := forwarded(r, "Proto"); said == "http" || said == "https" {
		scheme = said
	}
	if said := forwarded(r, "Host"); hostName.MatchString(said) {
		host = said
	}
	if said := strings.TrimSuffix(forwarded(r, "Prefix"), "/"); prefixes.MatchString(said) {
		prefix = said
	}
	return scheme + "://" + host + prefix
}

// forwarded is what the first proxy has been asked.
func forwarded(r *http.Request, what string) string {
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-"+what), ",")
	return strings.TrimSpace(first)
}
