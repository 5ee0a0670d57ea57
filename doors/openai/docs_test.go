package openai_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"agenthost/doors/doorstest"
)

var fence = regexp.MustCompile("(?ms)^```(\\S+) ([^\n]+)\n(.*?)^```")

// fences are the blocks of the page about this door with these words behind their ```.
func fences(t *testing.T, kind string) (list []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/doors/openai.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		if m[1]+" "+m[2] == kind {
			list = append(list, m[3])
		}
	}
	return list
}

// The requests in the docs are answered.
func TestRequestsInDocs(t *testing.T) {
	t.Parallel()
	h := doorstest.Serve(t, scripted(t, `
rules:
  - {is: "Is it raining in Oslo?", tool_calls: [{name: weather, args: {city: Oslo}}]}
  - {text: "ana: ${text}"}
`))
	var got []string
	for _, body := range fences(t, "json POST "+chatPath) {
		a := ask(t, h, "POST", chatPath, body, nil)
		if a.Status != 200 {
			t.Errorf("%s\ngot %+v", body, a)
		}
		finish, _ := a.get(t, "choices", 0, "finish_reason").(string)
		got = append(got, finish)
	}
	if strings.Join(got, " ") != "stop tool_calls" {
		t.Errorf("got %v", got)
	}
}
