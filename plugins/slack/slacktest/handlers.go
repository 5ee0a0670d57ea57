package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

type method func(w http.ResponseWriter, form url.Values)

func (s *Server) handler() http.Handler {
	methods := map[string]method{
		"auth.test": func(w http.ResponseWriter, _ url.Values) {
			answer(w, map[string]any{"ok": true, "url": s.http.URL, "team": "Team", "user": "bot", "team_id": Team, "user_id": Bot, "bot_id": "B1"})
		},
		"users.info": s.user, "conversations.open": s.openDirect,
		"chat.postMessage": s.post, "chat.update": s.update,
		"chat.startStream": s.startStream, "chat.appendStream": s.appendStream, "chat.stopStream": s.stopStream,
		"conversations.history": s.history, "conversations.replies": s.history,
		"files.getUploadURLExternal": s.uploadAddress, "files.completeUploadExternal": s.completeUpload,
		"assistant.threads.setStatus": s.setStatus,
	}
	mux := http.NewServeMux()
	for name, m := range methods {
		mux.HandleFunc("POST /api/"+name, s.as(name, m))
		mux.HandleFunc("GET /api/"+name, s.as(name, m))
	}
	mux.HandleFunc("POST /api/apps.connections.open", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		valid := bearer(r) == s.appToken
		s.mu.Unlock()
		switch f := s.next("apps.connections.open"); {
		case f != nil:
			f.answer(w)
		case !valid:
			refuse(w, "invalid_auth")
		default:
			s.openSocket(w)
		}
	})
	mux.HandleFunc("POST /api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, "unknown_method") })
	mux.HandleFunc("GET /socket", s.serveSocket)
	mux.HandleFunc("POST /upload/{id}", s.upload)
	mux.HandleFunc("GET /files/{id}", s.download)
	mux.HandleFunc("GET /login/{id}", signIn)
	return mux
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// as refuses calls without the app's token, and those that have to fail.
func (s *Server) as(name string, m method) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseMultipartForm(1 << 20)
		_ = r.ParseForm()
		token := bearer(r)
		if token == "" {
			token = r.Form.Get("token")
		}
		s.mu.Lock()
		valid := token == s.botToken
		s.mu.Unlock()
		f := s.next(name)
		switch {
		case f != nil && f.after:
			s.mu.Lock()
			m(discard{}, r.Form)
			s.mu.Unlock()
			f.answer(w)
		case f != nil:
			f.answer(w)
		case !valid:
			refuse(w, "invalid_auth")
		default:
			s.mu.Lock()
			defer s.mu.Unlock()
			m(w, r.Form)
		}
	}
}

func (s *Server) user(w http.ResponseWriter, form url.Values) {
	name, ok := s.names[form.Get("user")]
	if !ok {
		refuse(w, "user_not_found")
		return
	}
	answer(w, map[string]any{"ok": true, "user": map[string]any{"id": form.Get("user"), "name": strings.ToLower(name), "profile": map[string]any{"display_name": name}}})
}

func (s *Server) openDirect(w http.ResponseWriter, form url.Values) {
	answer(w, map[string]any{"ok": true, "channel": map[string]any{"id": "D" + strings.TrimPrefix(form.Get("users"), "U")}})
}

// allowed refuses a channel that takes nothing; s.mu is held.
func (s *Server) allowed(w http.ResponseWriter, channel string) bool {
	if channel == "" || strings.Contains(channel, "NONE") {
		refuse(w, "channel_not_found")
		return false
	}
	return true
}

const textSize = 40_000

func (s *Server) post(w http.ResponseWriter, form url.Values) {
	channel := form.Get("channel")
	if !s.allowed(w, channel) || !s.fits(w, form, textSize) {
		return
	}
	m := &Message{Channel: channel, User: Bot, Text: form.Get("text"), Thread: form.Get("thread_ts"), Time: s.now()}
	m.set(form)
	s.messages = append(s.messages, m)
	delete(s.statuses, channel+m.Thread)
	answer(w, map[string]any{"ok": true, "channel": channel, "ts": m.Time, "message": map[string]any{"text": m.Text, "ts": m.Time, "user": Bot}})
}

func (m *Message) set(form url.Values) {
	m.Blocks = json.RawMessage(form.Get("blocks"))
	if form.Get("metadata") != "" {
		m.Metadata = json.RawMessage(form.Get("metadata"))
	}
}

// fits refuses what Slack finds too long.
func (s *Server) fits(w http.ResponseWriter, form url.Values, most int) bool {
	var blocks []struct {
		Text struct {
			Text string `json:"text"`
		} `json:"text"`
	}
	if form.Get("blocks") != "" && json.Unmarshal([]byte(form.Get("blocks")), &blocks) != nil {
		refuse(w, "invalid_blocks_format")
		return false
	}
	for _, b := range blocks {
		if len([]rune(b.Text.Text)) > 3000 {
			refuse(w, "invalid_blocks")
			return false
		}
	}
	switch text := form.Get("text"); {
	case len([]rune(text)) > most:
		refuse(w, "msg_too_long")
	case text == "" && len(blocks) == 0:
		refuse(w, "no_text")
	default:
		return true
	}
	return false
}

