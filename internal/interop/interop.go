// Package interop finds the programs and the JavaScript packages with which tests
// prove that channels and pages work with the real thing.
package interop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Program is the path of an installed program. A test whose program could not be had
// is skipped with the reason.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath(filepath.Join("/usr/sbin", name))
	}
	if err != nil {
		t.Skipf("%s is not installed: %v", name, err)
	}
	return path
}

// installWithin is how long npm may take.
const installWithin = 3 * time.Minute

// Node is a folder with these npm packages, each name@version, installed once. A
// test whose packages the registry does not give is skipped with the reason.
func Node(t testing.TB, packages ...string) string {
	t.Helper()
	npm := Program(t, "npm")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	packages = slices.Sorted(slices.Values(packages))
	sum := sha256.Sum256([]byte(strings.Join(packages, " ")))
	dir := filepath.Join(cache, "agenthost-ci", "node-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(filepath.Join(dir, "installed")); err == nil {
		return dir
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), installWithin)
	defer cancel()
	install := exec.CommandContext(ctx, npm, append([]string{"install", "--silent", "--no-audit", "--no-fund", "--prefix", dir}, packages...)...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm does not give %v: %v\n%s", packages, err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "installed"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
