//go:build long

package config_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"agenthost/config"

	"gopkg.in/yaml.v3"
)

// nonsense is put in the place of each value, one after the other.
var nonsense = []string{
	"~", "[]", "{}", "-1", "0", "1e400", ".nan", "99999999999999999999", "true", `""`, `" "`, `"\0"`, `"\e[31m"`, "\"\\u202e\"", `"a\nb"`, "../../etc/passwd", "/",
	"${HOME", "${}", "${NOT_SET}", `"*"`, "'>'", "[[]]", "{a: {b: [c]}}", "[~]", "-5s", "1000000h", "@", "%", "2026-01-01", "!!binary x", "!!int x", "*none",
	"'" + strings.Repeat("x", 70000) + "'", "[" + strings.Repeat("1,", 5000) + "1]",
}

// Whatever stands in the place of a value: the configuration is read, or there is a
// problem that says in a line where it is and what is wanted.
func TestNonsenseForEachValue(t *testing.T) {
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, key := range []string{"AGENTHOST_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TG_TOKEN"} {
		t.Setenv(key, "key")
	}
	for _, n := range values(root.Content[0]) {
		was := *n
		*n = yaml.Node{Kind: yaml.ScalarNode, Value: "NONSENSE"}
		with, err := yaml.Marshal(&root)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range nonsense {
			readsOrSays(t, bytes.Replace(with, []byte("NONSENSE"), []byte(text), 1))
		}
		*n = was
	}
}

// values are all values of a document, those that hold others too.
func values(n *yaml.Node) []*yaml.Node {
	all := []*yaml.Node{n}
	for i, child := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			all = append(all, values(child)...)
		}
	}
	return all
}

func readsOrSays(t *testing.T, data []byte) {
	t.Helper()
	c, err := config.Parse("c.yaml", data)
	if (c == nil) == (err == nil) {
		t.Fatalf("got config %v and error %v, want one of them, of\n%.2000s", c, err, data)
	}
	if err == nil {
		return
	}
	wrong, ok := errors.AsType[*config.FileError](err)
	if !ok {
		t.Fatalf("got an error of type %T: %v", err, err)
	}
	for _, p := range wrong.Problems {
		if p.Line == 0 && !strings.Contains(p.Text, "is empty") || p.Text == "" || len(p.Text) > 1000 || strings.ContainsAny(p.Text, "\x00\x1b\n\u202e") {
			t.Errorf("problem %.200q (%d bytes) in line %d", p.Text, len(p.Text), p.Line)
		}
	}
}
