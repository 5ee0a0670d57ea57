package agenthost_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// public are the packages that other programs import; docs/go.md says so.
var public = []string{"agents", "client", "config", "hooks", "host", "llm", "plugins", "tools"}

// The exported names in docs/api.txt show a change in review.
func TestAPIIsAsDrawn(t *testing.T) {
	const file = "docs/api.txt"
	var api strings.Builder
	for _, pkg := range public {
		if _, err := os.Stat(pkg); err == nil {
			fmt.Fprintf(&api, "package %s\n\n%s\n", pkg, strings.Join(exported(t, pkg), "\n"))
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(api.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, file), api.String()); diff != "" {
		t.Errorf("%s is not what the packages export; if that is meant: go test . -run API -update (-drawn +code):\n%s", file, diff)
	}
}

// exported are the exported declarations of a package, sorted, without bodies
// and comments.
func exported(t *testing.T, pkg string) []string {
	t.Helper()
	var list []string
	for _, name := range packages(t)[pkg].GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(pkg, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.FileExports(file) {
			continue
		}
		for _, decl := range file.Decls {
			list = append(list, declared(t, decl)...)
		}
	}
	slices.Sort(list)
	return list
}

// declared is a declaration as text, one for each name.
func declared(t *testing.T, decl ast.Decl) []string {
	t.Helper()
	switch d := decl.(type) {
	case *ast.FuncDecl:
		d.Body, d.Doc = nil, nil
		if d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
			return nil
		}
		return []string{printed(t, d)}
	case *ast.GenDecl:
		var list []string
		for _, spec := range d.Specs {
			if d.Tok != token.IMPORT {
				list = append(list, printed(t, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}}))
			}
		}
		return list
	}
	return nil
}

// receiver is the name of the type of a method.
func receiver(typ ast.Expr) string {
	switch t := typ.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func printed(t *testing.T, decl ast.Decl) string {
	t.Helper()
	var text bytes.Buffer
	if err := format.Node(&text, token.NewFileSet(), decl); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// An example imports only what is public, and its module is outside of this one.
func TestExamplesImportWhatIsPublic(t *testing.T) {
	for _, dir := range exampleModules(t) {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-C", dir, "-json=Module,Imports,TestImports,XTestImports", "./...").Output()
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		var listed struct {
			Module                             struct{ Path string }
			Imports, TestImports, XTestImports []string
		}
		if err := json.Unmarshal(out, &listed); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(listed.Module.Path, module()) {
			t.Errorf("%s: module %s may import internal packages", dir, listed.Module.Path)
		}
		for _, imported := range ours(slices.Concat(listed.Imports, listed.TestImports, listed.XTestImports)) {
			if !slices.Contains(public, imported) {
				t.Errorf("%s imports %s, which is not public", dir, imported)
			}
		}
	}
}

func exampleModules(t *testing.T) []string {
	t.Helper()
	mods, err := filepath.Glob("examples/*/go.mod")
	if err != nil || len(mods) < 2 {
		t.Fatalf("want two examples at least, got %v, %v", mods, err)
	}
	for i, mod := range mods {
		mods[i] = filepath.Dir(mod)
	}
	return mods
}
