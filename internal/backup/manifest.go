package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	kind         = "agenthost-backup"
	format       = 1
	manifestName = "manifest.json"
)

// A Manifest says what is in a backup.
type Manifest struct {
	Kind     string    `json:"kind"`
	Format   int       `json:"format"`
	Version  string    `json:"agenthost"`
	Server   string    `json:"nats_server"`
	Moment   time.Time `json:"moment"` // all that was stored by then is in it
	Finished time.Time `json:"finished"`
	Streams  []Stream  `json:"streams"`
	Messages uint64    `json:"messages"`
	Bytes    int64     `json:"bytes"` // of all files
	// Digest is the SHA-256 of the manifest without it.
	Digest string `json:"digest"`
}

// A Stream is the copy of one stream.
type Stream struct {
	Name     string `json:"name"`
	File     File   `json:"file"`
	Late     *File  `json:"late,omitempty"` // messages that came or changed while it was copied
	Messages uint64 `json:"messages"`
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"` // the restored stream goes on after it
	// Config and State are as the server said them.
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
	// Floors are where the lanes begin again, by consumer.
	Floors map[string]Floor `json:"floors,omitempty"`
}

// A Floor is the last message up to which a consumer has acknowledged all.
type Floor struct {
	Consumer uint64 `json:"consumer_seq"`
	Stream   uint64 `json:"stream_seq"`
}

// A File is one file of a backup.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ErrDamaged is wrapped where a folder is no backup, or not as it was written.
var ErrDamaged = errors.New("this is no complete backup; nothing was restored")

// files are all files that the manifest names.
func (m *Manifest) files() (list []File) {
	for _, s := range m.Streams {
		list = append(list, s.File)
		if s.Late != nil {
			list = append(list, *s.Late)
		}
	}
	return list
}

// sum is what Digest has to be.
func (m *Manifest) sum() (string, error) {
	bare := *m
	bare.Digest = ""
	data, err := json.Marshal(bare)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// seal writes the manifest: with it the backup is complete.
func (w *writer) seal(m *Manifest) (err error) {
	m.Bytes = 0
	for _, s := range m.Streams {
		m.Messages += s.Messages
	}
	for _, f := range m.files() {
		m.Bytes += f.Bytes
	}
	if m.Digest, err = m.sum(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	temporary := manifestName + ".tmp"
	f, err := w.create(temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(w.folder, temporary), filepath.Join(w.folder, manifestName)); err != nil {
		return err
	}
	return syncFolder(w.folder)
}

func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Read reads the manifest of a backup, and the files: they have to be as it says.
func Read(folder string) (Manifest, error) {
	if folder == "" { // which would be the folder that we are in
		return Manifest{}, errNoFolder
	}
	m, err := readManifest(folder)
	if err != nil {
		return Manifest{}, fmt.Errorf("backup %q: %w", folder, err)
	}
	for _, f := range m.files() {
		if err := f.check(folder); err != nil {
			return Manifest{}, fmt.Errorf("backup %q: file %q %w: %w", folder, f.Name, err, ErrDamaged)
		}
	}
	return m, nil
}

func readManifest(folder string) (m Manifest, err error) {
	path := filepath.Join(folder, manifestName)
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return m, fmt.Errorf("there is no %s; either it is another folder, or the backup did not end: %w", manifestName, ErrDamaged)
	}
	if err == nil && !info.Mode().IsRegular() {
		return m, fmt.Errorf("%s is no regular file: %w", manifestName, ErrDamaged)
	}
	if err != nil {
		return m, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w: %w", manifestName, err, ErrDamaged)
	}
	for i := range m.Streams { // as they were before they were indented
		m.Streams[i].Config, m.Streams[i].State = compact(m.Streams[i].Config), compact(m.Streams[i].State)
	}
	if m.Kind != kind {
		return m, fmt.Errorf("%s is of another program: %w", manifestName, ErrDamaged)
	}
	if m.Format > format {
		return m, fmt.Errorf("it was written by agenthost %s in a format that this version does not know; use that version", m.Version)
	}
	sum, err := m.sum()
	if err != nil {
		return m, err
	}
	if sum != m.Digest {
		return m, fmt.Errorf("%s was changed: %w", manifestName, ErrDamaged)
	}
	return m, m.check()
}

// check refuses a manifest that was sealed but cannot be restored.
func (m *Manifest) check() error {
	if len(m.Streams) == 0 {
		return fmt.Errorf("%s has no streams: %w", manifestName, ErrDamaged)
	}
	known, seen := names(), map[string]bool{}
	for _, s := range m.Streams {
		if !slices.Contains(known, s.Name) {
			return fmt.Errorf("stream %q is not known to this version; use agenthost %s", s.Name, m.Version)
		}
		if seen[s.Name] {
			return fmt.Errorf("%s has stream %s twice: %w", manifestName, s.Name, ErrDamaged)
		}
		seen[s.Name] = true
		if !isObject(s.Config) || !isObject(s.State) {
			return fmt.Errorf("%s has no configuration or no state of stream %s: %w", manifestName, s.Name, ErrDamaged)
		}
	}
	return nil
}

func isObject(data json.RawMessage) bool { return len(data) > 0 && data[0] == '{' }

// check compares a file with what the manifest says of it.
func (f File) check(folder string) error {
	if f.Name != filepath.Base(f.Name) {
		return errors.New("is not in the folder")
	}
	path := filepath.Join(folder, f.Name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("is missing")
	case err != nil:
		return err
	case !info.Mode().IsRegular(): // a pipe or a device may have no end
		return errors.New("is no regular file")
	case info.Size() != f.Bytes:
		return fmt.Errorf("has %d bytes and should have %d", info.Size(), f.Bytes)
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, in)
	switch {
	case err != nil:
		return err
	case hex.EncodeToString(hash.Sum(nil)) != f.SHA256:
		return errors.New("was changed")
	}
	return nil
}

// InboundAge is how long NATS keeps a message, answered or not.
const InboundAge = 72 * time.Hour

// Stale reports whether messages that had no answer at the moment of the backup may be
// older than NATS keeps them.
func (m *Manifest) Stale(now time.Time) bool { return now.Sub(m.Moment) > InboundAge }
