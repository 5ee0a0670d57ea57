package scripted

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"

	"agenthost/internal/yamldoc"
)

// An attachment is something the model makes.
type attachment struct {
	MIME   string `yaml:"mime"`
	Name   string `yaml:"name"`
	Base64 string `yaml:"base64"`
	File   string `yaml:"file"` // relative to the script

	data []byte
}

// load gets the content; dir is the folder of the script.
func (a *attachment) load(dir string) (err error) {
	switch {
	case a.MIME == "":
		return errors.New("media has no mime")
	case (a.Base64 == "") == (a.File == ""):
		return errors.New("media has either base64 or file")
	case a.Base64 != "":
		if a.data, err = base64.StdEncoding.DecodeString(a.Base64); err != nil {
			return fmt.Errorf("media is no base64: %w", err)
		}
		return nil
	}
	path := a.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if a.data, err = yamldoc.ReadFile(path); err != nil {
		return fmt.Errorf("media: %w", err)
	}
	return nil
}
