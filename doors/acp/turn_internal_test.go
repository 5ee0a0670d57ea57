package acp

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/doors"
	"agenthost/run"
)

// A question comes behind the update of the call that asks, however late that is, and a
// question of another agent, whose log is not followed, at once.
func TestQuestionComesBehindItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := &agent{Agent: doors.Agent{ID: "ana"}, desk: new(doors.Desk), conn: newConn(nil, &out)}
		turn := &turn{agent: a, id: "s", finished: map[string]bool{}, asked: map[string]bool{}, news: make(chan struct{})}
		key := a.desk.Key(a.place("s"))
		asked := make(chan struct{})
		begun := time.Now()
		go func() {
			defer close(asked)
			turn.awaitQuestion(t.Context(), client.Waiting{Agent: "ops", Session: key, Run: "other", Call: "c1"})
			turn.awaitQuestion(t.Context(), client.Waiting{Agent: "ana", Session: key, Run: "r1", Call: "c1", Kind: bus.KindQuestion})
		}()
		for _, e := range []run.Event{
			{Type: run.ToolRequested, Run: "r1", Call: "c1", Name: "ask_human"},
			{Type: run.QuestionAsked, Run: "r1", Call: "c2"},
			{Type: run.QuestionAsked, Run: "r1", Call: "c1"},
		} {
			synctest.Wait()
			select {
			case <-asked:
				t.Fatalf("the question came before %+v", e)
			default:
			}
			turn.fact(client.Fact{Of: "r1", Event: e})
		}
		<-asked
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		if !strings.Contains(out.String(), `"tool_call"`) {
			t.Errorf("updates: %s", out.String())
		}
	})
}
