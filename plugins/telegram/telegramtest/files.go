package telegramtest

import (
	"net/http"
	"strconv"
	"strings"
)

// maxDownload is how large a file may be that getFile gives.
const maxDownload = 20 << 20

// addFile shows the file of a message. Called with the lock held.
func (s *Server) addFile(j map[string]any, m *Message) {
	f := *m.File
	if f.Size == 0 {
		f.Size = int64(len(f.Data))
	}
	id := "file" + strconv.FormatInt(m.ID, 10)
	s.files[id] = f
	about := map[string]any{"file_id": id, "file_unique_id": id, "file_size": f.Size, "mime_type": f.MIME, "file_name": f.Name, "duration": 1, "width": 800, "height": 600}
	if f.Kind != "photo" {
		j[f.Kind] = about
		return
	}
	small := map[string]any{"file_id": id + "-small", "file_unique_id": id + "s", "width": 80, "height": 60, "file_size": 3}
	s.files[id+"-small"] = File{Kind: "photo", Data: []byte("low")}
	j["photo"] = []any{small, map[string]any{"file_id": id, "file_unique_id": id, "width": 800, "height": 600, "file_size": f.Size}}
}

func (s *Server) getFile(id string) (any, *Refusal) {
	f, ok := s.files[id]
	switch {
	case !ok:
		return nil, badRequest("wrong file_id or the file is temporarily unavailable")
	case f.Size > maxDownload:
		return nil, badRequest("file is too big")
	}
	return map[string]any{"file_id": id, "file_unique_id": id, "file_size": f.Size, "file_path": "files/" + id}, nil
}

func (s *Server) serveFile(w http.ResponseWriter, path string) {
	refusal := s.begin(Call{Method: "file", Params: map[string]any{"path": path}})
	s.mu.Lock()
	f, ok := s.files[strings.TrimPrefix(path, "files/")]
	s.mu.Unlock()
	switch {
	case refusal != nil:
		http.Error(w, refusal.Description, refusal.Code)
	case !ok:
		http.NotFound(w, nil)
	default:
		_, _ = w.Write(f.Data)
	}
}
