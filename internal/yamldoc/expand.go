package yamldoc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const maxSecret = 1 << 20 // bytes of a ${file:…}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// An expander replaces variables in a text.
type expander struct {
	folder string // of the configuration
}

// expand replaces each ${…}; what it puts in is not looked at again. Its error is that of
// each that it cannot replace: Each takes it apart.
func (e expander) expand(text string) (string, error) {
	var out strings.Builder
	var faults []error
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return out.String(), errors.Join(faults...)
		}
		if before0, ok := strings.CutSuffix(before, "$"); ok {
			out.WriteString(before0 + "${")
			text = rest
			continue
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			unclosed := errors.New("${ without its }; want ${NAME}, or $${ for the two characters themselves")
			return "", errors.Join(append(faults, unclosed)...)
		}
		value, err := e.lookUp(inner)
		if err != nil {
			faults = append(faults, err)
		}
		out.WriteString(before + value)
		text = after
	}
}

func (e expander) lookUp(inner string) (string, error) {
	if path, ok := strings.CutPrefix(inner, "file:"); ok {
		return e.readSecret(path)
	}
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	if !variableName.MatchString(name) {
		return "", errors.New("not the name of a variable between ${ and }; want ${NAME}, ${NAME:-default} or ${file:path}, or $${ for the two characters themselves")
	}
	if strings.Contains(fallback, "${") { // its } would end the outer one
		return "", fmt.Errorf("the default of ${%s:-…} holds a variable, and cannot; want text alone between :- and }", name)
	}
	value, set := os.LookupEnv(name)
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !set:
		return "", fmt.Errorf("variable %s is not set; set it, or give a default with ${%s:-default}", name, name)
	}
	return value, nil
}

// readSecret reads a file below one of the folders that may hold secrets. A
// link that leads out of them is refused.
func (e expander) readSecret(path string) (string, error) {
	if path == "" || slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..") {
		return "", fmt.Errorf("${file:%s} is not a path without ..; want one below the folder of the configuration, $AGENTHOST_SECRETS or /run/secrets", path)
	}
	for _, root := range e.secretFolders() {
		text, err := ReadBelow(root, path, maxSecret)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("${file:%s}: %s", path, WhyUnreadable(err))
		}
		return strings.TrimRight(text, "\r\n"), nil
	}
	return "", fmt.Errorf("${file:%s} is not there; want a file below the folder of the configuration, $AGENTHOST_SECRETS or /run/secrets", path)
}

func (e expander) secretFolders() []string {
	folders := []string{e.folder}
	if secrets := os.Getenv("AGENTHOST_SECRETS"); secrets != "" {
		folders = append(folders, secrets)
	}
	return append(folders, "/run/secrets")
}

// ErrTooLarge tells that a file has more bytes than it may.
var ErrTooLarge = errors.New("larger")

// ReadBelow reads a file of up to most bytes by its path relative to root, or by
// an absolute one that root holds; any other is a file that does not exist.
func ReadBelow(root, path string, most int64) (string, error) {
	if filepath.IsAbs(path) {
		absolute, _ := filepath.Abs(root) // without one, nothing is below it
		var err error
		if path, err = filepath.Rel(absolute, path); err != nil || !filepath.IsLocal(path) {
			return "", fs.ErrNotExist
		}
	}
	folder, err := os.OpenRoot(root)
	if err != nil {
		return "", err
	}
	defer folder.Close()
	info, err := folder.Stat(path)
	if err := regular(info, err); err != nil {
		return "", err
	}
	f, err := folder.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%w than %d bytes", ErrTooLarge, most)
	}
	return string(data), err
}

// ReadFile reads a file as [os.ReadFile] does, but no pipe and no device.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err := regular(info, err); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

var errNotRegular = errors.New("it is a pipe or a device; want a file")

// regular refuses what a host could wait for without end: to open a pipe waits for
// its writer, and a device may go on for ever. Neither can be read again at a reload.
func regular(info fs.FileInfo, err error) error {
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // of a folder the read says so
		return errNotRegular
	}
	return nil
}

// WhyUnreadable says why a file cannot be read, without its name.
func WhyUnreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or folder"
	default:
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return fmt.Sprintf("cannot be read: %v", err)
	}
}
