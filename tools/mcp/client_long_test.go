//go:build long

package mcp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/tools"
	"agenthost/tools/mcp"
)

func TestResults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tool, args string
		want       tools.Result
	}{
		"text":              {"echo", `{"text":"hi"}`, tools.Result{Text: "hi"}},
		"no arguments":      {"put", ``, tools.Result{Text: "put"}},
		"failed":            {"fail", `{}`, tools.Result{Text: "it broke", Failed: true}},
		"image and sound":   {"image", `{}`, tools.Result{Text: "see\n[image, image/png, 5 bytes]\n[audio, audio/wav, 3 bytes]"}},
		"structured":        {"structured", `{}`, tools.Result{Text: `{"sum":3}`}},
		"text and its JSON": {"both", `{}`, tools.Result{Text: "three"}},
		"resources": {"resources", `{}`, tools.Result{Text: "[resource file:///a, a, text/plain, The first.]\n[resource file:///b, b]\n" +
			"[resource file:///c]\ninside\n[resource file:///d, image/gif, 4 bytes]"}},
	}
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		w := openOne(t, cfg, mcp.Options{})
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				if diff := cmp.Diff(tt.want, w.run("s."+tt.tool, tt.args)); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			})
		}
		t.Run("bad arguments", func(t *testing.T) {
			if res := w.run("s.echo", `{"text":5}`); !res.Failed || !strings.Contains(res.Text, "text") {
				t.Errorf("got %+v", res)
			}
		})
		t.Run("a line of 5 MB", func(t *testing.T) {
			if res := w.run("s.big", `{"bytes":5000000}`); len(res.Text) != 5_000_000 {
				t.Errorf("got %d bytes", len(res.Text))
			}
		})
		t.Run("arguments of 5 MB", func(t *testing.T) {
			args := `{"text":"` + strings.Repeat("x", 5_000_000) + `"}`
			if res := w.run("s.echo", args); len(res.Text) != 5_000_000 {
				t.Errorf("got %d bytes", len(res.Text))
			}
		})
	})
}
