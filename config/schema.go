package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/httpauth"
	"agenthost/internal/identity"
	"agenthost/internal/yamldoc"
	"agenthost/plugins/settings"
	"agenthost/session"
)

// Schema returns the JSON Schema of a configuration file, for editors. It is
// inferred from [Config]; where a file may hold what the type does not show, it
// says so: durations, short forms, and variables in place of numbers.
func Schema() ([]byte, error) {
	opts := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		yamldoc.DurationType:             {Type: "string", Description: "A duration with its unit, such as 30s or 10m.", Pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h|d))+$|\$\{`},
		reflect.TypeFor[session.Queue](): {Type: "string", Enum: words(queues)},
		reflect.TypeFor[settings.Bytes](): either(
			&jsonschema.Schema{Type: "integer", Minimum: new(1.0)},
			&jsonschema.Schema{Type: "string", Description: "A size, such as 20MB.", Pattern: `^[0-9]+ ?([KMG]?B)?$|\$\{`}),
		reflect.TypeFor[settings.Groups](): {Type: "string", Enum: words([]string{
			string(settings.GroupsMention), string(settings.GroupsAll), string(settings.GroupsOff),
		})},
	}}
	binding, err := jsonschema.For[agents.Binding](opts)
	if err != nil {
		return nil, fmt.Errorf("infer schema of a binding: %w", err)
	}
	opts.TypeSchemas[reflect.TypeFor[agents.Binding]()] = either(&jsonschema.Schema{Type: "string", Description: "A channel."}, binding)
	opts.TypeSchemas[reflect.TypeFor[agents.Names]()] = either(
		&jsonschema.Schema{Type: "string"},
		&jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}})
	person, err := jsonschema.For[identity.Config](opts)
	if err != nil {
		return nil, fmt.Errorf("infer schema of an identity: %w", err)
	}
	opts.TypeSchemas[reflect.TypeFor[identity.Config]()] = either(
		&jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}, person)
	s, err := jsonschema.For[Config](opts)
	if err != nil {
		return nil, fmt.Errorf("infer schema: %w", err)
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "agenthost.yaml"
	refine(s)
	allowVariables(s)
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// refine adds the words that a value is limited to.
func refine(s *jsonschema.Schema) {
	p := s.Properties
	model := p["models"].AdditionalProperties.Properties
	model["provider"].Enum = words(providers)
	model["base_url"] = either(
		&jsonschema.Schema{Type: "string"},
		&jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: new(1)})
	p["hooks"].Items.Properties["on"].Enum = words(hooks.Points())
	p["hooks"].Items.Properties["fail"].Enum = words([]string{hooks.FailOpen, hooks.FailClosed})
	webhook := p["plugins"].Properties["webhook"].AdditionalProperties.Properties
	webhook["scheme"].Enum = words([]string{settings.SchemeStandard, settings.SchemeGitHub, settings.SchemeToken})
	webhook["reply"].Enum = words([]string{settings.ReplyNone, settings.ReplyResponse, settings.ReplyCallback})
	p["http"].Properties["tokens"].Items.Properties["role"].Enum = words(httpauth.Roles())
	p["nats"].Properties["replicas"].Enum = []any{1, 3, 5}
	agent, defaults := p["agents"].Items.Properties, p["defaults"]
	agent["id"].Pattern, p["agents"].Items.Required = token.String(), []string{"id"}
	refineAgent(agent)
	refineAgent(defaults.Properties)
	defaults.Required = nil
	for _, key := range ownKeys {
		delete(defaults.Properties, key)
	}
}

func refineAgent(p map[string]*jsonschema.Schema) {
	p["permissions"].AdditionalProperties.Enum = words(permissions)
	p["doors"].Items.Enum = words(bus.Doors())
	p["notify"].Enum = words([]string{agents.NotifyApprovers})
	p["limits"].Properties["budget"].Properties["on_exceed"].Enum = words(excesses)
}

// allowVariables lets "${NAME}" stand for a number or a truth value, anywhere.
func allowVariables(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Contains([]string{"integer", "number", "boolean"}, s.Type) {
		plain := *s
		*s = *either(&plain, &jsonschema.Schema{Type: "string", Pattern: `\$\{`})
		return
	}
	for _, property := range s.Properties {
		allowVariables(property)
	}
	allowVariables(s.Items)
	allowVariables(s.AdditionalProperties)
	for _, one := range s.AnyOf {
		allowVariables(one)
	}
}

func either(a, b *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{a, b}}
}

func words[T ~string](list []T) []any {
	values := make([]any, len(list))
	for i, w := range list {
		values[i] = string(w)
	}
	return values
}
