package commands

import (
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/client"
	"agenthost/internal/cli"
)

// Every lane has a line, also one that has brought no message yet; a lane that moves has that
// of the host which serves it.
func TestFleetListsAllLanes(t *testing.T) {
	since := time.Now().Add(-90 * time.Second)
	list := fleetHosts(client.Fleet{
		{Host: "kiwi", State: "ready", Placed: []int{0, 2}, Serves: []client.LaneStatus{{Lane: 2, Since: since, Lag: 7}, {Lane: 3, Since: since}}},
		{Host: "plum", State: "ready", Placed: []int{1, 3}},
	}, nil, nil)
	var out strings.Builder
	a := &app{App: &cli.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}}
	if err := a.printLanes(list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"", "LANE HOST SINCE LAG", "0 (kiwi) - -", "2 kiwi 1m30s 7", "3 kiwi 1m30s 0", "1 (plum) - -"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
