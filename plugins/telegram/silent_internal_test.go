package telegram

import (
	"context"
	"net/http"
	"testing"

	"agenthost/internal/httptransport/transporttest"
)

// Nothing else is read of the account while a file comes.
func TestFileOfSilentServer(t *testing.T) {
	a := newAPI("http://api.test", "token")
	transporttest.EndsInSilence(t, a.http.Transport.(*http.Transport), func(ctx context.Context) error {
		_, err := a.download(ctx, "file", 1000)
		return err
	})
}
