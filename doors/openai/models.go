package openai

import (
	"net/http"

	"agenthost/doors"
)

// A model is an agent as the API lists it.
type model struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Description string `json:"description,omitempty"`
}

func modelOf(a doors.Agent) model {
	return model{ID: a.ID, Object: "model", OwnedBy: "agenthost", Description: a.Description}
}

func (d *door) listModels(w http.ResponseWriter, _ *http.Request, v doors.Visit) error {
	list := []model{}
	for _, a := range v.Agents {
		list = append(list, modelOf(a))
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
	return nil
}

func (d *door) showModel(w http.ResponseWriter, r *http.Request, v doors.Visit) error {
	id := r.PathValue("id")
	for _, a := range v.Agents {
		if a.ID == id {
			writeJSON(w, http.StatusOK, modelOf(a))
			return nil
		}
	}
	return noModel(id)
}

func noModel(id string) error {
	if id == "" {
		return badRequest("model", "model is missing: it is the id of an agent; GET /v1/models lists those that this token reaches")
	}
	return notFound("model", "there is no agent "+quoted(id)+"; GET /v1/models lists those that this token reaches")
}
