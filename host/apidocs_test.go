package host_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/host"
	"agenthost/internal/pairing"
	"agenthost/internal/waittest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "rewrite docs/openapi.json and the operations of docs/http-api.md")

const (
	openAPIFile = "../docs/openapi.json"
	apiPage     = "../docs/http-api.md"
	apiMarker   = "<!-- What follows is written by go test ./host -run HTTPAPI -update -->\n"
)

// A described is an operation in docs/openapi.json.
type described struct {
	ID         string `json:"operationId"`
	Summary    string
	Role       string `json:"x-role"`
	Subject    string `json:"x-nats-subject"`
	Parameters []struct {
		Name, In, Description string
		Required              bool
		Schema                *jsonschema.Schema
	}
	RequestBody struct {
		Content map[string]struct{ Schema *jsonschema.Schema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema *jsonschema.Schema }
	}

	method, path string
}

func operationsOf(t testing.TB, data []byte) (list []described) {
	t.Helper()
	doc := struct {
		Paths map[string]map[string]described
	}{}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			o.method, o.path = strings.ToUpper(method), path
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b described) int { return cmp.Compare(a.path, b.path) })
	return list
}

func (o described) answer() *jsonschema.Schema {
	return o.Responses["200"].Content["application/json"].Schema
}

// examples are the requests of the page, by operation: parameters, or the body.
var examples = map[string]string{
	"me":     "",
	"agents": "", "prompt": "agent=demo", "runs": "agent=demo", "approvals-ls": "", "approvals-show": "id=$ID", "approvals-allowed": "", "status": "", "fleet": "",
	"channels": "", "models": "", "costs": "days=30&people=true", "why": "id=$RUN", "dead-ls": "limit=10", "dead-show": "dead_seq=$SEQ", "schedules-ls": "", "pauses-ls": "",
	"memory-ls": "agent=demo", "pairings-ls": "", "tokens-ls": "", "audit": "since=7d", "sessions-ls": "agent=demo&state=waiting",
	"sessions-show": "agent=demo&session=demo/dm/ana", "sessions-events": "agent=demo&session=demo/dm/ana&limit=100", "sessions-search": "text=Which",
	"sessions-replay": "agent=demo&session=demo/dm/ana",

	"send": `{"agent":"demo","text":"hello","session":"apples"}`, "play": `{"agent":"demo","messages":[{"role":"user","text":"hello"}]}`,
	"abort": `{"agent":"demo","session":"demo/dm/ana","reason":"Enough."}`, "approve": `{"id":"$ID","answer":"approve","scope":"session"}`,
	"approvals-revoke": `{"id":"$ALLOWED"}`, "breaker": `{"model":"echo","action":"reset"}`, "reload": `{}`, "drain": `{"host":"blue"}`,
	"dead-retry": `{"dead_seqs":[$SEQ]}`, "dead-purge": `{"dead_seqs":[$SEQ]}`, "schedules-cancel": `{"agent":"demo","name":"remind-4j2kq7xnab"}`,
	"memory-delete": `{"agent":"demo","id":"4j2kq7xnabcd"}`, "pairings-approve": `{"code":"$CODE"}`, "pairings-deny": `{"code":"$CODE"}`,
	"pairings-revoke": `{"person":"telegram.sales/42"}`, "tokens-add": `{"name":"wall","role":"read","expires":"30d"}`, "tokens-revoke": `{"name":"wall"}`,
	"sessions-delete": chat, "sessions-fork": chat, "sessions-takeover": chat, "sessions-handback": chat,
	"sessions-say": `{"agent":"demo","session":"demo/dm/ana","text":"Hello, this is Ana."}`,
	"pause":        `{"agent":"other","reason":"The shop moves."}`, "resume": `{"agent":"other"}`,
	"sessions-rerun": `{"agent":"demo","session":"demo/dm/ana","model":"echo"}`,
}

func (o described) curl() string {
	example, ok := examples[o.ID]
	switch {
	case !ok:
		return ""
	case o.method == http.MethodPost:
		return fmt.Sprintf(`curl -s -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '%s' "$HOST%s"`, example, o.path)
	case example != "":
		example = "?" + example
	}
	return fmt.Sprintf(`curl -s -H "Authorization: Bearer $TOKEN" "$HOST%s%s"`, o.path, example)
}

