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
	number, there := s.paths[r.URL.Path]
	if !there || r.Method != http.MethodGet {
		status(w, http.StatusNotFound, "NotFound", "this server has no "+r.URL.Path)
		return
	}
	v, ok := s.negotiate(number, r.Header.Get("Accept"))
	if !ok {
		status(w, http.StatusNotAcceptable, "NotAcceptable", "no tape in the form that is asked for: "+r.Header.Get("Accept"))
		return
	}
	q := r.URL.Query()
	if on, _ := strconv.ParseBool(q.Get("watch")); on {
		s.watch(w, r, v)
		return
	}
	s.list(w, v, q.Get("limit"), q.Get("continue"), q.Get("resourceVersion"))
}

// offer is one kind of a tape, in the form that a request accepts.
type offer struct {
	*Tape
	*kind
	number int // of the kind
}

// negotiate returns the tape that has a kind in a form that the client accepts.
func (s *Server) negotiate(number int, accept string) (v offer, ok bool) {
	proto := slices.ContainsFunc(s.tapes, func(t *Tape) bool { return t.kinds[number].form == Protobuf })
	form, ok := negotiate(accept, proto)
	for _, t := range s.tapes {
		if k := &t.kinds[number]; ok && k.form == form {
			return offer{t, k, number}, true
		}
	}
	return v, false
}

// has reports whether an item is of the kind.
func (v offer) has(it item) bool { return int(v.of[it.object]) == v.number }

func status(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
}

// list serves the existing objects, or a page of them. The token of a page is a position: no event
// may happen between two pages.
func (s *Server) list(w http.ResponseWriter, v offer, limit, next, version string) {
	s.mu.Lock()
	s.listed++
	at, live := v.first+len(s.log), s.liveLocked(v)
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
	form := v.kind.form
	w.Header().Set("Content-Type", form.contentType(false))
	_, list := form.kinds(v.GVK)
	out := &writer{w: w}
	if form.protobuf() {
		meta := metadataOfList(at, token, int64(left))
		size := protowire.SizeTag(listMeta) + protowire.SizeBytes(len(meta))
		for _, it := range live {
			size += protowire.SizeTag(listItem) + protowire.SizeBytes(len(v.show(it)))
		}
		out.write(envelope(list, size))
		out.write(protowire.AppendBytes(protowire.AppendTag(nil, listMeta, protowire.BytesType), meta))
		for _, it := range live {
			message := v.show(it)
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
		out.write(v.show(it))
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
func (s *Server) watch(w http.ResponseWriter, r *http.Request, v offer) {
	q, form := r.URL.Query(), v.kind.form
	gvk, _ := form.kinds(v.GVK)
	version, _ := strconv.Atoi(q.Get("resourceVersion"))
	initial := q.Get("sendInitialEvents") == "true"
	s.mu.Lock()
	oldest, cut, played, live := s.oldest, s.cut, len(s.log), []item(nil)
	next := version - v.first // the event after that version
	if initial {
		next, live = played, s.liveLocked(v)
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
	w.Header().Set("Content-Type", form.contentType(true))
	out := &stream{writer: writer{w: w}, form: form, gvk: gvk}
	out.flush(w)
	if initial {
		for _, it := range live {
			out.send("ADDED", v.show(it))
		}
		out.send("BOOKMARK", form.bookmark(v.GVK, v.first+next, true))
	}
	for out.err == nil {
		s.mu.Lock()
		log, now, changed, timed := s.log, s.cut, s.happened[v.number], s.timed
		s.mu.Unlock()
		if now != cut {
			return
		}
		for ; next < len(log) && out.err == nil; next++ {
			if v.has(log[next].item) {
				timed.sending(next)
				out.send(log[next].event, v.show(log[next].item))
			}
		}
		out.flush(w)
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-time.After(time.Minute):
			out.send("BOOKMARK", form.bookmark(v.GVK, v.first+next, false))
		}
	}
}

// stream writes frames in large pieces.
type stream struct {
	writer
	form Form
	gvk  schema.GroupVersionKind
	buf  []byte
}

func (s *stream) send(event string, message []byte) {
	s.buf = s.form.frame(s.buf, event, s.gvk, message)
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
