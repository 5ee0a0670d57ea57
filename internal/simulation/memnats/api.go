package memnats

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const apiPrefix = "$JS.API."

// An apiError is what the API says where it does not do what was asked.
type apiError struct {
	Code        int    `json:"code"`
	ErrorCode   int    `json:"err_code"`
	Description string `json:"description"`
}

var (
	noStream      = apiError{404, 10059, "stream not found"}
	noConsumer    = apiError{404, 10014, "consumer not found"}
	noMessage     = apiError{404, 10037, "no message found"}
	consumerThere = apiError{400, 10148, "consumer already exists"}
	badRequest    = apiError{400, 10003, "bad request"}
)

// api answers a request; what is the subject behind the prefix.
func (s *Server) api(what, reply string, data []byte) {
	t := strings.Split(what, ".")
	answer := func(v any) {
		body, err := json.Marshal(v)
		if e, ok := v.(apiError); ok {
			body, err = json.Marshal(map[string]apiError{"error": e})
		}
		if err != nil {
			panic(err)
		}
		s.send(reply, "", nil, body)
	}
	op, name := strings.Join(t[:min(2, len(t))], "."), ""
	if len(t) > 2 {
		name = t[2]
	}
	switch op {
	case "INFO":
		answer(jetstream.AccountInfo{API: jetstream.APIStats{Level: 4}})
		return
	case "DIRECT.GET":
		if st := s.names[name]; st != nil {
			st.direct(strings.Join(t[3:], "."), reply, data)
		}
		return
	case "STREAM.CREATE":
		cfg := StreamConfig{}
		if json.Unmarshal(data, &cfg) != nil {
			answer(badRequest)
			return
		}
		st := s.names[name]
		if st == nil {
			st = s.addStream(cfg)
		}
		answer(st.info())
		return
	case "STREAM.LIST":
		answer(map[string]any{"total": 0, "offset": 0, "limit": 256, "streams": []any{}})
		return
	}
	if t[0] == "CONSUMER" && t[1] == "MSG" { // MSG.NEXT
		name = t[3]
	}
	if t[0] == "STREAM" && t[1] == "MSG" { // MSG.GET, MSG.DELETE
		name = t[3]
	}
	st := s.names[name]
	if st == nil {
		answer(noStream)
		return
	}
	switch op {
	case "STREAM.INFO":
		answer(st.info())
	case "STREAM.UPDATE":
		if json.Unmarshal(data, &st.cfg) != nil {
			answer(badRequest)
			return
		}
		answer(st.info())
	case "STREAM.PURGE":
		req := struct {
			Filter string
			Seq    uint64
			Keep   uint64
		}{}
		_ = json.Unmarshal(data, &req) // an empty one is one without conditions
		before := len(st.msgs)
		st.remove(func(m *Message) bool {
			return (req.Filter == "" || matches(req.Filter, m.Subject)) && (req.Seq == 0 || m.Seq < req.Seq)
		})
		answer(map[string]any{"success": true, "purged": before - len(st.msgs)})
	case "STREAM.MSG":
		st.leaderGet(data, answer)
	case "CONSUMER.INFO":
		if o := st.consumer(t[3]); o != nil {
			answer(o.info())
			return
		}
		answer(noConsumer)
	case "CONSUMER.LIST":
		list := make([]*jetstream.ConsumerInfo, len(st.consumers))
		for i, o := range st.consumers {
			list[i] = o.info()
		}
		answer(map[string]any{"total": len(list), "offset": 0, "limit": len(list) + 1, "consumers": list})
	case "CONSUMER.CREATE":
		st.create(data, reply, answer)
	case "CONSUMER.DELETE":
		before := len(st.consumers)
		st.consumers = slices.DeleteFunc(st.consumers, func(o *consumer) bool { return o.cfg.Name == t[3] })
		if len(st.consumers) == before {
			answer(noConsumer)
			return
		}
		answer(map[string]bool{"success": true})
	case "CONSUMER.RESET":
		o := st.consumer(t[3])
		if o == nil {
			answer(noConsumer)
			return
		}
		seq := o.asflr + 1
		o.reset()
		answer(struct {
			*jetstream.ConsumerInfo
			ResetSeq uint64 `json:"reset_seq"`
		}{o.info(), seq})
	case "CONSUMER.UNPIN":
		if o := st.consumer(t[3]); o != nil {
			o.pin = ""
			o.pump()
			answer(struct{}{})
			return
		}
		answer(noConsumer)
	case "CONSUMER.MSG":
		if o := st.consumer(t[4]); o != nil {
			st.pull(o, reply, data)
			return
		}
		s.send(reply, "", status(503, "No Responders"), nil)
	default:
		panic(fmt.Sprintf("the server in memory does not know %s%s", apiPrefix, what))
	}
}

func (st *stream) consumer(name string) *consumer {
	for _, o := range st.consumers {
		if o.cfg.Name == name {
			return o
		}
	}
	return nil
}

