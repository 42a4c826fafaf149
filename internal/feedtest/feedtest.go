// Package feedtest is a server of one kind for tests: it keeps objects, and lists and watches
// them as real wire bytes, without a network.
//
//	Put, Delete, PutJSON … ──► log of events ──► every open watch
//	                            │
//	                            └─► a list, or a watch from an older version
//
// Methods complete in the calling goroutine, so a Server works within a synctest bubble.
package feedtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Server serves one kind as JSON. It implements reflector.Source. All methods may be called from
// any goroutine.
type Server struct {
	kind *wire.Kind

	mu      sync.Mutex
	version int
	uids    int
	objects map[object.Key]stored
	log     []event
	oldest  int // no watch can start before this version
	open    []*body
	refuse  error
	lists   int
	watches int
	exact   int // lists of an exact version
	unseen  bool
	undo    []undo // of the last changes
}

// undo is the state of an object before the change of a version; nil: there was none.
type undo struct {
	version int
	key     object.Key
	before  *stored
}

// keep is the least number of events that are kept. kept is that of changes that can be undone, for lists of old versions.
const keep, kept = 10_000, 1000

type stored struct {
	uid  types.UID
	json []byte
}

type event struct {
	version int
	frame   []byte
}

// New returns a server without objects.
func New(kind *wire.Kind) *Server {
	return &Server{kind: kind, version: 1, objects: make(map[object.Key]stored)}
}

// Kind returns the served kind.
func (s *Server) Kind() *wire.Kind { return s.kind }

// Put creates or updates an object. It sets the uid and the new resourceVersion in obj, as a server does, and returns
// the latter.
func (s *Server) Put(obj object.Object) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := object.KeyOf(obj)
	old, had := s.objects[key]
	if !had {
		old.uid = s.newUID()
	}
	s.version++
	obj.SetUID(old.uid)
	obj.SetResourceVersion(strconv.Itoa(s.version))
	encoded, _, err := wire.Encode(obj, s.kind.GVK, wire.JSON)
	if err != nil {
		panic(err)
	}
	s.put(key, stored{old.uid, bytes.TrimSpace(encoded)}, had)
	return s.version
}

// PutJSON creates or updates an object, which may be invalid. meta is appended to its metadata, as in `,"labels":7`,
// and members to the object, as in `"data":7`.
func (s *Server) PutJSON(key object.Key, meta, members string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, had := s.objects[key]
	if !had {
		old.uid = s.newUID()
	}
	s.version++
	text := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":"%d"%s},%s}`,
		s.kind.GVK.GroupVersion(), s.kind.GVK.Kind, key.Namespace, key.Name, old.uid, s.version, meta, members)
	s.put(key, stored{old.uid, []byte(text)}, had)
	return s.version
}

func (s *Server) put(key object.Key, o stored, had bool) {
	s.remember(key)
	s.objects[key] = o
	s.send(map[bool]string{false: "ADDED", true: "MODIFIED"}[had], o.json)
}

// remember keeps the state of an object before its change.
func (s *Server) remember(key object.Key) {
	u := undo{s.version, key, nil}
	if o, ok := s.objects[key]; ok {
		u.before = &o
	}
	if s.undo = append(s.undo, u); len(s.undo) > 2*kept {
		s.undo = slices.Clone(s.undo[kept:])
	}
}

// at returns the objects of a version.
func (s *Server) at(version int) map[object.Key]stored {
	all := maps.Clone(s.objects)
	for _, u := range slices.Backward(s.undo) {
		if u.version <= version {
			break
		}
		if delete(all, u.key); u.before != nil {
			all[u.key] = *u.before
		}
	}
	return all
}

// Show changes an object without a new version and without an event, as a new default or conversion does.
func (s *Server) Show(key object.Key, change func(json []byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[key]
	o.json = change(bytes.Clone(o.json))
	s.objects[key] = o
}

func (s *Server) newUID() types.UID {
	s.uids++
	return types.UID("uid-" + strconv.Itoa(s.uids))
}

// Delete deletes an object, if it exists.
func (s *Server) Delete(key object.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	if !ok {
		return
	}
	s.version++
	s.remember(key)
	delete(s.objects, key)
	var last map[string]any
	if err := json.Unmarshal(o.json, &last); err != nil {
		panic(err)
	}
	last["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(s.version)
	encoded, err := json.Marshal(last)
	if err != nil {
		panic(err)
	}
	s.send("DELETED", encoded)
}

// Unseen makes a change without events on the watches.
func (s *Server) Unseen(change func()) {
	lose := func(b bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unseen = b
	}
	lose(true)
	defer lose(false)
	change()
}

func (s *Server) send(kind string, obj []byte) {
	if s.unseen {
		return
	}
	e := event{s.version, fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", kind, obj)}
	s.log = append(s.log, e)
	if len(s.log) > 2*keep {
		s.oldest = s.log[len(s.log)-keep-1].version
		s.log = slices.Clone(s.log[len(s.log)-keep:])
	}
	for _, b := range s.open {
		b.write(e)
	}
}

// Advance increments the version, as a change of another kind does.
func (s *Server) Advance() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
}

// Bookmark sends a bookmark on every open watch.
func (s *Server) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	frame := fmt.Appendf(nil, `{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d"}}}`+"\n",
		s.kind.GVK.GroupVersion(), s.kind.GVK.Kind, s.version)
	for _, b := range s.open {
		b.write(event{s.version, frame})
	}
}

// Cut ends every open watch between two events. No event is lost.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
}

