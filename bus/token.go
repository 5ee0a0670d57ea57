package bus

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// EmbeddedUser is who has all rights on the embedded server, with the token as
// password.
const EmbeddedUser = "agenthost"

// TokenFile is where the token of the embedded server is, which every command
// on this machine finds by itself.
func (e Embedded) TokenFile() string {
	return filepath.Join(cmp.Or(e.Store, defaultStore), "token")
}

// makeToken returns the token in file, which it makes at the first start. It is
// called with the store locked.
func makeToken(file string) (string, error) {
	token, err := readToken(file)
	if err == nil && token != "" {
		err = os.Chmod(file, 0o600)
	}
	if err != nil || token != "" {
		return token, err
	}
	token = rand.Text()
	if err := writeToken(file, token); err != nil {
		return "", fmt.Errorf("write the token of the embedded server: %w%s", err, storeHint)
	}
	return token, nil
}

// writeToken leaves the whole file, or none.
func writeToken(file, token string) error {
	part := file + ".new"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(part, file)
}

// readToken returns the token in file, empty when there is none.
func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the token of the embedded server: %w; run this as the user that runs the host", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// WithToken adds the token of the embedded server to c, unless c says who
// connects or the host has made no token.
func (c Config) WithToken() (Config, error) {
	if c.identified() {
		return c, nil
	}
	token, err := readToken(c.Embedded.TokenFile())
	if err == nil && token != "" {
		c.User, c.Password = EmbeddedUser, token
	}
	return c, err
}
