package config_test

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"agenthost/config"
)

var update = flag.Bool("update", false, "rewrite what the tests compare with")

const schemaFile = "../docs/agenthost.schema.json"

func TestSchemaIsCommitted(t *testing.T) {
	got, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is old: run the test with -update (-want +got):\n%s", schemaFile, diff)
	}
}

func TestSchemaAccepts(t *testing.T) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		text string
		ok   bool
	}{
		"the full example":     {string(full), true},
		"a variable":           {"nats: {replicas: 3, lanes: '${N}'}\n", true},
		"several models":       {"agents: [{id: a, model: [a, b]}]\n", true},
		"defaults":             {"defaults: {model: m, limits: {run_timeout: 5m}}\n", true},
		"an id for all":        {"defaults: {id: a}\n", false},
		"an unknown key":       {"agents: [{id: a, modl: x}]\n", false},
		"no unit":              {"agents: [{id: a, session: {ttl: '30'}}]\n", false},
		"an unknown queue":     {"agents: [{id: a, session: {queue: x}}]\n", false},
		"an unknown point":     {"hooks: [{on: x, subject: y}]\n", false},
		"a word for a number":  {"nats: {lanes: many}\n", false},
		"a key that is needed": {"agents: [{description: x}]\n", false},
	}
	schema := resolved(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var value any
			if err := yaml.Unmarshal([]byte(tt.text), &value); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); (err == nil) != tt.ok {
				t.Errorf("got error %v, want it accepted: %t", err, tt.ok)
			}
		})
	}
}

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	data, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTagsAgree keeps the schema, which reads the json tags, true to the file,
// which is read by the yaml tags.
func TestTagsAgree(t *testing.T) {
	compareTags(t, reflect.TypeFor[config.Config]())
}

func compareTags(t *testing.T, typ reflect.Type) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		compareTags(t, typ.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(typ) {
			inYAML, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			inJSON, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if inJSON == "-" && (inYAML == "-" || f.Type.Kind() == reflect.Map) { // keys that only a program knows
				continue
			}
			if inYAML != inJSON || inYAML == "" && !f.Anonymous {
				t.Errorf("%s.%s is %q in YAML and %q in JSON", typ, f.Name, inYAML, inJSON)
			}
			compareTags(t, f.Type)
		}
	}
}
