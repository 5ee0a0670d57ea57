package openai

import (
	"encoding/json"
	"fmt"

	"agenthost/llm"
)

// events reads until [DONE], or until the body ends one way or the other after
// a finish.
func (a *answer) events() error {
	for e, err := range a.body.Events() {
		if err != nil {
			return err
		}
		if isDone(e.Data) {
			a.done()
			return nil
		}
		if err := a.event(e); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) event(e llm.ServerEvent) error {
	if e.Name == "error" {
		return errorEvent(e.Data)
	}
	if len(e.Data) == 0 {
		return nil
	}
	cs, bad := chunks(e.Data)
	for _, c := range cs {
		if err := a.add(c); err != nil {
			return err
		}
	}
	if bad != nil {
		return llm.Unavailable(fmt.Errorf("read chunk: %w", bad))
	}
	return nil
}

// errorEvent is an error with or without an "error" around it.
func errorEvent(data []byte) error {
	var wrapped struct {
		Error *wireError `json:"error"`
	}
	if json.Unmarshal(data, &wrapped) == nil && wrapped.Error != nil {
		return wrapped.Error.streamed()
	}
	var bare wireError
	if json.Unmarshal(data, &bare) != nil {
		bare.Message = string(data)
	}
	return bare.streamed()
}

// done takes [DONE] for a finish when the server has given none but an answer.
func (a *answer) done() {
	if a.finish == "" && a.said {
		a.finish = llm.FinishStop
	}
	a.body.HangUpAfter(afterDone)
}
