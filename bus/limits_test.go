package bus_test

import (
	"errors"
	"fmt"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// What is refused for now, by a full account or a full server, is said with the cure as well.
func TestFullStoresAreExplained(t *testing.T) {
	t.Parallel()
	for code, want := range map[jetstream.ErrorCode]string{
		10002: "raise max_file in its jetstream block", 10023: "raise max_file_store", 10047: "raise max_file_store",
	} {
		err := fmt.Errorf("publish: %w", &jetstream.APIError{Code: 503, ErrorCode: code})
		if !bus.Limited(err) || !bus.Transient(&jetstream.APIError{Code: 503, ErrorCode: code}) {
			t.Errorf("%d is no limit that may be lifted", code)
		}
		bustest.WantError(t, bus.ExplainLimit(err), want)
	}
	for _, err := range []error{nil, errors.New("other"), &jetstream.APIError{ErrorCode: 10071}} {
		if got := bus.ExplainLimit(err); bus.Limited(err) || !errors.Is(got, err) {
			t.Errorf("got %v of %v", got, err)
		}
	}
}

// What a limit of the account keeps a fleet from is said with the cure.
func TestLimitsAreExplained(t *testing.T) {
	t.Parallel()
	for limits, want := range map[string]string{
		"max_streams: 5": "raise max_streams of the account",
		"max_bytes_required: true, max_file: 100000": "take max_bytes_required from it",
	} {
		t.Run(limits, func(t *testing.T) {
			t.Parallel()
			url, _ := bustest.Server(t, func(o *server.Options) {
				var with server.Options
				if err := with.ProcessConfigString(fmt.Sprintf(
					`accounts { A { jetstream: {%s}, users: [{user: ann, password: secret}] } }`, limits)); err != nil {
					t.Error(err)
					return
				}
				o.Accounts, o.Users = with.Accounts, with.Users
			})
			b := bustest.OpenConfig(t, bus.Config{URL: url, User: "ann", Password: "secret"})
			if err := b.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			bustest.WantError(t, streams.Provision(t.Context(), b.JS, 1, 0, zerolog.Nop()), want)
		})
	}
}
