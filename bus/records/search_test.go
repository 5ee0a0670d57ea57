package records_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

func TestNotStored(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		r := records.NewReader(b.JS)
		store := func(subject, id string) {
			t.Helper()
			if _, err := b.JS.PublishMsg(t.Context(), message(subject, id)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		began := time.Now()
		for i := range 40 { // more than one batch
			store("plugin.outbound.web", fmt.Sprint("x", i))
		}
		store("agent.route.ana", "r")
		minute := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
		var many []string
		for i := range 30 {
			many = append(many, fmt.Sprint("x", i))
		}
		tests := map[string]struct {
			search records.Search
			ids    []string
			want   []string
		}{
			"first and last":      {records.Search{Subject: "plugin.outbound.web", Since: began}, []string{"x0", "x39"}, nil},
			"from then on":        {records.Search{Subject: "plugin.outbound.web", Since: minute(39)}, []string{"x38", "x39"}, []string{"x38"}},
			"after everything":    {records.Search{Subject: "plugin.outbound.web", Since: minute(99)}, []string{"x39"}, []string{"x39"}},
			"never":               {records.Search{Subject: "plugin.outbound.web", Since: began}, []string{"x1", "y", "x2"}, []string{"y"}},
			"another subject":     {records.Search{Subject: "plugin.outbound.irc", Since: began}, []string{"x1"}, []string{"x1"}},
			"a route":             {records.Search{Subject: "agent.route.ana", Since: began}, []string{"r"}, nil},
			"within the bound":    {records.Search{Subject: "plugin.outbound.web", Since: began, Until: began, Most: 4}, []string{"x4"}, nil},
			"beyond the bound":    {records.Search{Subject: "plugin.outbound.web", Since: began, Until: began, Most: 4}, []string{"x5"}, []string{"x5"}},
			"after the last":      {records.Search{Subject: "plugin.outbound.web", Since: began, Until: minute(20), Most: 4}, []string{"x24", "x25"}, []string{"x25"}},
			"more than a batch":   {records.Search{Subject: "plugin.outbound.web", Since: began}, append(many, "y"), []string{"y"}},
			"nothing to look for": {records.Search{Subject: "plugin.outbound.web", Since: began}, nil, nil},
		}
		for name, tt := range tests {
			left, err := r.NotStored(t.Context(), tt.search, tt.ids)
			if got := slices.Sorted(maps.Keys(left)); err != nil || !cmp.Equal(got, tt.want) {
				t.Errorf("%s: got %q, %v, want %q", name, got, err, tt.want)
			}
		}
	})
}

func message(subject, id string) *nats.Msg {
	msg := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: []byte(id)}
	if id != "" {
		msg.Header.Set(nats.MsgIdHdr, id)
	}
	return msg
}
