// Package core is the state of an API server in memory, and the function that answers a request. It has no goroutine,
// no clock and no randomness: the same requests at the same times give the same answers.
//
//	Step(now, request) ──▶ rules: the real strategies ──▶ Answer and writes
//	                                                         │
//	          tree of objects (copy on write) ◀──────────────┤
//	          log of changes, by version       ◀─────────────┘ ──▶ Watch.Poll: events of a watch
//
// [State] is the only writer. A [View] is one version of it and never changes; reads and watches use views.
// A [Snapshot] costs a few words of memory, and [State.Restore] returns to it.
package core

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Rules answers one request as the real API server would. It is a function of its argument.
type Rules func(*rules.Request) (*rules.Answer, error)

// Options configures a State. Rules is required.
type Options struct {
	Rules Rules
	// Seed decides on uids, generated names and keys. States of one seed with the same requests choose the same ones.
	Seed string
	// Controllers says that controllers run beside the server. Admission then expects what they create.
	Controllers bool
	// History is how long changes are kept for watches and old versions. Zero means five minutes.
	History time.Duration
	// RBAC lets users do only what roles allow. Without it, every authenticated user may do everything.
	RBAC bool
	// Gates are the feature gates of the server.
	Gates Gates
	// Nobody is the user of a request without credentials. The zero value means that such requests are refused.
	Nobody User
}

// Request is one request of a client.
type Request struct {
	Method      string
	URL         string // path and query
	ContentType string
	Accept      string
	UserAgent   string
	User        string
	Groups      []string
	UserUID     string
	Extra       map[string][]string // further fields of the user
	Body        []byte
	// Pending is Answer.Pending of the last answer to this request; nil the first time.
	Pending *Pending
}

// Answer is the answer to a request.
type Answer struct {
	Code        int
	ContentType string
	RetryAfter  string
	Warnings    []string
	Header      map[string]string // headers beside those of every answer
	Body        []byte
	// Watch is the position of a watch; nil if the request is no watch. An answer with a watch has no body.
	Watch *Watch
	// Pending has the webhooks to be called first; nil if there are none. Such an answer has nothing else: call them,
	// and ask again. See [Pending].
	Pending *Pending
}

// Object is one state of an object. It never changes.
type Object struct {
	Key     string
	Version uint64
	// JSON is the object as it is stored.
	JSON []byte
	// shown is the object as clients see it; nil if that equals JSON. It differs by defaults that are set on reading.
	shown  []byte
	labels set
	fields set
}

// Change is one write. Old is nil for an object that was created.
type Change struct {
	Version uint64
	At      time.Time
	Old     *Object
	Object  *Object // the new state; of a deleted object the last one, with the version of its deletion
	Deleted bool
}

// maxLog bounds the changes that are kept, whatever their age.
const maxLog = 1 << 17

// State is the objects of a server, and the log of their changes. It is for one goroutine.
type State struct {
	opts Options
	View
	// made counts the objects that were created, by collection. Uids and generated names depend on it.
	made map[string]uint64
}

// New returns an empty state. [State.Begin] makes the objects that every cluster has.
func New(o Options) *State {
	if o.History <= 0 {
		o.History = 5 * time.Minute
	}
	return &State{opts: o, View: newView(o), made: map[string]uint64{}}
}

func newView(o Options) View {
	return View{rules: o.Rules, objects: &btree.Map[string, *Object]{}, version: 1, seed: o.Seed, rbac: o.RBAC, gates: o.Gates, nobody: o.Nobody, memory: &memory{}, forms: &forms{}}
}

// Version returns the version of the last write.
func (v View) Version() uint64 { return v.version }

// View is one version of a state. It never changes, and is safe for concurrent use.
type View struct {
	rules   Rules
	forms   *forms
	objects *btree.Map[string, *Object]
	version uint64
	log     []Change
	// compacted is the newest version whose change is no longer in the log.
	compacted uint64

	seed   string
	rbac   bool
	gates  Gates
	nobody User
	roles  uint64 // the version of the last change of roles and bindings
	memory *memory
}

// Now returns a view of the present state.
func (s *State) Now() View {
	v := s.View
	v.objects = fork(s.objects)
	v.log = slices.Clip(v.log)
	return v
}

