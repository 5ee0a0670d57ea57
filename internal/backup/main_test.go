package backup_test

import (
	"os"
	"testing"

	"agenthost/bus/bustest"
)

func TestMain(m *testing.M) {
	bustest.ManyAtOnce()
	bustest.VerifyNoLeaks(m)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
