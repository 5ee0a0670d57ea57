package httpapi_test

import (
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/httpapi"

	"github.com/google/go-cmp/cmp"
)

func TestToolNames(t *testing.T) {
	tests := map[string]struct{ tools, want []string }{
		"no change":          {[]string{"read_file"}, []string{"read_file"}},
		"dots":               {[]string{"a.b.c"}, []string{"a__b__c"}},
		"other letters":      {[]string{"grün/tea"}, []string{"gr_n_tea"}},
		"taken":              {[]string{"a.b", "a__b"}, []string{"a__b_108bf50c", "a__b"}},
		"two that are alike": {[]string{"a/b", "a b"}, []string{"a_b", "a_b_10a3f9f2"}},
		"too long":           {[]string{strings.Repeat("a.", 40)}, []string{strings.Repeat("a__", 18) + "a_58027295"}},
		"digit first":        {[]string{"3d", "-x"}, []string{"_3d", "_-x"}},
		"none":               {[]string{""}, []string{"_"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var tools []llm.ToolDef
			for _, n := range tt.tools {
				tools = append(tools, llm.ToolDef{Name: n})
			}
			names := httpapi.NamesOf(tools)
			var sent, back []string
			for _, n := range tt.tools {
				sent = append(sent, names.ToWire(n))
				back = append(back, names.FromWire(names.ToWire(n)))
			}
			if diff := cmp.Diff(tt.want, sent); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.tools, back); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamesThatAreNotOffered(t *testing.T) {
	names := httpapi.NamesOf(nil)
	if got := names.ToWire("old.tool"); got != "old__tool" {
		t.Errorf("got %q, want old__tool", got)
	}
	if got := names.FromWire("made_up"); got != "made_up" {
		t.Errorf("got %q, want made_up", got)
	}
}
