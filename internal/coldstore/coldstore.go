// Package coldstore reads what an embedded NATS server has stored, without a host.
//
// The files are not touched: what is needed of them is copied to a temporary
// folder, and a server of this process alone reads the copy. It has no port, and
// only the streams that are named, so that nothing falls due in it, and what
// expires expires in the copy.
package coldstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"agenthost/internal/lockfile"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrNone tells that a folder is no store, or has none of the streams.
var ErrNone = errors.New("no sessions are stored there; want the folder that nats.embedded.store names, such as ./data")

// startWithin bounds what the server may take to read the copy.
const startWithin = time.Minute

// A Store is an open copy.
type Store struct {
	NC *nats.Conn
	JS jetstream.JetStream

	server *server.Server
	folder string // the copy
}

// Open copies the streams with these names out of the store in dir. While a host
// has the store open the error is a lockfile.ErrLocked.
func Open(dir string, streams ...string) (*Store, error) {
	s := &Store{}
	if err := s.open(dir, streams); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %q: %w", dir, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(dir string, streams []string) (err error) {
	release, err := lockfile.SharedStore(dir)
	if err != nil {
		return err
	}
	defer release()
	if s.folder, err = os.MkdirTemp("", "agenthost-store-"); err != nil {
		return err
	}
	if err := copyStreams(dir, s.folder, streams); err != nil {
		return err
	}
	return s.serve()
}

// copyStreams copies streams of all accounts, without their consumers.
func copyStreams(from, to string, streams []string) error {
	found := false
	for _, stream := range streams {
		// The name of the store is no part of the pattern: it may have brackets.
		list, err := fs.Glob(os.DirFS(from), path.Join("jetstream", "*", "streams", stream))
		if err != nil {
			return err
		}
		for _, below := range list {
			if err := copyFolder(filepath.Join(from, below), filepath.Join(to, below)); err != nil {
				return err
			}
			found = true
		}
	}
	if !found {
		return ErrNone
	}
	return nil
}

// consumers is the folder of a stream's consumers.
const consumers = "obs"

func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && below == consumers:
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, below), 0o700)
		case d.Type().IsRegular():
			return copyFile(path, filepath.Join(to, below))
		}
		return nil
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (s *Store) serve() (err error) {
	s.server, err = server.NewServer(&server.Options{
		ServerName: "agenthost-store", DontListen: true, JetStream: true, StoreDir: s.folder, NoSigs: true, NoLog: true,
	})
	if err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	s.server.Start()
	if !s.server.ReadyForConnections(startWithin) {
		return fmt.Errorf("start a server: not ready within %s", startWithin)
	}
	if s.NC, err = nats.Connect("", nats.InProcessServer(s.server)); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	s.JS, err = jetstream.New(s.NC)
	return err
}

// Close ends the server and removes the copy.
func (s *Store) Close() error {
	if s.NC != nil {
		s.NC.Close()
	}
	if s.server != nil {
		s.server.Shutdown()
		s.server.WaitForShutdown()
	}
	if s.folder == "" {
		return nil
	}
	return os.RemoveAll(s.folder)
}
