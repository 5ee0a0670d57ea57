package service

import (
	"encoding/json"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/tools"

	"github.com/nats-io/nats.go/micro"
)

// An endpoint is what a tool is made of.
type endpoint struct {
	name     string
	subject  string
	about    string // the service's own description
	metadata map[string]string
}

// endpointsOf are those of one instance. Groups may have endpoints of one name;
// those go by their subjects.
func endpointsOf(info micro.Info) []endpoint {
	count := map[string]int{}
	for _, e := range info.Endpoints {
		count[e.Name]++
	}
	var list []endpoint
	for _, e := range info.Endpoints {
		name := e.Name
		if count[name] > 1 {
			name = e.Subject
		}
		list = append(list, endpoint{name: name, subject: e.Subject, about: info.Description, metadata: e.Metadata})
	}
	return list
}

// tool is e as a tool that cannot run yet; one without a name on an error that
// leaves it out. That it is read-only, and so needs no approval, is believed only
// of a service that the configuration trusts.
func (e endpoint) tool(service string, trust bool) (tools.Tool, error) {
	if strings.ContainsAny(e.subject, "*>") {
		return tools.Tool{}, fmt.Errorf("its subject %q is no single one", e.subject)
	}
	if !bus.Publishable(e.subject) { // anybody may say that this is where a service listens
		return tools.Tool{}, fmt.Errorf("its subject %q is not one to publish on", e.subject)
	}
	if err := tools.CheckName(e.name); err != nil { // as answers to $SRV.INFO may have them
		return tools.Tool{}, err
	}
	schema, err := e.schema()
	about := e.metadata["description"]
	if about == "" {
		about = strings.TrimSpace(fmt.Sprintf("%s of the service %s. %s", e.name, service, e.about))
	}
	readOnly := e.metadata["readonly"] == "true"
	return tools.Tool{
		Name: service + "." + e.name, Description: about, Schema: schema, Source: fmt.Sprintf("service %q", service),
		ReadOnly: readOnly && trust, Rerun: readOnly || e.metadata["rerun"] == "safe",
	}, err
}

// schema is what a model is shown. An endpoint that has none takes what it is
// given.
func (e endpoint) schema() (json.RawMessage, error) {
	text := strings.TrimSpace(e.metadata["schema"])
	if text == "" {
		return tools.AnyObject, nil
	}
	return tools.Offered(json.RawMessage(text))
}
