package scrub

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestPatiently(t *testing.T) {
	other, missing := errors.New("no"), &jetstream.APIError{Code: 404, ErrorCode: jetstream.JSErrCodeStreamNotFound}
	tests := map[string]struct {
		answers []error // the last one again and again
		want    error
		within  time.Duration
	}{
		"at once":             {[]error{nil}, nil, 0},
		"after a while":       {[]error{nats.ErrNoResponders, context.DeadlineExceeded, nats.ErrTimeout, nil}, nil, time.Second},
		"a leader is elected": {[]error{&jetstream.APIError{Code: 503, ErrorCode: 10008}, nil}, nil, time.Second},
		"no such stream":      {[]error{missing}, missing, 0},
		"something else":      {[]error{nats.ErrNoResponders, other}, other, time.Second},
		"never":               {[]error{nats.ErrNoResponders}, nats.ErrNoResponders, patience + time.Second},
		"what is found late":  {[]error{nats.ErrNoResponders, nats.ErrNoResponders, other}, other, time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, n := time.Now(), 0
				err := patiently(t.Context(), func() error {
					n++
					return tt.answers[min(n, len(tt.answers))-1]
				})
				if !errors.Is(err, tt.want) || time.Since(began) > tt.within {
					t.Errorf("got %v after %s, want %v within %s", err, time.Since(began), tt.want, tt.within)
				}
			})
		})
	}
}

func TestPatientlyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	err := patiently(ctx, func() error {
		cancel(cause)
		return nats.ErrNoResponders
	})
	if !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("got %v, want what was said last", err)
	}
}