func (s *Server) update(w http.ResponseWriter, form url.Values) {
	m := s.find(form)
	switch {
	case m == nil:
		refuse(w, "message_not_found")
	case m.Streaming:
		refuse(w, "streaming_state_conflict")
	case s.fits(w, form, 4000):
		m.Text = form.Get("text")
		m.Edits++
		m.set(form)
		answer(w, map[string]any{"ok": true, "channel": m.Channel, "ts": m.Time, "text": m.Text})
	}
}

func (s *Server) startStream(w http.ResponseWriter, form url.Values) {
	if !s.streams {
		refuse(w, "unknown_method")
		return
	}
	if !s.allowed(w, form.Get("channel")) {
		return
	}
	if form.Get("thread_ts") == "" || form.Get("recipient_user_id") == "" {
		refuse(w, "invalid_arguments")
		return
	}
	m := &Message{Channel: form.Get("channel"), User: Bot, Text: form.Get("markdown_text"), Thread: form.Get("thread_ts"), Time: s.now(), Streaming: true, Streamed: true}
	s.messages = append(s.messages, m)
	answer(w, map[string]any{"ok": true, "channel": m.Channel, "ts": m.Time})
}

func (s *Server) appendStream(w http.ResponseWriter, form url.Values) {
	m := s.find(form)
	if m == nil || !m.Streaming {
		refuse(w, "message_not_in_streaming_state")
		return
	}
	m.Text += form.Get("markdown_text")
	answer(w, map[string]any{"ok": true, "channel": m.Channel, "ts": m.Time})
}

func (s *Server) stopStream(w http.ResponseWriter, form url.Values) {
	m := s.find(form)
	if m == nil || !m.Streaming {
		refuse(w, "message_not_in_streaming_state")
		return
	}
	m.Text += form.Get("markdown_text")
	m.Streaming = false
	answer(w, map[string]any{"ok": true, "channel": m.Channel, "ts": m.Time})
}

func (s *Server) history(w http.ResponseWriter, form url.Values) {
	found := []any{}
	for _, m := range s.messages {
		if m.Channel == form.Get("channel") && m.Thread == form.Get("ts") {
			shown := map[string]any{"type": "message", "ts": m.Time, "user": m.User, "text": m.Text}
			if m.Metadata != nil {
				shown["metadata"] = m.Metadata
			}
			found = append(found, shown)
		}
	}
	answer(w, map[string]any{"ok": true, "messages": found})
}

func (s *Server) setStatus(w http.ResponseWriter, form url.Values) {
	s.statuses[form.Get("channel_id")+form.Get("thread_ts")] = form.Get("status")
	answer(w, map[string]any{"ok": true})
}

func (s *Server) uploadAddress(w http.ResponseWriter, form url.Values) {
	s.count++
	f := &File{ID: fmt.Sprintf("F%d", s.count), Name: form.Get("filename")}
	s.files[f.ID] = f
	answer(w, map[string]any{"ok": true, "upload_url": s.http.URL + "/upload/" + f.ID, "file_id": f.ID})
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	content := io.Reader(r.Body)
	if parts, err := r.MultipartReader(); err == nil {
		if part, err := parts.NextPart(); err == nil {
			content = part // as Slack's library for JavaScript sends it
		}
	}
	data, _ := io.ReadAll(content)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[r.PathValue("id")]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	f.Data, f.MIME = data, r.Header.Get("Content-Type")
	_, _ = fmt.Fprintf(w, "OK - %d", len(data))
}

func (s *Server) completeUpload(w http.ResponseWriter, form url.Values) {
	if !s.allowed(w, form.Get("channel_id")) {
		return
	}
	var files []struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal([]byte(form.Get("files")), &files)
	m := &Message{Channel: form.Get("channel_id"), User: Bot, Text: form.Get("initial_comment"), Thread: form.Get("thread_ts"), Time: s.now()}
	shared := []any{}
	for _, f := range files {
		stored := s.files[f.ID]
		if stored == nil {
			refuse(w, "file_not_found")
			return
		}
		m.Files = append(m.Files, *stored)
		shared = append(shared, map[string]any{"id": f.ID, "title": stored.Name})
	}
	s.messages = append(s.messages, m)
	answer(w, map[string]any{"ok": true, "files": shared})
}

// download gives a file to the app alone; others get the page on which to log in.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	if f := s.next("files"); f != nil {
		f.answer(w)
		return
	}
	s.mu.Lock()
	f, valid := s.files[r.PathValue("id")], bearer(r) == s.botToken
	s.mu.Unlock()
	switch {
	case !valid:
		signIn(w, r)
	case f == nil:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", f.MIME)
		_, _ = w.Write(f.Data)
	}
}

// signIn is what Slack shows in place of a file that the app may not read.
func signIn(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<html>Sign in</html>")
}
