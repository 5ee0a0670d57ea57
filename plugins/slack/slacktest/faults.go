package slacktest

import (
	"net/http"
	"strconv"
	"time"
)

// A fault is what becomes of the next calls of a method.
type fault struct {
	method string
	times  int
	answer func(w http.ResponseWriter)
	after  bool // the call is carried out first
}

// FailNext refuses the next calls of a method with a word.
func (s *Server) FailNext(times int, method, word string) {
	s.addFault(fault{method: method, times: times, answer: func(w http.ResponseWriter) { refuse(w, word) }})
}

// BreakNext answers the next calls of a method with a status and no JSON.
func (s *Server) BreakNext(times int, method string, status int) {
	s.addFault(fault{method: method, times: times, answer: func(w http.ResponseWriter) { http.Error(w, "sorry", status) }})
}

// LimitNext refuses the next calls of a method for a time, in whole seconds.
func (s *Server) LimitNext(times int, method string, wait time.Duration) {
	s.addFault(fault{method: method, times: times, answer: func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		refuse(w, "ratelimited")
	}})
}

// HangNext leaves the next calls of a method without an answer, until the server ends.
func (s *Server) HangNext(times int, method string) {
	s.addFault(fault{method: method, times: times, answer: func(http.ResponseWriter) { <-s.ended; panic(http.ErrAbortHandler) }})
}

// LoseNext carries the next calls of a method out, but breaks the connection in place
// of the answer.
func (s *Server) LoseNext(times int, method string) {
	s.addFault(fault{method: method, times: times, after: true, answer: func(http.ResponseWriter) { panic(http.ErrAbortHandler) }})
}

// BreakFiles breaks the connection in place of the next files.
func (s *Server) BreakFiles(times int) {
	s.addFault(fault{method: "files", times: times, answer: func(http.ResponseWriter) { panic(http.ErrAbortHandler) }})
}

func (s *Server) addFault(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// next takes the fault that is meant for a call.
func (s *Server) next(method string) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.times > 0 && f.method == method {
			f.times--
			return f
		}
	}
	return nil
}

// discard is an answer that never arrives.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}
