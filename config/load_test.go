package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/plugins/settings"
	"agenthost/session"
	"agenthost/tools"
)

// write puts files into a new folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("agenthost.yaml", []byte(text))
	if err != nil {
		t.Fatalf("parse:\n%v", err)
	}
	return c
}

func TestFullExample(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "openai-key")
	t.Setenv("ANTHROPIC_API_KEY", "anthropic-key")
	t.Setenv("TG_TOKEN", "123:abc")
	got, err := config.Load("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		NATS: bus.Config{
			URL: "nats://127.0.0.1:4222", Replicas: 1, Lanes: 4,
			Embedded: bus.Embedded{Store: "testdata/data", Listen: new("127.0.0.1:4222"), Sync: "always"},
		},
		HTTP: config.HTTP{Listen: "127.0.0.1:8080"},
		Models: map[string]llm.Config{
			"main":  {Provider: "openai", Model: "gpt-5-mini", APIKey: "openai-key", Window: 128000},
			"spare": {Provider: "anthropic", Model: "claude-haiku-4-5", APIKey: "anthropic-key"},
		},
		Agents: []config.Agent{
			{
				Config: agents.Config{
					ID: "ana", Description: "Answers customers.", Instructions: "You are Ana.",
					Model: agents.Names{"main", "spare"},
					Channels: []agents.Binding{
						{Channel: "web"},
						{Channel: "telegram", Instance: "sales", Queue: session.Collect, Debounce: 2 * time.Second},
					},
					Tools:     []string{"now", "remind", "delegate", "files.*"},
					Delegates: []string{"ops"}, Accepts: []string{"*"},
					Permissions: map[string]string{"files.write": "ask", "run_command": "deny"},
					Session:     session.Config{TTL: 30 * time.Minute, Max: new(10000), Queue: session.Followup},
					Retention:   agents.Retention{Sessions: 365 * 24 * time.Hour},
					Limits: agents.Limits{
						ModelCalls: 64, Concurrency: 64, Tools: 8, RunTimeout: 10 * time.Minute,
						Budget: agents.Budget{Day: 5, Month: 80, PeerDay: 0.5, Alert: []float64{0.5, 0.8}, OnExceed: "ask"},
					},
				},
				Heartbeat: heartbeat.Config{Enabled: true, Interval: 30 * time.Second},
				Schedules: []heartbeat.Schedule{{
					Name: "morning", Spec: heartbeat.Spec{Cron: "0 8 * * 1-5", Timezone: "Europe/Paris"}, Prompt: "Say good morning.",
					To: heartbeat.Address{Channel: "telegram", Instance: "sales", Chat: "1"},
				}},
			},
			{Config: agents.Config{ID: "ops", Model: agents.Names{"spare"}}},
		},
		MCP: map[string]tools.MCPConfig{
			"files": {Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "./docs"}},
			"wiki":  {URL: "http://wiki.example/mcp"},
		},
		Services: map[string]tools.ServiceConfig{"billing": {}},
		Plugins: settings.Plugins{
			Web: &settings.Web{}, Telegram: map[string]settings.Telegram{"sales": {Token: "123:abc"}},
		},
		Hooks: []hooks.Config{{On: hooks.BeforeToolCall, Subject: "acme.audit", Priority: 10}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	c := parse(t, "models: {m: {provider: echo}}\nagents: [{id: a}]\n")
	if diff := cmp.Diff(agents.Names{"m"}, c.Agents[0].Model); diff != "" {
		t.Errorf("the only model was not taken:\n%s", diff)
	}
	if c.HTTP.Listen != config.DefaultListen || c.NATS.Embedded.Store != "data" {
		t.Errorf("got listen %q and store %q", c.HTTP.Listen, c.NATS.Embedded.Store)
	}
	c = parse(t, "http: {listen: ''}\nnats: {url: 'localhost:4222, tls://x'}\n")
	if c.HTTP.Listen != "" || c.NATS.Embedded.Store != "" {
		t.Errorf("got listen %q and store %q, want neither", c.HTTP.Listen, c.NATS.Embedded.Store)
	}
}

