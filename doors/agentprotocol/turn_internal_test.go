package agentprotocol

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"agenthost/llm"
)

// Each reason that a run can fail for has its code in the protocol, as the docs have it.
func TestCodeOf(t *testing.T) {
	t.Parallel()
	want := map[llm.Code]int{
		llm.CodeValidation: 400, llm.CodeContentFilter: 400, llm.CodeToolDenied: 403, llm.CodeCancelled: 409,
		llm.CodeRateLimited: 429, llm.CodeProviderRateLimit: 429, llm.CodeBudgetExceeded: 429,
		llm.CodeProviderAuth: 500, llm.CodeProviderUnavailable: 500, llm.CodeToolFailed: 500, llm.CodeToolUnavailable: 500,
		llm.CodeRunTimeout: 500, llm.CodeTurnLimit: 500, llm.CodeCompactionFailed: 500, llm.CodeSandboxError: 500, llm.CodeInternal: 500,
		"not_known_yet": 500,
	}
	page, err := os.ReadFile("../../docs/doors/agentprotocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range want {
		row := regexp.MustCompile(`(?m)^\| ` + strconv.Itoa(want) + ` \|.*$`).Find(page)
		if want != codeInternal && !strings.Contains(string(row), "`"+string(code)+"`") {
			t.Errorf("%s is not in the row of the docs: %s", code, row)
		}
		if got := codeOf(code); got != want {
			t.Errorf("%s: got %d, want %d", code, got, want)
		}
	}
	codes := codesIn(t, "../../llm/errors.go")
	for _, code := range codes {
		if _, ok := want[code]; !ok {
			t.Errorf("the table above has no %s", code)
		}
	}
	if len(codes) != len(want)-1 {
		t.Errorf("%d codes are declared, and the table has %d", len(codes), len(want)-1)
	}
}

// codesIn are the constants called Code… of a file.
func codesIn(t *testing.T, path string) (codes []llm.Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") || len(spec.Values) != 1 {
			return true
		}
		value, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		text, err := strconv.Unquote(value.Value)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, llm.Code(text))
		return true
	})
	return codes
}
