package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agenthost/bus/bustest"
)

// Where a platform has no buttons an approval is answered in words, with a number when
// several are open.
func TestApprovalsByText(t *testing.T) {
	t.Parallel()
	const rules = `rules:
  - {is: one, tool_calls: [{name: write_file, args: {path: one.txt, text: x}}]}
  - {is: two, tool_calls: [{name: write_file, args: {path: two.txt, text: x}}]}
  - is: both
    tool_calls: [{name: write_file, args: {path: a.txt, text: x}}, {name: write_file, args: {path: b.txt, text: x}}]
  - {after_tool: "*", text: "done with: ${result}"}
`
	for _, name := range []string{"irc", "email"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := platforms[name](t)
			dir := configured(t, strings.NewReplacer("provider: echo", "provider: scripted, script: rules.yaml", "{id: ana,", "{id: ana, tools: [write_file],").Replace(p.config(name, "")))
			writeFile(t, filepath.Join(dir, "rules.yaml"), rules)
			startHostIn(t, dir, nil).connected(t)
			seen := 0
			// says writes something and waits for what comes then.
			says := func(text, want string) (answer string) {
				t.Helper()
				p.write(text)
				bustest.Eventually(t, fmt.Sprintf("%q after %q", want, text), func() bool {
					answer = strings.Join(p.texts()[seen:], "\n")
					return regexp.MustCompile(want).MatchString(answer)
				})
				seen = len(p.texts())
				return answer
			}
			written := func(file string) bool {
				_, err := os.Stat(filepath.Join(dir, "data", "workspaces", "ana", file))
				return err == nil
			}
			says("one", `one\.txt(.|\n)*approve or deny`)
			if written("one.txt") {
				t.Error("the file is written before it is approved")
			}
			says("Approve.", `done with: wrote`)
			if !written("one.txt") {
				t.Error("the file that was approved is not written")
			}
			says("two", `two\.txt(.|\n)*approve or deny`)
			says("deny", `done with: denied`)
			asked := says("both", `[ab]\.txt(.|\n)*[ab]\.txt(.|\n)*approve 2`)
			number := regexp.MustCompile(`b\.txt[^#]*?approve (\d)`).FindStringSubmatch(asked)
			if number == nil {
				t.Fatalf("b.txt has no number in %q", asked)
			}
			p.write("approve " + number[1])
			bustest.Eventually(t, "b.txt", func() bool { return written("b.txt") })
			says("deny", `done with: `)
			if written("two.txt") || written("a.txt") {
				t.Error("a file that was denied is written")
			}
		})
	}
}