// Snapshot is a version of a state to which it can return. It never changes.
type Snapshot struct {
	view View
	made map[string]uint64
}

// Snapshot returns a snapshot of the present state. Its cost does not depend on the number of objects; it keeps the
// memory of objects that have changed since.
func (s *State) Snapshot() *Snapshot { return &Snapshot{view: s.Now(), made: maps.Clone(s.made)} }

// Restore returns to a snapshot, which may be that of another state; the options stay. Watches that were started before
// are void: the caller ends them, see [Watch.Void].
func (s *State) Restore(snap *Snapshot) {
	own := s.View
	s.View, s.made = snap.view, maps.Clone(snap.made)
	s.rules, s.forms, s.seed, s.rbac, s.nobody = own.rules, own.forms, own.seed, own.rbac, own.nobody
	s.objects = fork(snap.view.objects)
	s.memory = &memory{} // versions have another meaning
}

// Compact drops the log of changes: older versions can then be neither listed nor watched.
func (s *State) Compact() { s.CompactTo(s.version) }

// CompactTo drops the changes up to a version, which itself can still be listed.
func (s *State) CompactTo(version uint64) {
	n, _ := slices.BinarySearchFunc(s.log, version+1, byVersion)
	s.log, s.compacted = s.log[n:], max(s.compacted, min(version, s.version))
}

// Compacted returns the oldest version that can be listed.
func (v View) Compacted() uint64 { return v.compacted }

// byVersion finds changes in a log.
func byVersion(c Change, version uint64) int { return cmp.Compare(c.Version, version) }

// forget drops changes that are older than the history, and the oldest if there are more than maxLog.
func (s *State) forget(now time.Time) {
	n := max(0, len(s.log)-maxLog)
	for n < len(s.log) && now.Sub(s.log[n].At) > s.opts.History {
		n++
	}
	if n > 0 {
		s.compacted = s.log[n-1].Version
		s.log = s.log[n:]
	}
}

// maxNames bounds how many generated names are tried for one object.
const maxNames = 8

// Step answers a request and makes its changes. It also answers reads, as [View.Read] does.
func (s *State) Step(now time.Time, req Request) Answer {
	if answer, ok := health(req.URL); ok {
		return answer
	}
	s.forget(now)
	if isRead(req.Method) {
		return s.Read(now, req)
	}
	if refused := s.Authorize(now, req); refused != nil {
		return *refused
	}
	t := parsePath(req.URL)
	n := s.made[t.collection()]
	if req.Pending != nil {
		n = req.Pending.made
	}
	for try := 0; ; try++ {
		call := s.call(now, req, t)
		call.UID, call.Suffix = s.names(t, req, n, try)
		call.Controllers = s.opts.Controllers
		answer, err := s.ask(call)
		if err != nil {
			return failed(req, err)
		}
		if answer.List != nil && call.Collection == nil {
			if answer, err = s.askForAll(call, answer.List, lens{t, now, req.Pending}); err != nil {
				return failed(req, err)
			}
		}
		if len(answer.Calls) > 0 {
			if req.Pending == nil && req.Method == http.MethodPost {
				s.made[t.collection()]++ // the next request chooses other names, whichever is done first
			}
			return req.Pending.wait(now, n, answer.Calls)
		}
		taken := s.taken(call, answer)
		if taken != "" && try < maxNames-1 {
			continue
		}
		if taken != "" { // a real server then answers with that conflict
			if answer, err = s.ask(s.with(call, taken)); err != nil {
				return failed(req, err)
			}
			if len(answer.Calls) > 0 {
				return req.Pending.wait(now, n, answer.Calls)
			}
		}
		s.apply(now, answer.Writes)
		s.written(req, t, answer)
		return answered(answer)
	}
}

// answered returns the answer for the client of an answer of the rules.
func answered(a *rules.Answer) Answer {
	return Answer{Code: a.Code, ContentType: a.ContentType, RetryAfter: a.RetryAfter, Warnings: a.Warnings, Header: a.Header, Body: a.Body}
}

