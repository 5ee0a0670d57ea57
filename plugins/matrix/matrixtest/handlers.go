package matrixtest

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

const eventSize = 65_536

type handler func(w http.ResponseWriter, r *http.Request, d device)

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	const v3 = "/_matrix/client/v3/"
	mux.HandleFunc("GET /_matrix/client/versions", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"versions": []string{"v1.11"}})
	})
	mux.HandleFunc("POST "+v3+"login", s.login)
	for pattern, h := range map[string]handler{
		"POST " + v3 + "logout":                               s.logout,
		"GET " + v3 + "account/whoami":                        s.whoami,
		"GET " + v3 + "sync":                                  s.sync,
		"POST " + v3 + "createRoom":                           s.createRoom,
		"POST " + v3 + "join/{room}":                          s.join,
		"POST " + v3 + "rooms/{room}/join":                    s.join,
		"POST " + v3 + "rooms/{room}/invite":                  s.invite,
		"GET " + v3 + "joined_rooms":                          s.joinedRooms,
		"GET " + v3 + "rooms/{room}/joined_members":           s.joinedMembers,
		"GET " + v3 + "rooms/{room}/messages":                 s.messages,
		"GET " + v3 + "rooms/{room}/event/{event}":            s.event,
		"PUT " + v3 + "rooms/{room}/send/{type}/{txn}":        s.send,
		"PUT " + v3 + "rooms/{room}/typing/{user}":            s.setTyping,
		"GET " + v3 + "user/{user}/account_data/{type}":       s.readData,
		"PUT " + v3 + "user/{user}/account_data/{type}":       s.writeData,
		"POST /_matrix/media/v3/upload":                       s.upload,
		"GET /_matrix/media/v3/download/{server}/{id}":        s.download,
		"GET /_matrix/client/v1/media/download/{server}/{id}": s.newDownload,
	} {
		mux.HandleFunc(pattern, s.as(h))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "M_UNRECOGNIZED", "Unrecognized request")
	})
	return s.withFaults(olderPaths(mux))
}

// olderPaths serves what clients still ask for under the paths before v3.
func olderPaths(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "/r0/", "/v3/", 1)
		r.URL.RawPath = strings.Replace(r.URL.RawPath, "/r0/", "/v3/", 1)
		next.ServeHTTP(w, r)
	})
}

// as finds whose token a request has.
func (s *Server) as(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		d, ok := s.tokens[token(r)]
		s.mu.Unlock()
		if !ok {
			answer(w, http.StatusUnauthorized, map[string]any{"errcode": "M_UNKNOWN_TOKEN", "error": "Invalid access token passed.", "soft_logout": false})
			return
		}
		h(w, r, d)
	}
}

// token is that of a request; older clients have it in the address.
func token(r *http.Request) string {
	return cmp.Or(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.URL.Query().Get("access_token"))
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Identifier struct {
			User string `json:"user"`
		} `json:"identifier"`
		User     string `json:"user"`
		Password string `json:"password"`
		Device   string `json:"device_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	id := request.Identifier.User + request.User
	if !strings.HasPrefix(id, "@") {
		id = "@" + id + ":test"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.users[id]; u == nil || u.password != request.Password {
		refuse(w, http.StatusForbidden, "M_FORBIDDEN", "Invalid username or password")
		return
	}
	s.logins++
	made := s.token(id, request.Device)
	answer(w, http.StatusOK, map[string]any{"user_id": id, "access_token": made, "device_id": s.tokens[made].id, "home_server": "test"})
}

func (s *Server) logout(w http.ResponseWriter, _ *http.Request, d device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, kept := range s.tokens {
		if kept == d {
			delete(s.tokens, token)
		}
	}
	answer(w, http.StatusOK, struct{}{})
}

func (s *Server) whoami(w http.ResponseWriter, _ *http.Request, d device) {
	answer(w, http.StatusOK, map[string]any{"user_id": d.user, "device_id": d.id})
}

func (s *Server) createRoom(w http.ResponseWriter, r *http.Request, d device) {
	var request struct {
		Invite []string `json:"invite"`
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.newRoom(d.user)
	for _, user := range request.Invite {
		s.setMember(id, d.user, user, "invite")
	}
	answer(w, http.StatusOK, map[string]any{"room_id": id})
}

func (s *Server) join(w http.ResponseWriter, r *http.Request, d device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("room")
	if s.membership(id, d.user) != "invite" {
		refuse(w, http.StatusForbidden, "M_FORBIDDEN", "You are not invited to this room.")
		return
	}
	s.setMember(id, d.user, d.user, "join")
	answer(w, http.StatusOK, map[string]any{"room_id": id})
}

func (s *Server) invite(w http.ResponseWriter, r *http.Request, d device) {
	var request struct {
		User string `json:"user_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.inside(w, r, d) {
		return
	}
	s.setMember(r.PathValue("room"), d.user, request.User, "invite")
	answer(w, http.StatusOK, struct{}{})
}

