package natsserver

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/internal/lockfile"

	"github.com/nats-io/nats-server/v2/server"
)

// makeToken returns the token of a store, which it makes at the first start. It is
// called with the store locked.
func makeToken(e bus.Embedded) (string, error) {
	file := e.TokenFile()
	token, err := e.Token()
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

// forgetAddress is called when nothing of ours listens any more, and the port may
// become that of others.
func forgetAddress(store string) {
	_ = os.Remove(bus.Embedded{Store: store}.AddressFile()) // as after a crash
}

// noteAddress is called with the store locked.
func noteAddress(o *server.Options) error {
	if o.DontListen || !admits(o) {
		forgetAddress(o.StoreDir)
		return nil
	}
	file, address := bus.Embedded{Store: o.StoreDir}.AddressFile(), net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	if known, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(known)) == address {
		return nil // from before a crash; the disk may be full
	}
	if err := writeFile(file, address); err != nil {
		return fmt.Errorf("write the address of the embedded server: %w%s", err, lockfile.StoreHint)
	}
	return nil
}
