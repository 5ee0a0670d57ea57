package regexsize_test

import (
	"strings"
	"testing"

	"agenthost/internal/regexsize"
)

func TestOf(t *testing.T) {
	for expr, want := range map[string]int{
		`abc`:                 4,
		`a{1000}`:             2000,
		`a{3,}`:               6,
		`(a{10}){100}`:        2100,
		`a|b|(c)`:             6,
		`(`:                   0,
		`((a{1000}){1000})`:   0, // more than the parser lets through
		`^[[:alpha:]_]+\.go$`: 8,
	} {
		if got := regexsize.Of(expr); got < want/2 || got > 2*want {
			t.Errorf("%s: got %d, want about %d", expr, got, want)
		}
	}
	if got := regexsize.Of("(?:" + strings.Repeat("a", 900) + "){1000}"); got < 900_000 {
		t.Errorf("got %d for 900 letters a thousand times", got)
	}
}
