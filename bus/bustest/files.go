package bustest

import (
	"os"
	"path/filepath"
	"testing"
)

// WriteFile makes a file that ends with the test, and returns its path.
func WriteFile(t testing.TB, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