func (s *Server) cut() {
	for _, b := range s.open {
		b.end(io.EOF)
	}
	s.open = nil
}

// Forget cuts every watch, runs change, and drops all events so far: a watch from an older version is answered with
// 410.
func (s *Server) Forget(change func()) {
	s.mu.Lock()
	s.cut()
	s.refuse = apierrors.NewServiceUnavailable("the script says so")
	s.mu.Unlock()
	change()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
	s.refuse, s.log, s.oldest = nil, nil, s.version
}

// Backup is a state of a Server.
type Backup struct {
	version int
	objects map[object.Key]stored
}

// Save returns a copy of the present state.
func (s *Server) Save() Backup {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Backup{s.version, maps.Clone(s.objects)}
}

// Restore cuts every watch and restores a saved state, versions included.
func (s *Server) Restore(b Backup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
	s.version, s.objects, s.oldest, s.log, s.undo = b.version, maps.Clone(b.objects), b.version, nil, nil
}

// Refuse ends the open lists and watches, and answers later ones with err. Nil ends that.
func (s *Server) Refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
	if err != nil {
		s.cut()
	}
}

func tooLarge() error {
	err := apierrors.NewTimeoutError("Too large resource version", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

// Counts returns how many lists and watches were served, and how many watches are open.
func (s *Server) Counts() (lists, watches, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, (*body).over)
	return s.lists, s.watches, len(s.open)
}

// List implements reflector.Source.
func (s *Server) List(_ context.Context, q wire.ListQuery) (*wire.List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return nil, s.refuse
	}
	if v, err := strconv.Atoi(q.ResourceVersion); err == nil && v > s.version {
		return nil, tooLarge()
	}
	s.lists++
	version, objects := s.version, s.objects
	if q.Match == metav1.ResourceVersionMatchExact {
		s.exact++
		version, _ = strconv.Atoi(q.ResourceVersion)
		objects = s.at(version)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d"},"items":[`,
		s.kind.GVK.GroupVersion(), s.kind.GVK.Kind+"List", version)
	for i, k := range slices.SortedFunc(maps.Keys(objects), object.Key.Compare) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(objects[k].json)
	}
	b.WriteString("]}")
	return wire.NewList(io.NopCloser(&b), "application/json", s.kind, wire.Limits{})
}

// Exact returns the number of lists of an exact version.
func (s *Server) Exact() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exact
}

// Watch implements reflector.Source, without streaming lists. From a future version it shows later events only, as
// an API server does.
func (s *Server) Watch(ctx context.Context, q wire.WatchQuery) (*wire.Watch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return nil, s.refuse
	}
	if q.SendInitialEvents {
		return nil, apierrors.NewBadRequest("sendInitialEvents is not supported")
	}
	from, err := strconv.Atoi(q.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest("resourceVersion: " + err.Error())
	}
	if from < s.oldest {
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	s.watches++
	b := &body{ctx: ctx, from: from, ready: make(chan struct{}, 1)}
	for _, e := range s.log {
		b.write(e)
	}
	s.open = append(slices.DeleteFunc(s.open, (*body).over), b)
	if q.Timeout > 0 {
		end := time.AfterFunc(q.Timeout, func() { b.end(io.EOF) })
		context.AfterFunc(ctx, func() { end.Stop() })
	}
	return wire.NewWatch(b, "application/json", s.kind, wire.Limits{})
}

// Objects returns the metadata of all objects, to compare a store with.
func (s *Server) Objects() []*metav1.ObjectMeta {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*metav1.ObjectMeta
	for _, o := range s.objects {
		var p metav1.PartialObjectMetadata
		if err := json.Unmarshal(o.json, &p); err != nil {
			panic(err)
		}
		all = append(all, &p.ObjectMeta)
	}
	return all
}

// body is the body of a watch. It buffers written bytes until they are read.
type body struct {
	ctx   context.Context
	from  int           // no event up to this version is shown
	ready chan struct{} // capacity 1

	mu   sync.Mutex
	buf  []byte
	done error
}

func (b *body) write(e event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done == nil && e.version > b.from {
		b.buf = append(b.buf, e.frame...)
	}
	b.signal()
}

func (b *body) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done == nil {
		b.done = err
	}
	b.signal()
}

func (b *body) signal() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *body) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done != nil || b.ctx.Err() != nil
}

func (b *body) Read(p []byte) (int, error) {
	for {
		b.mu.Lock()
		n := copy(p, b.buf)
		b.buf = b.buf[n:]
		done := b.done
		b.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case done != nil:
			return 0, done
		}
		select {
		case <-b.ready:
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
}

func (b *body) Close() error {
	b.end(io.ErrClosedPipe)
	return nil
}
