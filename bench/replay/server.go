package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.proto = r.ProtoMajor
	s.mu.Unlock()
	if r.URL.Path == "/version" {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"major":"1","minor":"37","gitVersion":"v1.37.2","platform":"linux/amd64"}`)
		return
	}
	if r.URL.Path != s.path || r.Method != http.MethodGet {
		status(w, http.StatusNotFound, "NotFound", "this server has "+s.path+" only")
		return
	}
	_, proto := s.tapes[Protobuf]
	form, ok := negotiate(r.Header.Get("Accept"), proto)
	tape := s.tapes[form]
	if !ok || tape == nil {
		status(w, http.StatusNotAcceptable, "NotAcceptable", "no tape in the form that is asked for: "+r.Header.Get("Accept"))
		return
	}
	q := r.URL.Query()
	if on, _ := strconv.ParseBool(q.Get("watch")); on {
		s.watch(w, r, tape)
		return
	}
	s.list(w, tape, q.Get("limit"), q.Get("continue"), q.Get("resourceVersion"))
}

func status(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
}

// list serves the existing objects, or a page of them. The token of a page is a position: no event
// may happen between two pages.
func (s *Server) list(w http.ResponseWriter, t *Tape, limit, next, version string) {
	s.mu.Lock()
	s.listed++
	at, live := t.first+len(s.log), slices.Clone(s.live)
	s.mu.Unlock()
	from, _ := strconv.Atoi(next)
	from = min(from, len(live))
	n, _ := strconv.Atoi(limit)
	if n == 0 || s.mode != Paged && version == "0" && next == "" { // answers of any age come whole
		n = len(live)
	}
	left, token := len(live)-from, ""
	live = live[from:min(from+n, len(live))]
	if left -= len(live); left > 0 {
		token = strconv.Itoa(from + len(live))
	}
	w.Header().Set("Content-Type", t.form.contentType(false))
	_, list := t.form.kinds(t.resource.GVK)
	out := &writer{w: w}
	if t.form.protobuf() {
		meta := metadataOfList(at, token, int64(left))
		size := protowire.SizeTag(listMeta) + protowire.SizeBytes(len(meta))
		for _, it := range live {
			size += protowire.SizeTag(listItem) + protowire.SizeBytes(len(t.show(it)))
		}
		out.write(envelope(list, size))
		out.write(protowire.AppendBytes(protowire.AppendTag(nil, listMeta, protowire.BytesType), meta))
		for _, it := range live {
			message := t.show(it)
			out.write(protowire.AppendVarint(protowire.AppendTag(nil, listItem, protowire.BytesType), uint64(len(message))))
			out.write(message)
		}
		return
	}
	head, _ := json.Marshal(map[string]any{"resourceVersion": strconv.Itoa(at), "continue": token})
	out.write(fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, list.Kind, list.GroupVersion(), head))
	for i, it := range live {
		if i > 0 {
			out.write([]byte{','})
		}
		out.write(t.show(it))
	}
	out.write([]byte("]}\n"))
}

// writer writes until a write fails.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// watch sends the events since a version, and then new ones.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t *Tape) {
	q := r.URL.Query()
	gvk, _ := t.form.kinds(t.resource.GVK)
	version, _ := strconv.Atoi(q.Get("resourceVersion"))
	initial := q.Get("sendInitialEvents") == "true"
	s.mu.Lock()
	oldest, cut, played, live := s.oldest, s.cut, len(s.log), []item(nil)
	next := version - t.first // the event after that version
	if initial {
		next, live = played, slices.Clone(s.live)
	}
	s.mu.Unlock()
	if next < oldest {
		status(w, http.StatusGone, "Expired", "too old resource version")
		return
	}
	if initial && s.mode != Streaming {
		status(w, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents: Forbidden: there are no streaming lists here")
		return
	}
	s.change(func() { s.watches++ })
	w.Header().Set("Content-Type", t.form.contentType(true))
	out := &stream{writer: writer{w: w}, tape: t, gvk: gvk}
	out.flush(w)
	if initial {
		for _, it := range live {
			out.send("ADDED", t.show(it))
		}
		out.send("BOOKMARK", t.form.bookmark(t.resource.GVK, t.first+next, true))
	}
	for out.err == nil {
		s.mu.Lock()
		log, now, changed, timed := s.log, s.cut, s.changed, s.timed
		s.mu.Unlock()
		if now != cut {
			return
		}
		for ; next < len(log) && out.err == nil; next++ {
			timed.sending(next)
			out.send(log[next].event, t.show(log[next].item))
		}
		out.flush(w)
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-time.After(time.Minute):
			out.send("BOOKMARK", t.form.bookmark(t.resource.GVK, t.first+next, false))
		}
	}
}

// stream writes frames in large pieces.
type stream struct {
	writer
	tape *Tape
	gvk  schema.GroupVersionKind
	buf  []byte
}

func (s *stream) send(event string, message []byte) {
	s.buf = s.tape.form.frame(s.buf, event, s.gvk, message)
	if len(s.buf) > 64<<10 {
		s.write(s.buf)
		s.buf = s.buf[:0]
	}
}

func (s *stream) flush(w http.ResponseWriter) {
	s.write(s.buf)
	s.buf = s.buf[:0]
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