// taken returns the key of a write with a generated name that an object already has; "" if there is none.
func (s *State) taken(call *rules.Request, answer *rules.Answer) string {
	if call.Method != http.MethodPost {
		return ""
	}
	for _, w := range answer.Writes {
		if _, known := call.Objects[w.Key]; !known && strings.HasSuffix(w.Key, call.Suffix) && s.get(w.Key) != nil {
			return w.Key
		}
	}
	return ""
}

// apply makes the changes of an answer.
func (s *State) apply(now time.Time, writes []rules.Write) {
	for _, w := range writes {
		s.put(now, newObject(w), w.Delete)
	}
}

// put stores an object, or removes it if gone is set, and adds the change to the log. The version of the object becomes
// that of the state.
func (s *State) put(now time.Time, o *Object, gone bool) {
	old := s.get(o.Key)
	if gone {
		s.objects.Delete(o.Key)
	} else {
		s.objects.Set(o.Key, o)
		if old == nil {
			s.made[o.Key[:strings.LastIndexByte(o.Key, '/')+1]]++
		}
	}
	s.version = o.Version
	if strings.HasPrefix(o.Key, roleKeys) {
		s.roles = o.Version
	}
	s.log = append(s.log, Change{Version: o.Version, At: now, Old: old, Object: o, Deleted: gone})
}

// names returns the uid of a new object, and the suffix of a generated name. They depend on the seed, the collection,
// the number n of objects created there, the query, the body and the try. Requests about other collections do not
// change them.
func (s *State) names(t target, req Request, n uint64, try int) (uid, suffix string) {
	_, query, _ := strings.Cut(req.URL, "?") // so a dry run has other names
	of := t.collection()
	if t.subresource != "" {
		of = t.key()
	}
	text := make([]byte, 0, 256)
	for _, part := range []string{s.opts.Seed, of, query} {
		text = append(strconv.AppendQuote(text, part), ' ')
	}
	text = append(strconv.AppendUint(text, n, 10), ' ')
	text = append(strconv.AppendInt(text, int64(try), 10), ' ')
	body := sha256.Sum256(req.Body)
	sum := sha256.Sum256(hex.AppendEncode(text, body[:]))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // a random uuid, by its form
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	var end [5]byte
	for i := range end {
		end[i] = letters[int(sum[16+i])%len(letters)]
	}
	out := make([]byte, 0, 36)
	for i, n := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, id[:n])
		id = id[n:]
	}
	return string(out), string(end[:])
}

// text returns the object as clients see it, in the version of its storage.
func (o *Object) text() []byte {
	if o.shown != nil {
		return o.shown
	}
	return o.JSON
}

// get returns the object with a key; nil if there is none.
func (v View) get(key string) *Object {
	o, _ := v.objects.Get(key)
	return o
}

// call returns the question to rules about a request, with the objects that are known to be needed.
func (v View) call(now time.Time, req Request, t target) *rules.Request {
	call := &rules.Request{
		Method: req.Method, URL: v.gates.open(req.URL), ContentType: req.ContentType, Accept: req.Accept, UserAgent: req.UserAgent, User: req.User, Groups: req.Groups,
		UserUID: req.UserUID, Extra: req.Extra, RBAC: v.rbac, Body: req.Body, Now: now.UnixNano(), Version: v.version, Objects: map[string]json.RawMessage{},
	}
	req.Pending.resume(call)
	if t.name != "" {
		v.with(call, t.key())
	}
	if t.namespace != "" && !isRead(req.Method) {
		v.with(call, "/core/namespaces/"+t.namespace)
	}
	if d := v.defined(t); d != nil {
		call.Objects[d.Key] = d.JSON
	}
	switch {
	case t.resource == "" && listing.MatchString(req.URL), t.group == definitionGroup && !isRead(req.Method):
		v.with(call, definitionKeys)
	case t.subresource == "token" || t.resource == "tokenreviews", strings.HasPrefix(req.URL, "/openid/"), strings.HasPrefix(req.URL, "/.well-known/"):
		call.Seed = v.seed
	case v.rbac && t.group == "authorization.k8s.io":
		v.with(call, roleKeys+"clusterrolebindings/")
	case t.resource == "pods" && req.Method == http.MethodPost:
		v.with(call, "/scheduling.k8s.io/priorityclasses/")
	case t.resource == "services" && !isRead(req.Method):
		v.with(call, "/core/services/") // for their addresses
	}
	if t.resource != "" && !isRead(req.Method) {
		v.with(call, "/admissionregistration.k8s.io/")
		if t.namespace != "" && req.Method != http.MethodDelete {
			v.with(call, "/core/resourcequotas/"+t.namespace+"/")
		}
		if t.resource == "pods" || t.resource == "persistentvolumeclaims" {
			v.with(call, "/core/limitranges/"+t.namespace+"/")
		}
	}
	return call
}

