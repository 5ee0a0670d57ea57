package natsserver

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agenthost/internal/lockfile"

	"github.com/nats-io/nats-server/v2/server"
)

// User has all rights on the embedded server, with the token as password.
const User = "agenthost"

// TokenFile is where the token of the embedded server is, which every command
// on this machine finds by itself.
func (e Config) TokenFile() string {
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
	if err := writeFile(file, token); err != nil {
		return "", fmt.Errorf("write the token of the embedded server: %w%s", err, lockfile.StoreHint)
	}
	return token, nil
}

// writeFile leaves the whole file, or the one before.
func writeFile(file, line string) error {
	part := file + ".new"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
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

// Token returns the token in TokenFile, empty when the host has made none.
func (e Config) Token() (string, error) { return readToken(e.TokenFile()) }

// addressFile holds where the embedded server has listened last: commands send
// the token to no other server.
func (e Config) addressFile() string { return filepath.Join(filepath.Dir(e.TokenFile()), "address") }

// ServesAt reports whether the embedded server of this store listens at url.
func (e Config) ServesAt(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	known, err := os.ReadFile(e.addressFile())
	if errors.Is(err, fs.ErrPermission) {
		return true // reading the token says so
	}
	host, port, _ := net.SplitHostPort(strings.TrimSpace(string(known)))
	local := u.Hostname() == host || Loopback(u.Hostname()) || net.ParseIP(u.Hostname()).IsUnspecified()
	return err == nil && local && port == cmp.Or(u.Port(), strconv.Itoa(server.DEFAULT_PORT))
}

// forgetAddress is called when nothing of ours listens any more, and the port may
// become that of others.
func forgetAddress(store string) {
	_ = os.Remove(Config{Store: store}.addressFile()) // as after a crash
}

// noteAddress is called with the store locked.
func noteAddress(o *server.Options) error {
	if o.DontListen || !admits(o) {
		forgetAddress(o.StoreDir)
		return nil
	}
	file, address := Config{Store: o.StoreDir}.addressFile(), net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	if known, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(known)) == address {
		return nil // from before a crash; the disk may be full
	}
	if err := writeFile(file, address); err != nil {
		return fmt.Errorf("write the address of the embedded server: %w%s", err, lockfile.StoreHint)
	}
	return nil
}
