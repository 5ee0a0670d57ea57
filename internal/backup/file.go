package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"os"
	"path/filepath"
)

// An outFile is a file of a backup while it is written.
type outFile struct {
	*os.File
	name string
	hash hash.Hash
	n    int64
}

func (w *writer) create(name string) (*outFile, error) {
	f, err := os.OpenFile(filepath.Join(w.folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	w.written = append(w.written, name)
	return &outFile{File: f, name: name, hash: sha256.New()}, nil
}

func (f *outFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	_, _ = f.hash.Write(p[:n]) // never fails
	f.n += int64(n)
	return n, err
}

// finish closes the file once it is on the disk.
func (f *outFile) finish() (File, error) {
	err := errors.Join(f.Sync(), f.Close())
	return File{f.name, f.n, hex.EncodeToString(f.hash.Sum(nil))}, err
}

func compact(data json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		return data
	}
	return out.Bytes()
}