// listing matches the URLs of documents that depend on definitions.
var listing = regexp.MustCompile(`^/(apis|openapi|index\.html|$|\?)`)

// definitionKeys begins the keys of custom resource definitions.
const (
	definitionGroup = "apiextensions.k8s.io"
	definitionKeys  = "/" + definitionGroup + "/customresourcedefinitions/"
)

// defined returns the definition of the target's resource; nil for a resource that is built in, or unknown.
func (v View) defined(t target) *Object {
	if t.group == "" || !strings.Contains(t.group, ".") {
		return nil
	}
	return v.get(definitionKeys + t.resource + "." + t.group)
}

// changedAfter reports whether a definition is newer than one of the objects. Clients then see another text of that
// object than the stored one.
func (o *Object) changedAfter(objects []*Object) bool {
	return o != nil && slices.ContainsFunc(objects, func(x *Object) bool { return x.Version < o.Version })
}

// severalVersions reports whether a definition has more than one version. Then the text that clients see of an object
// depends on the version, defaults included.
func (o *Object) severalVersions() bool {
	return o != nil && bytes.Count(o.JSON, []byte(`"served":true`)) > 1
}

// with adds to a call the object with a key, or all objects under it if the key ends with a slash. It returns call.
func (v View) with(call *rules.Request, key string) *rules.Request {
	call.Objects[key] = nil
	if strings.HasSuffix(key, "/") {
		v.objects.Ascend(key, func(k string, o *Object) bool {
			if !strings.HasPrefix(k, key) {
				return false
			}
			call.Objects[k] = o.JSON
			return true
		})
	} else if o := v.get(key); o != nil {
		call.Objects[key] = o.JSON
	}
	return call
}

// maxRounds bounds the questions about one request. Each question has the objects that the one before lacked.
const maxRounds = 8

// ask asks rules. It repeats the question with more objects while rules look for existing ones that it lacked.
func (v View) ask(call *rules.Request) (*rules.Answer, error) {
	for range maxRounds {
		answer, err := v.rules(call)
		if err != nil {
			return nil, err
		}
		known := len(call.Objects)
		for _, key := range answer.Missing {
			generated := call.Suffix != "" && strings.HasSuffix(key, call.Suffix) // Step tries another name
			if v.get(key) != nil && !generated || strings.HasSuffix(key, "/") {
				v.with(call, key)
			}
		}
		if len(call.Objects) == known {
			return answer, nil
		}
	}
	return nil, fmt.Errorf("%s %s asked for objects %d times", call.Method, call.URL, maxRounds)
}

// askForAll asks rules about all objects that a list selects, as a deletion of a collection does.
func (v View) askForAll(call *rules.Request, l *rules.List, through lens) (*rules.Answer, error) {
	page, failure := v.page(l, through)
	if failure != nil {
		return nil, failure
	}
	call.Collection = &rules.Collection{Continue: page.next, Remaining: page.remaining}
	for _, o := range page.objects {
		call.Collection.Items = append(call.Collection.Items, o.JSON)
		if !isRead(call.Method) {
			call.Objects[o.Key] = o.JSON
		}
	}
	if isRead(call.Method) {
		call.Version = page.version
	}
	return v.ask(call)
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// withVersion returns the text of an object with another resourceVersion.
func withVersion(text []byte, version uint64) []byte {
	const field = `"resourceVersion":"`
	at := bytes.Index(text, []byte(field))
	if at < 0 {
		return text
	}
	at += len(field)
	end := at + bytes.IndexByte(text[at:], '"')
	return slices.Concat(text[:at], fmt.Appendf(nil, "%d", version), text[end:])
}