// create makes or changes a consumer.
func (st *stream) create(data []byte, reply string, answer func(any)) {
	req := struct {
		Config consumerConfig `json:"config"`
		Action string         `json:"action"`
	}{}
	if json.Unmarshal(data, &req) != nil {
		answer(badRequest)
		return
	}
	cfg := req.Config
	if cfg.Name == "" {
		cfg.Name = cfg.Durable
	}
	if cfg.Name == "" {
		st.server.ids++
		cfg.Name = fmt.Sprint("ephemeral", st.server.ids)
	}
	o := st.consumer(cfg.Name)
	switch {
	case o == nil:
		o = newConsumer(st, cfg)
		st.consumers = append(st.consumers, o)
		if cfg.DeliverSubject != "" {
			o.asked = reply
		}
	case req.Action == "create" && !slices.Equal(cfg.FilterSubjects, o.cfg.FilterSubjects):
		answer(consumerThere)
		return
	default:
		o.cfg = cfg
		o.setFilters(cfg)
	}
	answer(o.info())
	o.pump()
}

// pull takes a request for messages.
func (st *stream) pull(o *consumer, reply string, data []byte) {
	req := struct {
		Batch    int           `json:"batch"`
		MaxBytes int           `json:"max_bytes"`
		Expires  time.Duration `json:"expires"`
		NoWait   bool          `json:"no_wait"`
		Beat     time.Duration `json:"idle_heartbeat"`
		Group    string        `json:"group"`
		ID       string        `json:"id"`
	}{}
	_ = json.Unmarshal(data, &req) // an empty one asks for one
	now := time.Now()
	p := &pull{reply: reply, n: max(req.Batch, 1), bytes: req.MaxBytes, noWait: req.NoWait, beat: req.Beat, group: req.Group, id: req.ID}
	if req.Expires > 0 {
		p.expires = now.Add(req.Expires)
	}
	if req.Beat > 0 {
		p.beats = now.Add(req.Beat)
	}
	o.request(p)
}

// A getRequest asks for stored messages.
type getRequest struct {
	Seq       uint64     `json:"seq"`
	StartTime *time.Time `json:"start_time"`
	LastFor   string     `json:"last_by_subj"`
	NextFor   string     `json:"next_by_subj"`
	Batch     int        `json:"batch"`
}

// find is the first message that is asked for.
func (st *stream) find(req getRequest) *Message {
	switch {
	case req.LastFor != "":
		return st.heads[req.LastFor]
	case req.StartTime != nil:
		for _, m := range st.msgs {
			if !m.Time.Before(*req.StartTime) && matches(req.NextFor, m.Subject) {
				return m
			}
		}
		return nil
	case req.NextFor != "":
		return st.next(req.Seq, []string{req.NextFor})
	}
	return st.get(req.Seq)
}

// direct answers as any copy of a stream does.
func (st *stream) direct(last, reply string, data []byte) {
	req := getRequest{}
	_ = json.Unmarshal(data, &req) // an empty one is for the last of a subject
	if last != "" {
		req.LastFor = last
	}
	m := st.find(req)
	if m == nil {
		st.server.send(reply, "", status(404, "Message Not Found"), nil)
		return
	}
	if req.Batch == 0 {
		st.answerWith(reply, m)
		return
	}
	var list []*Message
	for _, m := range st.msgs[st.at(m.Seq):] {
		if matches(req.NextFor, m.Subject) {
			list = append(list, m)
		}
	}
	now := list[:min(len(list), req.Batch)]
	for i, m := range now {
		st.answerWith(reply, m, "Nats-Num-Pending", strconv.Itoa(len(list)-i-1))
	}
	end := status(204, "EOB", "Nats-Num-Pending", strconv.Itoa(len(list)-len(now)), "Nats-Last-Sequence", strconv.FormatUint(now[len(now)-1].Seq, 10))
	st.server.send(reply, "", end, nil)
}

func (st *stream) answerWith(reply string, m *Message, more ...string) {
	pairs := append([]string{
		"Nats-Stream", st.cfg.Name, "Nats-Subject", m.Subject, "Nats-Sequence", strconv.FormatUint(m.Seq, 10),
		"Nats-Time-Stamp", m.Time.UTC().Format(time.RFC3339Nano),
	}, more...)
	st.server.send(reply, "", withHeaders(m.Header, pairs...), m.Data)
}

// leaderGet answers as the leader of a stream does.
func (st *stream) leaderGet(data []byte, answer func(any)) {
	req := getRequest{}
	if json.Unmarshal(data, &req) != nil {
		answer(badRequest)
		return
	}
	m := st.find(req)
	if m == nil {
		answer(noMessage)
		return
	}
	answer(map[string]any{"message": map[string]any{"subject": m.Subject, "seq": m.Seq, "hdrs": m.Header, "data": m.Data, "time": m.Time}})
}
