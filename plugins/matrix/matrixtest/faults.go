package matrixtest

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A fault is what becomes of the next requests of a kind.
type fault struct {
	method, part string
	times        int
	answer       func(w http.ResponseWriter)
	after        bool // the request is carried out first
}

// FailNext answers the next requests whose path contains part in place of the server.
func (s *Server) FailNext(times int, method, part string, status int, code, words string) {
	s.addFault(fault{method: method, part: part, times: times, answer: func(w http.ResponseWriter) {
		refuse(w, status, code, words)
	}})
}

// LimitNext refuses the next messages for a time.
func (s *Server) LimitNext(times int, wait time.Duration) {
	s.addFault(fault{method: http.MethodPut, part: "/send/", times: times, answer: func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		answer(w, http.StatusTooManyRequests, map[string]any{"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": wait.Milliseconds()})
	}})
}

// LoseNext carries the next messages out, but breaks the connection in place of the
// answer.
func (s *Server) LoseNext(times int) {
	s.addFault(fault{method: http.MethodPut, part: "/send/", times: times, after: true, answer: func(http.ResponseWriter) {
		panic(http.ErrAbortHandler)
	}})
}

// AnswerNext answers the next requests whose path contains part in its own way. It returns how
// many these were so far.
func (s *Server) AnswerNext(times int, method, part string, answer func(http.ResponseWriter)) (answered func() int) {
	var count atomic.Int32
	s.addFault(fault{method: method, part: part, times: times, answer: func(w http.ResponseWriter) {
		count.Add(1)
		answer(w)
	}})
	return func() int { return int(count.Load()) }
}

func (s *Server) addFault(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// Disconnect ends all syncs that wait, with a broken connection.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.drop)
	s.drop = make(chan struct{})
}

// Revoke ends all tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
	s.wake()
}

// LimitFiles is how large a file may be.
func (s *Server) LimitFiles(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = size
}

// OldMedia makes the server one from before authenticated media.
func (s *Server) OldMedia() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldness = true
}

// next takes the fault that is meant for a request.
func (s *Server) next(r *http.Request) (fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.faults {
		f := &s.faults[i]
		if f.times > 0 && f.method == r.Method && strings.Contains(r.URL.Path, f.part) {
			f.times--
			return *f, true
		}
	}
	return fault{}, false
}

func (s *Server) withFaults(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, found := s.next(r)
		if !found || f.after {
			if f.after {
				next.ServeHTTP(discard{}, r)
				f.answer(w)
			}
			if !found {
				next.ServeHTTP(w, r)
			}
			return
		}
		f.answer(w)
	})
}

// discard is an answer that never arrives.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}
