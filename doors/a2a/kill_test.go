//go:build long

package a2a_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
)

// Many requests at once, the host killed in the middle: who sends a message again with
// the same id gets the one answer of the one run.
func TestHostKilledUnderRequests(t *testing.T) {
	t.Parallel()
	n := doorstest.Many()
	p := doorstest.StartProcess(t)
	p.Ready()
	c := client{t, "http://" + p.HTTP + "/a2a/ana", ""}
	ctx := doorstest.Context(t)
	tasks := make([]task, n)
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() { tasks[i] = insist(ctx, c, i) })
	}
	bustest.Eventually(t, "some are at the model", func() bool { all, _ := p.Model.Asked(); return all > n/3 })
	p.Kill()
	p.Start()
	clients.Wait()
	for i, first := range tasks {
		if first.Status.State != completed || first.text() != fmt.Sprintf("said text %d", i) {
			t.Errorf("request %d: got %+v", i, first)
		}
	}
	p.OneRunEach(n)
	var list struct{ TotalSize int }
	if code, why := c.call("ListTasks", object{}, &list); code != 0 || list.TotalSize != n {
		t.Errorf("%d tasks are listed, want %d; %d %s", list.TotalSize, n, code, why)
	}
}

// insist sends a message until there is an answer.
func insist(ctx context.Context, c client, i int) task {
	body := c.request("SendMessage", object{"message": said(fmt.Sprintf("message-%d", i), fmt.Sprintf("text %d", i))})
	for ctx.Err() == nil {
		var got struct{ Result struct{ Task task } }
		if try(ctx, c.url, body, &got) == nil && got.Result.Task.ID != "" {
			return got.Result.Task
		}
		select {
		case <-time.After(100 * time.Millisecond): // as a client does
		case <-ctx.Done():
		}
	}
	return task{}
}

func try(ctx context.Context, url, body string, result any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, result)
}