// write is what the page says of an operation.
func (o described) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s.\n\nRole `%s`", o.method, o.path, o.Summary, o.Role)
	if o.Subject != "" {
		fmt.Fprintf(b, "; over NATS `%s`", o.Subject)
	}
	b.WriteString(".\n")
	type row struct {
		name, about string
		required    bool
		schema      *jsonschema.Schema
	}
	var rows []row
	for _, p := range o.Parameters {
		rows = append(rows, row{p.Name, p.Description, p.Required, p.Schema})
	}
	if body := o.RequestBody.Content["application/json"].Schema; body != nil {
		for name, s := range body.Properties {
			rows = append(rows, row{name, s.Description, slices.Contains(body.Required, name), s})
		}
		slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.name, b.name) })
	}
	if len(rows) > 0 {
		b.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
		for _, r := range rows {
			about := r.about
			if r.required {
				about = strings.TrimSuffix("required; "+about, "; ")
			}
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", r.name, typeOf(r.schema), about)
		}
	}
	if answer := o.answer(); answer != nil {
		fmt.Fprintf(b, "\nAnswer: %s.\n", answerWords(answer))
	}
	if curl := o.curl(); curl != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", curl)
	}
}

func typeOf(s *jsonschema.Schema) string {
	types := slices.DeleteFunc(append(slices.Clone(s.Types), s.Type), func(t string) bool { return t == "" || t == "null" })
	word := strings.Join(types, " or ")
	if s.Items != nil && s.Items.Type != "" {
		word += " of " + s.Items.Type
	}
	return cmp.Or(s.Format, word, "JSON")
}

// answerWords are the fields of an answer, and those of the objects in its list.
func answerWords(s *jsonschema.Schema) string {
	if s.Items != nil {
		return "a list, each with " + fieldWords(s.Items)
	}
	words := fieldWords(s)
	for _, name := range fieldNames(s) {
		if list := s.Properties[name]; list.Items != nil && len(list.Items.Properties) > 0 {
			words += "; each of `" + name + "` has " + fieldWords(list.Items)
		}
	}
	return words
}