// inside refuses who is not in the room of a request; s.mu is held.
func (s *Server) inside(w http.ResponseWriter, r *http.Request, d device) bool {
	id := r.PathValue("room")
	if s.membership(id, d.user) == "join" {
		return true
	}
	refuse(w, http.StatusForbidden, "M_FORBIDDEN", "User "+d.user+" not in room "+id)
	return false
}

func (s *Server) joinedRooms(w http.ResponseWriter, _ *http.Request, d device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rooms := []string{}
	for id := range s.rooms {
		if s.membership(id, d.user) == "join" {
			rooms = append(rooms, id)
		}
	}
	answer(w, http.StatusOK, map[string]any{"joined_rooms": rooms})
}

func (s *Server) joinedMembers(w http.ResponseWriter, r *http.Request, d device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.inside(w, r, d) {
		return
	}
	joined := map[string]any{}
	for _, id := range s.members(r.PathValue("room"), "join") {
		joined[id] = map[string]any{"display_name": s.users[id].name}
	}
	answer(w, http.StatusOK, map[string]any{"joined": joined})
}

func (s *Server) event(w http.ResponseWriter, r *http.Request, d device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.inside(w, r, d) {
		return
	}
	for _, e := range s.events {
		if e.Room == r.PathValue("room") && e.ID == r.PathValue("event") {
			answer(w, http.StatusOK, e)
			return
		}
	}
	refuse(w, http.StatusNotFound, "M_NOT_FOUND", "Event not found.")
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, d device) {
	body, _ := io.ReadAll(r.Body)
	var content map[string]any
	if json.Unmarshal(body, &content) != nil || !utf8.Valid(body) {
		refuse(w, http.StatusBadRequest, "M_NOT_JSON", "Content not JSON.")
		return
	}
	if len(body) > eventSize-500 {
		refuse(w, http.StatusRequestEntityTooLarge, "M_TOO_LARGE", "event too large")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.inside(w, r, d) {
		return
	}
	key := strings.Join([]string{d.user, d.id, r.PathValue("room"), r.PathValue("txn")}, "\x00")
	if s.sent[key] == "" {
		s.sent[key] = s.add(r.PathValue("room"), d.user, r.PathValue("type"), nil, content).ID
	}
	answer(w, http.StatusOK, map[string]any{"event_id": s.sent[key]})
}

func (s *Server) setTyping(w http.ResponseWriter, r *http.Request, d device) {
	var request struct {
		Typing bool `json:"typing"`
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inside(w, r, d) {
		s.rooms[r.PathValue("room")].typing[d.user] = request.Typing
		answer(w, http.StatusOK, struct{}{})
	}
}

func (s *Server) readData(w http.ResponseWriter, r *http.Request, d device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data, ok := s.users[d.user].data[r.PathValue("type")]; ok {
		answer(w, http.StatusOK, data)
		return
	}
	refuse(w, http.StatusNotFound, "M_NOT_FOUND", "Account data not found")
}

func (s *Server) writeData(w http.ResponseWriter, r *http.Request, d device) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[d.user].data[r.PathValue("type")] = body
	answer(w, http.StatusOK, struct{}{})
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request, _ device) {
	data, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(len(data)) > s.limit {
		refuse(w, http.StatusRequestEntityTooLarge, "M_TOO_LARGE", "Upload request body is too large")
		return
	}
	address := s.addFile(File{Name: r.URL.Query().Get("filename"), MIME: r.Header.Get("Content-Type"), Data: data})
	answer(w, http.StatusOK, map[string]any{"content_uri": address})
}

func (s *Server) download(w http.ResponseWriter, r *http.Request, _ device) {
	s.mu.Lock()
	f, ok := s.files[r.PathValue("id")]
	s.mu.Unlock()
	if !ok {
		refuse(w, http.StatusNotFound, "M_NOT_FOUND", "Not found")
		return
	}
	w.Header().Set("Content-Type", f.MIME)
	_, _ = w.Write(f.Data)
}

func (s *Server) newDownload(w http.ResponseWriter, r *http.Request, d device) {
	s.mu.Lock()
	oldness := s.oldness
	s.mu.Unlock()
	if oldness {
		refuse(w, http.StatusNotFound, "M_UNRECOGNIZED", "Unrecognized request")
		return
	}
	s.download(w, r, d)
}
