package control

import (
	"context"
	"os"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/session"
)

func operations(t *testing.T) []Operation {
	t.Helper()
	b := bustest.Open(t)
	return (&Service{host: Host{NC: b.NC, JS: b.JS}}).Operations()
}

// Two operations of one name or subject would both answer, and one without a
// bound would hold a host up when it stops.
func TestTableOfOperations(t *testing.T) {
	names, subjects := map[string]bool{}, map[string]bool{}
	for _, o := range operations(t) {
		if names[o.Name] || subjects[o.Subject] {
			t.Errorf("%s on %s is there twice", o.Name, o.Subject)
		}
		names[o.Name], subjects[o.Subject] = true, true
		if !strings.HasPrefix(o.Subject, "agenthost.") || o.About == "" || o.Do.Call == nil || o.Within <= 0 {
			t.Errorf("not complete: %+v", o)
		}
	}
}

// The docs have each operation that programs may ask for.
func TestOperationsAreDocumented(t *testing.T) {
	var text []byte
	for _, file := range []string{"../../docs/subjects.md", "../../docs/sessions.md", "../../docs/http-api.md"} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, page...)
	}
	for _, o := range operations(t) {
		if !o.Notice && !strings.Contains(string(text), "`"+o.Subject+"`") {
			t.Errorf("the docs lack %s", o.Subject)
		}
	}
}

// A program that asks over NATS reads what is wrong with its request, and no types of Go.
func TestRequestsThatMakeNoSense(t *testing.T) {
	type Place struct {
		Seq uint64 `json:"seq"`
	}
	type request struct {
		Agent string `json:"agent"`
		Limit int    `json:"limit"`
		Place
	}
	echo := do(request{}, func(_ context.Context, in request) (request, error) { return in, nil })
	for data, want := range map[string]string{
		"":                      "request: it is empty; want a JSON object",
		`{"limit":`:             "request: its JSON is invalid: unexpected end of JSON input",
		`["ana"]`:               "request: it is an array; want a JSON object",
		`"ana"`:                 "request: it is a string; want a JSON object",
		`{"limit":"many"}`:      "request: limit cannot be a string",
		`{"seq":-1}`:            "request: seq cannot be a number -1",
		`{"agent":7}`:           "request: agent cannot be a number",
		`{"agent":">"}`:         `agent ">": want 1 to 63 of a-z, 0-9, _ and -`,
		`{"agent":"ana.*.bob"}`: `agent "ana.*.bob": want 1 to 63 of a-z, 0-9, _ and -`,
	} {
		_, err := order(Operation{Do: echo}).run(t.Context(), []byte(data))
		if err == nil || err.Error() != want || codeOf(err) != client.CodeBad {
			t.Errorf("%q: got %v, code %s; want %s", data, err, codeOf(err), want)
		}
	}
}

func TestRequests(t *testing.T) {
	type request struct {
		Agent string
		Limit int
	}
	echo := do(request{Agent: "ana", Limit: 50}, func(_ context.Context, in request) (request, error) { return in, nil })
	up := do(none{}, func(context.Context, none) (string, error) { return "up", nil })
	tests := map[string]struct {
		o    Operation
		data string
		want any
		code string
	}{
		"what differs from the defaults": {report(Operation{Do: echo}), `{"limit":3}`, request{"ana", 3}, ""},
		"an empty report":                {report(Operation{Do: echo}), "", request{"ana", 50}, ""},
		"an empty order":                 {order(Operation{Do: echo}), "", nil, client.CodeBad},
		"no JSON":                        {report(Operation{Do: echo}), `{`, nil, client.CodeBad},
		"another type":                   {report(Operation{Do: echo}), `{"limit":"many"}`, nil, client.CodeBad},
		"ignored data":                   {status(Operation{Do: up}), "\x00garbage", "up", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.o.run(t.Context(), []byte(tt.data))
			if tt.code == "" && (err != nil || got != tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
			if tt.code != "" && (err == nil || codeOf(err) != tt.code) {
				t.Errorf("got error %v, want code %s", err, tt.code)
			}
		})
	}
}

func TestCodesOfErrors(t *testing.T) {
	for want, err := range map[string]error{
		client.CodeBad:         badRequest("no JSON"),
		client.CodeNotFound:    session.ErrNoSession,
		client.CodeBusy:        session.ErrRunning,
		client.CodeUnavailable: context.DeadlineExceeded,
	} {
		if got := codeOf(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
}
