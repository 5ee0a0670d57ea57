package a2a_test

import (
	"testing"

	"agenthost/bus/filestore"
)

// A message that is refused leaves none of its files for good.
func TestFilesOfARefusedMessage(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	m := said("m", "", "parts", []any{object{"raw": "aGVsbG8=", "mediaType": "image/png"}, nil})
	if code, why := c.call("SendMessage", object{"message": m}, nil); code != -32602 {
		t.Fatalf("got %d %s", code, why)
	}
	if left, err := filestore.New(h.Client.JetStream()).Left(t.Context()); len(left) != 1 || err != nil {
		t.Errorf("%v are left, %v; want the first file", left, err)
	}
}
