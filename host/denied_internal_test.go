package host

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// A request that NATS refuses gets no answer: that it took too long is half of what there is to say.
func TestWithDenied(t *testing.T) {
	t.Parallel()
	late, other, denied := fmt.Errorf("look up stream: %w", context.DeadlineExceeded), errors.New("no room"), errors.New("refused")
	for _, tt := range []struct {
		err, denied error
		want        string
	}{
		{late, denied, "look up stream: context deadline exceeded; refused"},
		{late, nil, late.Error()},
		{other, denied, "no room"},
	} {
		if got := withDenied(tt.err, tt.denied).Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
