package builtin_test

import (
	"context"
	"strings"
	"testing"

	"agenthost/tools"
	"agenthost/tools/builtin"
)

// notebook says what it was asked to do.
type notebook struct{}

func (notebook) Make(_ context.Context, call tools.Call, when, zone, text string) (string, error) {
	return strings.Join([]string{"make", call.Agent, when, zone, text}, "|"), nil
}

func (notebook) List(context.Context, tools.Call) (string, error) { return "list", nil }

func (notebook) Cancel(_ context.Context, _ tools.Call, id string) (string, error) {
	return "cancel|" + id, nil
}

func TestRemind(t *testing.T) {
	b := open(t, builtin.Options{Reminders: notebook{}})
	for args, want := range map[string]string{
		`{"when":"in 20m","text":"call mum"}`:                    "in 20m||call mum",
		`{"when":"18:00","text":"go","timezone":"Europe/Paris"}`: "18:00|Europe/Paris|go",
		`{"list":true}`:    "list",
		`{"cancel":"abc"}`: "cancel|abc",
	} {
		if result, err := b.call(t, "remind", args); err != nil || !strings.HasSuffix(result.Text, want) {
			t.Errorf("%s: got %q, %v", args, result.Text, err)
		}
	}
	b.fails(t, "remind", `{"when":"in 20m"}`, "want when and text")
}
