package host

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A watch notices that the files of a configuration may have changed. It looks
// at their folders: editors replace files, and Kubernetes a link beside them.
type watch struct {
	host   *Host
	events *fsnotify.Watcher      // nil: nothing is watched
	due    chan struct{}          // has a token when something may have changed
	known  map[string]os.FileInfo // the folders that look has found
}

// settleFor is how long the files have to be left alone.
const settleFor = 250 * time.Millisecond

// newWatch notices changes from now on; Run passes them on. Without a
// configuration file there is nothing to watch.
func newWatch(h *Host) *watch {
	w := &watch{host: h, due: make(chan struct{}, 1), known: map[string]os.FileInfo{}}
	if h.opt.Path == "" {
		return w
	}
	var err error
	if w.events, err = fsnotify.NewWatcher(); err != nil {
		h.log.Warn().Err(err).Msg("watch the files of the configuration: failed; send SIGHUP, or use agenthost reload")
		w.events = nil
		return w
	}
	w.look()
	return w
}

// Run collects events until there are no more for a while, and ends with ctx.
func (w *watch) Run(ctx context.Context) error {
	if w.events == nil {
		return nil
	}
	defer func() { _ = w.events.Close() }() // nothing depends on it any more
	timer := time.NewTimer(settleFor)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-w.events.Events:
			if e.Op != fsnotify.Chmod && w.concerns(e.Name) {
				timer.Reset(settleFor)
			}
		case err := <-w.events.Errors: // events were lost
			w.host.log.Debug().Err(err).Msg("watch the configuration")
			timer.Reset(settleFor)
		case <-timer.C:
			w.readAgain()
		}
	}
}

// concerns reports whether a file may be part of the configuration: one that
// could be read, a folder, or what Kubernetes swaps.
func (w *watch) concerns(name string) bool {
	base := filepath.Base(name)
	return isText(base) || strings.HasPrefix(base, "..") || filepath.Ext(base) == "" && !isFile(name) || base == "agents.d" || isFolder(name) ||
		base == filepath.Base(w.host.opt.Path) || slices.Contains(w.besides(), base)
}

// isText reports whether a file of that name is read wherever the configuration has its files.
func isText(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".md"}, filepath.Ext(name))
}

// isFile reports whether there is a file of that name, such as a log that
// another program writes beside the configuration.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// besides are the names of files that the configuration names: those with instructions, and
// scripts of models.
func (w *watch) besides() []string {
	var names []string
	cfg := w.host.now.Load().Config
	for _, a := range cfg.Agents {
		for _, file := range a.InstructionFiles {
			names = append(names, filepath.Base(file))
		}
	}
	for _, m := range cfg.Models {
		if m.Script != "" {
			names = append(names, filepath.Base(m.Script))
		}
	}
	return names
}

// look watches the folders that there are by now. Those that it had not watched before may
// have changed unseen since they were read: it has the configuration read again.
func (w *watch) look() {
	if w.events == nil {
		return
	}
	for _, folder := range w.folders() { // known ones as well: there may be another of that name
		if err := w.events.Add(folder); err != nil {
			w.host.log.Warn().Err(err).Str("folder", folder).Msg("watch a folder of the configuration: failed")
			continue
		}
		info, err := os.Stat(folder)
		if err == nil && !os.SameFile(w.known[folder], info) {
			w.known[folder] = info
			w.readAgain()
		}
	}
}

func (w *watch) readAgain() {
	select {
	case w.due <- struct{}{}:
	default: // it is to be read already
	}
}

func (w *watch) folders() []string {
	root := w.host.opt.Path
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		root = filepath.Dir(root)
	}
	list := []string{root}
	cfg := w.host.now.Load().Config
	for _, m := range cfg.Models {
		if m.Script != "" {
			list = append(list, filepath.Dir(m.Script))
		}
	}
	for _, a := range cfg.Agents {
		for _, file := range a.InstructionFiles {
			list = append(list, filepath.Dir(filepath.Join(root, file)))
		}
	}
	list = append(list, filepath.Join(root, "agents"), filepath.Join(root, "agents.d"))
	_ = filepath.WalkDir(filepath.Join(root, "skills"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			list = append(list, path)
		}
		return nil // what cannot be read cannot be watched
	})
	for _, folder := range slices.Clone(list) {
		list = append(list, w.behindLinks(folder)...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(folder string) bool {
		info, err := os.Stat(folder)
		return err != nil || !info.IsDir()
	})
}

// behindLinks are the folders of the files that links in a folder lead to.
func (w *watch) behindLinks(folder string) (list []string) {
	entries, _ := os.ReadDir(folder) // of one that is not there: none
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 || !w.concerns(filepath.Join(folder, e.Name())) {
			continue
		}
		if file, err := filepath.EvalSymlinks(filepath.Join(folder, e.Name())); err == nil && isFile(file) {
			list = append(list, filepath.Dir(file))
		}
	}
	return list
}
