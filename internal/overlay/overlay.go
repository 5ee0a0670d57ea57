// Package overlay writes files that the go command reads in place of others, for programs
// that are built with a changed copy of the standard library.
package overlay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Source is the folder of a package of the standard library, of the Go that builds.
func Source(ctx context.Context, pkg string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the standard library: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), "src", pkg), nil
}

// Write writes the texts that take the place of files, by the paths of these, and returns
// the file for the option -overlay of the go command. It is in the user's cache, in a folder
// that is called after name and the texts, so that what was built with it is built once.
func Write(name string, texts map[string]string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	files, sum := slices.Sorted(maps.Keys(texts)), sha256.New()
	for _, file := range files {
		fmt.Fprintf(sum, "%s %d\n%s", file, len(texts[file]), texts[file])
	}
	dir := filepath.Join(cache, name, hex.EncodeToString(sum.Sum(nil))[:16])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	replace := map[string]string{}
	for _, file := range files {
		replace[file] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replace[file], []byte(texts[file]), 0o600); err != nil {
			return "", fmt.Errorf("write overlay: %w", err)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, data, 0o600)
}
