package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Server serves the tapes of one corpus and plan, one tape for each form. It implements
// http.Handler. Its methods may be called from any goroutine.
type Server struct {
	tapes map[Form]*Tape
	any   *Tape
	path  string

	mu      sync.Mutex
	changed chan struct{} // closed when any of what follows changes
	live    []item        // what is there
	where   map[int]int   // object → its place in live
	played  int           // how many events have happened
	oldest  int           // versions before this one are gone
	cut     int           // how often all watches were ended
	lists   int
	watches int
}

// NewServer makes a server of tapes that differ in their form only.
func NewServer(tapes ...*Tape) *Server {
	s := &Server{tapes: map[Form]*Tape{}, where: map[int]int{}, changed: make(chan struct{})}
	for _, t := range tapes {
		s.tapes[t.form], s.any = t, t
	}
	for i := range s.any.spec.Objects {
		s.live, s.where[i] = append(s.live, item{i, i}), i
	}
	gvr := s.any.spec.GVR()
	s.path = "/apis/" + gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
	if gvr.Group == "" {
		s.path = "/api/" + gvr.Version + "/" + gvr.Resource
	}
	return s
}

func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Play lets n events happen, evenly spaced at a rate in events per second; rate 0: at once. It
// returns when the last has happened, which is not yet when somebody has seen it.
func (s *Server) Play(ctx context.Context, n int, rate float64) error {
	s.mu.Lock()
	left := s.any.plan.Events - s.played
	s.mu.Unlock()
	if n > left {
		return fmt.Errorf("%d events are left on the tape, not %d", left, n)
	}
	if rate > 0 {
		_, err := s.PlayTimed(ctx, n, rate)
		return err
	}
	s.change(func() {
		for range n {
			s.stepLocked()
		}
	})
	return nil
}

// PlayTimed is Play at a rate, and says when each event happened.
func (s *Server) PlayTimed(ctx context.Context, n int, rate float64) (at []time.Time, err error) {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range n {
		timer.Reset(time.Until(began.Add(time.Duration(float64(i) / rate * float64(time.Second)))))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return at, context.Cause(ctx)
		}
		at = append(at, time.Now())
		s.change(s.stepLocked)
	}
	return at, nil
}

// stepLocked has the next event happen.
func (s *Server) stepLocked() {
	k := s.played
	s.played++
	event, object, _ := s.any.plan.step(s.any.spec, k)
	it := item{object, s.any.spec.Objects + k}
	switch event {
	case "MODIFIED":
		s.live[s.where[object]] = it
	case "ADDED":
		s.where[object] = len(s.live)
		s.live = append(s.live, it)
	case "DELETED":
		gap, last := s.where[object], len(s.live)-1
		s.live[gap] = s.live[last]
		s.where[s.live[gap].object] = gap
		s.live = s.live[:last]
		delete(s.where, object)
	}
}

// item is an object, and the message that shows it as it is.
type item struct{ object, message int }

// Forget ends all watches. Those of versions before the last event begin with a 410 from now on.
func (s *Server) Forget() {
	s.change(func() {
		s.cut++
		s.oldest = s.played
	})
}

// Counts is how many lists and watches were asked for.
func (s *Server) Counts() (lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.watches
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// list serves what is there, or a page of it. The token of a page is a position: nothing should
// happen between two pages.
func (s *Server) list(w http.ResponseWriter, t *Tape, limit, next, version string) {
	s.mu.Lock()
	s.lists++
	at, live := t.spec.Version()+s.played, slices.Clone(s.live)
	s.mu.Unlock()
	from, _ := strconv.Atoi(next)
	from = min(from, len(live))
	n, _ := strconv.Atoi(limit)
	if n == 0 || version == "0" && next == "" { // answers of any age come whole
		n = len(live)
	}
	left, token := len(live)-from, ""
	live = live[from:min(from+n, len(live))]
	if left -= len(live); left > 0 {
		token = strconv.Itoa(from + len(live))
	}
	w.Header().Set("Content-Type", t.form.contentType(false))
	_, list := t.form.kinds(t.spec.GVK())
	out := &writer{w: w}
	if t.form.protobuf() {
		meta := metadataOfList(at, token, int64(left))
		size := protowire.SizeTag(listMeta) + protowire.SizeBytes(len(meta))
		for _, it := range live {
			size += protowire.SizeTag(listItem) + protowire.SizeBytes(len(t.message(it.message)))
		}
		out.write(envelope(list, size))
		out.write(protowire.AppendBytes(protowire.AppendTag(nil, listMeta, protowire.BytesType), meta))
		for _, it := range live {
			message := t.message(it.message)
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
		out.write(t.message(it.message))
	}
	out.write([]byte("]}\n"))
}

// writer writes until something fails.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// watch sends what has happened since a version, then what happens.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t *Tape) {
	q := r.URL.Query()
	gvk, _ := t.form.kinds(t.spec.GVK())
	version, _ := strconv.Atoi(q.Get("resourceVersion"))
	initial := q.Get("sendInitialEvents") == "true"
	s.mu.Lock()
	s.watches++
	oldest, cut, played, live := s.oldest, s.cut, s.played, []item(nil)
	next := version - t.spec.Version() // the event after that version
	if initial {
		next, live = played, slices.Clone(s.live)
	}
	s.mu.Unlock()
	if next < oldest {
		status(w, http.StatusGone, "Expired", "too old resource version")
		return
	}
	w.Header().Set("Content-Type", t.form.contentType(true))
	out := &stream{writer: writer{w: w}, tape: t, gvk: gvk}
	out.flush(w)
	if initial {
		for _, it := range live {
			out.send("ADDED", t.message(it.message))
		}
		out.send("BOOKMARK", t.form.bookmark(t.spec.GVK(), t.spec.Version()+next, true))
	}
	for out.err == nil {
		s.mu.Lock()
		played, now, changed := s.played, s.cut, s.changed
		s.mu.Unlock()
		if now != cut {
			return
		}
		for ; next < played && out.err == nil; next++ {
			event, message := t.event(next)
			out.send(event, message)
		}
		out.flush(w)
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-time.After(time.Minute):
			out.send("BOOKMARK", t.form.bookmark(t.spec.GVK(), t.spec.Version()+next, false))
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
