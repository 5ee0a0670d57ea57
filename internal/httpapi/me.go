package httpapi

import (
	"net/http"

	"agenthost/internal/httpauth"
)

// A Me is who asks.
type Me struct {
	Name    string        `json:"name"`              // of the token
	Role    httpauth.Role `json:"role"`              // admin or read
	Open    bool          `json:"open,omitempty"`    // no token is needed here
	Limited bool          `json:"limited,omitempty"` // the token is for some agents: what concerns all is refused
	Version string        `json:"version"`           // of the program
}

// me says who asks, for a page that shows what they may.
func (a *API) me(w http.ResponseWriter, r *http.Request) {
	c, status, err := a.opt.Auth.Check(r, httpauth.Read)
	if err != nil {
		WriteError(w, status, err)
		return
	}
	for name := range r.URL.Query() {
		WriteError(w, http.StatusBadRequest, fields{}.unknown(name))
		return
	}
	a.write(w, r, Me{Name: c.Name, Role: c.Role, Open: c.Open, Limited: c.Limited(), Version: a.opt.Version})
}

func meDescription() map[string]any {
	text := map[string]any{"type": "string"}
	return map[string]any{
		"operationId": "me", "summary": "Says who asks: the token's name and its role, and whether it is for some agents only (limited)", "x-role": httpauth.Read, "tags": []string{"me"},
		"responses": map[string]any{
			"200": map[string]any{"description": "who asks", "content": jsonContent(map[string]any{
				"type": "object", "required": []string{"name", "role", "version"},
				"properties": map[string]any{"name": text, "role": text, "version": text, "open": map[string]any{"type": "boolean"}, "limited": map[string]any{"type": "boolean"}},
			})},
			"default": map[string]any{"$ref": "#/components/responses/error"},
		},
	}
}