func TestPathsAreBelowTheFolder(t *testing.T) {
	elsewhere := filepath.Join(write(t, map[string]string{"c.pem": ""}), "c.pem")
	folder := write(t, map[string]string{
		"agenthost.yaml": "nats: {creds: a.creds, tls: {ca: tls/ca.pem, cert: " + elsewhere + ", key: k.pem}, embedded: {config: nats.conf}}\n" +
			"models: {m: {provider: scripted, script: script.yaml}}\n",
		"a.creds": "", "tls/ca.pem": "", "k.pem": "", "nats.conf": "", "script.yaml": "",
	})
	c, err := config.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.creds", "tls/ca.pem", elsewhere, "k.pem", "nats.conf", "data", "script.yaml"}
	for i := range want {
		if want[i] != elsewhere {
			want[i] = filepath.Join(folder, want[i])
		}
	}
	n := c.NATS
	got := []string{n.Creds, n.TLS.CA, n.TLS.Cert, n.TLS.Key, n.Embedded.Config, n.Embedded.Store, c.Models["m"].Script}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestAliasesAndMergeKeys(t *testing.T) {
	c := parse(t, `
models: {m: {provider: echo}}
agents:
  - &base
    id: a
    tools: &tools [now]
    session: {ttl: 1m}
  - <<: *base
    id: b
    tools: *tools
  - <<: [{description: first}, {description: second, id: x}]
    id: c
`)
	var got []string
	for _, a := range c.Agents {
		got = append(got, a.ID+" "+strings.Join(a.Tools, ",")+" "+a.Session.TTL.String()+" "+a.Description)
	}
	if diff := cmp.Diff([]string{"a now 1m0s ", "b now 1m0s ", "c  0s first"}, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}

func TestExpansion(t *testing.T) {
	folder := write(t, map[string]string{"secrets/key": "from a file\n", "mounted/token": "mounted\r\n", "cfg/.keep": ""})
	t.Setenv("AGENTHOST_SECRETS", filepath.Join(folder, "mounted"))
	t.Setenv("N", "7")
	t.Setenv("TEXT", "a: ${N}\nb: ]")
	t.Setenv("EMPTY", "")
	tests := map[string]struct{ text, want string }{
		"variable":            {"${N}", "7"},
		"inside text":         {"x${N}y${N}", "x7y7"},
		"not twice":           {"'${TEXT}'", "a: ${N}\nb: ]"},
		"plain, any text":     {"${TEXT}", "a: ${N}\nb: ]"},
		"default":             {"'${NOT_SET_HERE:-some text}'", "some text"},
		"default of an empty": {"'${EMPTY:-x}'", "x"},
		"empty default":       {"'${NOT_SET_HERE:-}'", ""},
		"empty":               {"'${EMPTY}'", ""},
		"literal":             {"'$${N} $N $$'", "${N} $N $$"},
		"file":                {"'${file:secrets/key}'", "from a file"},
		"absolute file":       {"'${file:" + folder + "/secrets/key}'", "from a file"},
		"secrets folder":      {"'${file:token}'", "mounted"},
		"in a block":          {"|\n      ${N}\n      lines", "7\nlines\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := "models: {m: {provider: echo}}\nagents:\n  - id: a\n    instructions: " + tt.text + "\n"
			c, err := config.Parse(filepath.Join(folder, "agenthost.yaml"), []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Agents[0].Instructions; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExpansionFillsTypes(t *testing.T) {
	t.Setenv("N", "3")
	t.Setenv("SPAN", "90s")
	t.Setenv("YES", "true")
	c := parse(t, `
nats:
  replicas: ${N}
models: {m: {provider: echo}}
agents:
  - id: a
    heartbeat:
      enabled: ${YES}
      interval: ${SPAN}
      prompt: about ${id}
`)
	beat := c.Agents[0].Heartbeat
	want := heartbeat.Config{Enabled: true, Interval: 90 * time.Second, Prompt: "about ${id}"}
	if diff := cmp.Diff(want, beat); diff != "" || c.NATS.Replicas != 3 {
		t.Errorf("replicas %d, heartbeat (-want +got):\n%s", c.NATS.Replicas, diff)
	}
}

// Quotes keep braces from YAML, and a number from being one only where text can be.
func TestQuotedExpansionFillsTypes(t *testing.T) {
	t.Setenv("N", "3")
	t.Setenv("SPAN", "90s")
	t.Setenv("YES", "true")
	t.Setenv("EMPTY", "")
	c := parse(t, `
nats: {replicas: "${N}", lanes: '${EMPTY}', user: "${N}"}
models: {m: {provider: openai, model: "${N}", temperature: "0.${N}"}}
agents: [{id: a, session: {max: "1${N}"}, heartbeat: {enabled: "${YES}", interval: "${SPAN}"}}]
plugins: {telegram: {sales: {token: "${N}", stream: "${YES}", max_file: "${N}MB"}}}
`)
	if c.NATS.Replicas != 3 || c.NATS.Lanes != 0 || c.NATS.User != "3" {
		t.Errorf("nats: got %+v", c.NATS)
	}
	if m := c.Models["m"]; m.Model != "3" || *m.Temperature != 0.3 {
		t.Errorf("model: got %+v", m)
	}
	if a := c.Agents[0]; !a.Heartbeat.Enabled || a.Heartbeat.Interval != 90*time.Second || *a.Session.Max != 13 {
		t.Errorf("agent: got %+v", a)
	}
	sales := settings.Telegram{Token: "3", Account: settings.Account{Stream: true, MaxFile: 3 << 20}}
	if diff := cmp.Diff(sales, c.Plugins.Telegram["sales"]); diff != "" {
		t.Errorf("telegram (-want +got):\n%s", diff)
	}
}

func TestFolder(t *testing.T) {
	folder := write(t, map[string]string{
		"agenthost.yaml":     "models: {m: {provider: echo}}\nhooks: [{on: on_error, subject: a}]\nplugins: {telegram: {one: {token: x}}}\n",
		"agents/kate.md":     "---\ndescription: Plans.\ntools: [now]\n---\n\n# Kate\nYou plan. ${NOT_SET_HERE} stays.\n",
		"agents/plain.md":    "You are plain.\n",
		"agents/bare.md":     "---\n---\nBare.\r\n",
		"agents/notes.txt":   "not read",
		"agents.d/b.yaml":    "agents: [{id: bo, delegates: [kate]}]\nmodels: {n: {provider: echo}}\n",
		"agents.d/a.yml":     "agents: [{id: al, model: n}]\nmodels:\nhooks: [{on: on_error, subject: b}]\n",
		"agents.d/.a.yaml":   "nonsense: [",
		"agents.d/c.yaml":    "plugins: {telegram: {two: {token: y}}}\nservices: {billing: }\n",
		"agents.d/README.md": "not read",
	})
	_, err := config.Load(folder)
	want := []string{ // with a second model, whoever names none has to choose
		filepath.Join(folder, "agents/bare.md") + `:1:1: agent "bare" names no model; add model: m or n`,
		filepath.Join(folder, "agents/kate.md") + `:2:1: agent "kate" names no model; add model: m or n`,
		filepath.Join(folder, "agents/plain.md") + `:1:1: agent "plain" names no model; add model: m or n`,
		filepath.Join(folder, "agents.d/b.yaml") + `:1:10: agent "bo" names no model; add model: m or n`,
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Fatalf("problems (-want +got):\n%s", diff)
	}

	if err := os.WriteFile(filepath.Join(folder, "agents.d/b.yaml"), []byte("agents: [{id: bo, delegates: [kate]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "agents.d/a.yml"), []byte("agents: [{id: al}]\nmodels:\nhooks: [{on: on_error, subject: b}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range c.Agents {
		got = append(got, a.ID+": "+a.Instructions)
	}
	wantAgents := []string{"bare: Bare.", "kate: # Kate\nYou plan. ${NOT_SET_HERE} stays.", "plain: You are plain.", "al: ", "bo: "}
	if diff := cmp.Diff(wantAgents, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if len(c.Hooks) != 2 || len(c.Plugins.Telegram) != 2 || len(c.Services) != 1 {
		t.Errorf("got hooks %v, plugins %v, services %v", c.Hooks, c.Plugins, c.Services)
	}
	if want := filepath.Join(folder, "data"); c.NATS.Embedded.Store != want {
		t.Errorf("got store %q, want %q", c.NATS.Embedded.Store, want)
	}
}

func TestDemo(t *testing.T) {
	demo := config.Demo()
	same := parse(t, "models: {echo: {provider: echo}}\nagents: [{id: demo, description: Says what it is told., channels: [demo, web]}]\nplugins: {web: {}}\n")
	if diff := cmp.Diff(same, demo); diff != "" {
		t.Errorf("the demo is not what a file would give (-file +demo):\n%s", diff)
	}
}

// problems returns the lines of an error of Load or Parse.
func problems(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	fileError, ok := errors.AsType[*config.FileError](err)
	if !ok {
		t.Fatalf("got an error of type %T, want *config.FileError: %v", err, err)
	}
	lines := make([]string, len(fileError.Problems))
	for i, p := range fileError.Problems {
		lines[i] = p.String()
	}
	return lines
}

// A host goes on without the hooks that there is no room for; check tells.
func TestTooManyHooks(t *testing.T) {
	one := "  - {on: before_message, subject: a}\n"
	text := "hooks:\n" + strings.Repeat(one, hooks.MaxPerName) + "  - {on: after_message, subject: a}\n"
	if c := parse(t, text); c.HookFaults != nil {
		t.Errorf("as many as there may be: %v", c.HookFaults)
	}
	want := []config.Problem{{
		File: "agenthost.yaml", Line: 131, Column: 5,
		Text: "more than 128 hooks on before_message; the host leaves out this one and those after it",
	}}
	if diff := cmp.Diff(want, parse(t, text+one+one).HookFaults); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A host quarantines the agent whose answers it cannot check; check tells.
func TestFaultyOutputSchema(t *testing.T) {
	text := `models: {m: {provider: echo}}
agents:
  - id: fine
    output_schema: {type: object, required: [sum]}
  - id: typo
    output_schema: {type: objekt}
  - id: far
    output_schema: {$ref: "https://example.org/schema"}
`
	want := []config.Problem{
		{
			File: "agenthost.yaml", Line: 6, Column: 20,
			Text: `output_schema is no JSON Schema that can be read: /type: must be one of these forms: (/type: must be array, not string) or (/type: must be one of "array", "boolean", "integer", "null", "number", "object", "string")`,
		},
		{
			File: "agenthost.yaml", Line: 8, Column: 20,
			Text: `output_schema is no JSON Schema that can be read: failing loading "https://example.org/schema": load "https://example.org/schema": a schema refers to itself only`,
		},
	}
	if diff := cmp.Diff(want, parse(t, text).SchemaFaults); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
