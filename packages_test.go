package agenthost_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// A listedPackage is what go list says of a package on this system, tests left out.
type listedPackage struct {
	Dir, ImportPath        string
	GoFiles, Imports, Deps []string
}

// packages are those of the module, by their folders. They are listed once: the go command
// reads all of them for one, too.
func packages(t *testing.T) map[string]listedPackage {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var listPackages = sync.OnceValues(func() (map[string]listedPackage, error) {
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,GoFiles,Imports,Deps", "./...").Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list: %s", exit.Stderr)
	}
	if err != nil {
		return nil, err
	}
	all := map[string]listedPackage{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var pkg listedPackage
		if err := dec.Decode(&pkg); err != nil {
			return nil, err
		}
		os.ReadDir(pkg.Dir) // so that go test knows that a cached result is out of date
		if name, ok := strings.CutPrefix(pkg.ImportPath, module()+"/"); ok {
			all[name] = pkg
		}
	}
	return all, nil
})
