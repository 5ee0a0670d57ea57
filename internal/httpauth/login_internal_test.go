package httpauth

import (
	"strings"
	"testing"
)

// What comes with a request stays text on the login page.
func TestLoginPageEscapes(t *testing.T) {
	page := loginPage(`/chat?"><script>alert(1)</script>{{alert}}`, `<b>"wrong"</b>`)
	for _, bad := range []string{"<script>", "<b>", `?">`} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if !strings.Contains(page, `aria-invalid="true"`) || strings.Contains(loginPage("/chat", ""), "alert") {
		t.Error("the fault is shown when there is one, and only then")
	}
}
