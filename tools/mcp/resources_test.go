package mcp_test

import (
	"context"
	"strings"
	"testing"

	"agenthost/tools"
	"agenthost/tools/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func addResources(s *sdk.Server) {
	read := func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		if req.Params.URI == "note:gone" {
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "of " + req.Params.URI}}}, nil
	}
	s.AddResource(&sdk.Resource{URI: "note:a", Name: "a", MIMEType: "text/plain", Description: "The first."}, read)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "note:{id}", Name: "note"}, read)
	s.AddPrompt(&sdk.Prompt{Name: "greet", Description: "A greeting.", Arguments: []*sdk.PromptArgument{{Name: "whom", Required: true}, {Name: "how"}}},
		func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: "Greet " + req.Params.Arguments["whom"] + "."}},
				{Role: "assistant", Content: &sdk.TextContent{Text: "Hello!"}},
			}}, nil
		})
}

func TestResourcesAndPromptsAsTools(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		cfg.Resources, cfg.Prompts = true, true
		w := openOne(t, cfg, mcp.Options{})
		for _, tt := range []struct{ tool, args, want string }{
			{"list_resources", `{}`, "note:a, a, text/plain, The first.\ntemplate note:{id}, note"},
			{"list_resources", ``, "note:a, a, text/plain, The first.\ntemplate note:{id}, note"},
			{"read_resource", `{"uri":"note:a"}`, "[resource note:a]\nof note:a"},
			{"read_resource", `{"uri":"note:7"}`, "[resource note:7]\nof note:7"},
			{"list_prompts", `{}`, "greet, whom (required) how, A greeting."},
			{"get_prompt", `{"name":"greet","arguments":{"whom":"Ann"}}`, "user: Greet Ann.\nassistant: Hello!"},
		} {
			tool := w.tool("s." + tt.tool)
			if !tool.ReadOnly || !tool.Rerun || tools.CheckSchema(tool.Schema) != nil {
				t.Errorf("%s: %+v", tt.tool, tool)
			}
			if res := w.run("s."+tt.tool, tt.args); res != (tools.Result{Text: tt.want}) {
				t.Errorf("%s %s: got %+v, want %q", tt.tool, tt.args, res, tt.want)
			}
		}
		for tool, args := range map[string]string{
			"read_resource": `{"uri":"note:gone"}`, "get_prompt": `{"name":"curse"}`,
		} {
			if res := w.run("s."+tool, args); !res.Failed || res.Text == "" {
				t.Errorf("%s %s: got %+v", tool, args, res)
			}
		}
		if _, err := w.try("s.read_resource", `{"uri":7}`); err != nil {
			t.Error(err)
		}
		var v tools.Validator
		if err := v.Check(w.tool("s.read_resource"), nil); err == nil || !strings.Contains(err.Error(), "/uri: required") {
			t.Errorf("without a uri: %v", err)
		}
		w.stop()
	})
}

func TestResourcesAndPromptsAreByChoice(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("server"), mcp.Options{})
	for _, name := range names(w.client().Tools()) {
		if strings.HasSuffix(name, "_resource") || strings.HasSuffix(name, "_prompt") || strings.HasPrefix(name, "s.list_") {
			t.Errorf("%s is offered", name)
		}
	}
}
