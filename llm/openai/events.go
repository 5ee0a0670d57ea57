package openai

import (
	"fmt"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// Event takes one event; [DONE] is the last.
func (a *answer) Event(e httpapi.Event) (done bool, err error) {
	switch {
	case isDone(e.Data):
		a.Done()
		return true, nil
	case e.Name == "error":
		return false, errorEvent(e.Data)
	case len(e.Data) == 0:
		return false, nil
	}
	cs, bad := chunks(e.Data)
	for _, c := range cs {
		if err := a.add(c); err != nil {
			return false, err
		}
	}
	if bad != nil {
		return false, llm.Unavailable(fmt.Errorf("read chunk: %w", bad))
	}
	return false, nil
}

func errorEvent(data []byte) error {
	e := httpapi.EventError[wireError](data)
	if e == nil {
		e = &wireError{Message: string(data)}
	}
	return e.streamed()
}