func fieldNames(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) > 0 {
		return s.PropertyOrder
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func fieldWords(s *jsonschema.Schema) string {
	names := fieldNames(s)
	if len(names) == 0 {
		return "JSON"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// The page and the description are what the host serves.
func TestHTTPAPIIsAsWritten(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	served := append(askAPI(t, h, "/api/openapi.json").body, '\n')
	page, err := os.ReadFile(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(page), apiMarker)
	if !found {
		t.Fatalf("%s lacks the line %s", apiPage, apiMarker)
	}
	var b strings.Builder
	b.WriteString(head + apiMarker)
	for _, o := range operationsOf(t, served) {
		o.write(&b)
	}
	if *update {
		for file, data := range map[string]string{openAPIFile: string(served), apiPage: b.String()} {
			if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	written, err := os.ReadFile(openAPIFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(written), string(served)); diff != "" {
		t.Errorf("%s is not what the host serves; if that is meant: go test ./host -run HTTPAPI -update (-written +served):\n%s", openAPIFile, diff)
	}
	if diff := gocmp.Diff(string(page), b.String()); diff != "" {
		t.Errorf("%s is not what the host serves; if that is meant: go test ./host -run HTTPAPI -update (-written +served):\n%s", apiPage, diff)
	}
}

var curlLine = regexp.MustCompile(`(?m)^curl -s -H "Authorization: Bearer \$TOKEN"(?: -H "Content-Type: application/json" -d '(.*)')? "\$HOST(.*)"$`)

// Every example of the page does what it says, and what comes back is as
// docs/openapi.json describes it.
func TestHTTPAPIExamples(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	page, err := os.ReadFile(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]described{}
	for _, o := range operationsOf(t, askAPI(t, h, "/api/openapi.json").body) {
		known[o.path] = o
	}
	ran := map[string]bool{}
	for _, m := range curlLine.FindAllStringSubmatch(string(page), -1) {
		path, _, _ := strings.Cut(m[2], "?")
		o, ok := known[path]
		if !ok || (m[1] != "") != (o.method == http.MethodPost) {
			t.Errorf("%s: no operation is asked for like that", m[0])
			continue
		}
		values := prepare(t, h, o.ID)
		a := callAPI(t, h, adminToken, o.method, values.Replace(m[2]), values.Replace(m[1]))
		ran[path] = true
		if absent := o.ID == "drain" || o.ID == "schedules-cancel" || o.ID == "memory-delete"; absent {
			if code, _ := a.why(t); a.code != http.StatusNotFound || code != "not_found" {
				t.Errorf("%s: got %d %s", o.ID, a.code, a.body)
			}
			continue
		}
		var got any
		a.into(t, &got)
		resolved, err := o.answer().Resolve(nil)
		if err == nil {
			err = resolved.Validate(got)
		}
		if err != nil {
			t.Errorf("%s: the answer is not as it is described: %v\n%s", o.ID, err, a.body)
		}
	}
	for path, o := range known {
		if !ran[path] && o.ID != "events" {
			t.Errorf("%s %s has no example", o.method, path)
		}
	}
}

const chat = `{"agent":"demo","session":"demo/dm/ana"}`

// prepare makes what an example needs, and returns what its variables stand for.
func prepare(t *testing.T, h *host.Host, operation string) *strings.Replacer {
	t.Helper()
	js := h.Bus().JS
	values := []string{}
	list, err := clientOf(h).Waiting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if operation == "approve" && len(list) > 0 {
		orderAPI(t, h, "/api/runs/abort", map[string]any{"agent": "demo", "session": "demo/dm/ana"})
		waittest.Until(t, "nothing waits", func() bool {
			list, err = clientOf(h).Waiting(t.Context())
			return err == nil && len(list) == 0
		})
	}
	if text := map[bool]string{true: "write", false: "ask"}[operation == "approve"]; len(list) == 0 {
		callAPI(t, h, adminToken, http.MethodPost, "/api/sessions/handback", chat) // else the agent is silent there
		list = []client.Waiting{asked(t, h, text)}
	}
	values = append(values, "$ID", list[0].ID, "$RUN", list[0].Run)
	switch operation {
	case "sessions-say", "sessions-handback":
		orderAPI(t, h, "/api/sessions/takeover", map[string]any{"agent": "demo", "session": "demo/dm/ana"})
	case "resume":
		orderAPI(t, h, "/api/pauses/begin", map[string]any{"agent": "other"})
	case "dead-ls", "dead-show", "dead-retry", "dead-purge":
		publishDead(t, h.Bus().NC, bus.DeadLetter{Subject: "plugin.inbound.demo", Reason: operation})
		at, letters := -1, struct{ Letters []client.DeadLetter }{}
		waittest.Until(t, "the letter is stored", func() bool {
			askAPI(t, h, "/api/dead").into(t, &letters)
			at = slices.IndexFunc(letters.Letters, func(l client.DeadLetter) bool { return l.Reason == operation }) // one that was tried again may come behind it
			return at >= 0
		})
		values = append(values, "$SEQ", fmt.Sprint(letters.Letters[at].DeadSeq))
	case "approvals-revoke":
		allowed := struct{ Allowed []client.Allowed }{}
		waittest.Until(t, "it is allowed", func() bool {
			askAPI(t, h, "/api/approvals/allowed").into(t, &allowed)
			return len(allowed.Allowed) > 0
		})
		values = append(values, "$ALLOWED", allowed.Allowed[0].ID)
	case "pairings-approve", "pairings-deny", "pairings-revoke":
		p := pairing.Pairing{Agent: "demo", Channel: "telegram", Instance: "sales", From: "42", Code: pairing.NewCode(), AskedAt: time.Now(), Expires: time.Now().Add(time.Hour)}
		if operation == "pairings-deny" {
			p.From = "43"
		}
		if _, err := pairing.NewStore(js).Ask(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if operation == "pairings-revoke" {
			orderAPI(t, h, "/api/pairings/approve", map[string]any{"code": p.Code})
		}
		values = append(values, "$CODE", p.Code)
	}
	return strings.NewReplacer(values...)
}
