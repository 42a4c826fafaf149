package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Types of events.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
	Bookmark = "BOOKMARK"
	Failure  = "ERROR"
)

// Event is one event of a watch.
type Event struct {
	Type string
	// Object is the object of the event; nil for bookmarks and errors.
	Object *Object
	// Status is the error of an ERROR event.
	Status *metav1.Status
	// Version is the version of a bookmark. Initial says that the bookmark ends the initial events.
	Version uint64
	Initial bool
}

// Watch is a position in the log of changes. It keeps no changes, so a slow client costs no memory: it gets 410 when
// the log no longer has its position. It is for one goroutine.
type Watch struct {
	// Kind and APIVersion are those of the objects, in the version of the request.
	Kind, APIVersion string
	// Bookmarks says that the client wants bookmarks.
	Bookmarks bool
	// Timeout is how long the client wants to watch; zero means that it leaves that to the server.
	Timeout time.Duration

	target  target
	defined *Object // the definition of the kind, if it is a custom one
	accept  string
	include string // the query for tables: "?includeObject=…", or ""
	list    *rules.List
	match   matcher
	after   uint64
	first   []Event // the events before those of the log
	headed  bool    // a table with the columns was sent
	memory  *memory // that of the view in which the watch began; a restored state has another one
}

// watch starts a watch.
func (v View) watch(now time.Time, req Request, t target, l *rules.List) Answer {
	m, err := newMatcher(l)
	if err != nil {
		return failed(req, err)
	}
	if m.all && strings.HasPrefix(l.Prefix, eventKeys) {
		m.shards = nil // the real server forgets them, since it does not cache Events
	}
	w := &Watch{Kind: l.Kind, APIVersion: l.APIVersion, Bookmarks: l.Bookmarks, Timeout: timeout(req.URL), target: t, defined: v.defined(t), accept: pretty.ReplaceAllString(req.Accept, ""), include: include(req.URL), list: l, match: m, after: v.version, memory: v.memory}
	streams := l.Initial != nil && *l.Initial
	asked := uint64(0)
	if l.Version != "" && l.Version != "0" {
		if asked, err = parseVersion(l.Version); err != nil {
			return failed(req, newFailure(http.StatusInternalServerError, "", err.Error()))
		}
	}
	switch {
	case streams && asked > v.version:
		return tooLarge(asked, v.version).answer(req)
	case streams, asked == 0 && l.Initial == nil:
		page, err := v.page(&rules.List{Prefix: l.Prefix, Single: l.Single, Labels: l.Labels, Fields: l.Fields, Shards: m.shards}, fieldReader{t, now, req.Pending})
		if err != nil {
			return failed(req, err)
		}
		for _, o := range page.objects {
			w.first = append(w.first, Event{Type: Added, Object: o})
		}
		if streams && l.Bookmarks {
			w.first = append(w.first, Event{Type: Bookmark, Version: v.version, Initial: true})
		}
	case asked > 0:
		w.after = asked
	}
	return Answer{Code: 200, Watch: w}
}

// Poll returns the events between the last polled view and v, which must not be older. An error is the last event.
func (w *Watch) Poll(v View) []Event {
	out := w.first
	w.first = nil
	if w.after < v.compacted {
		return append(out, Event{Type: Failure, Status: &expired(fmt.Sprintf("too old resource version: %d (%d)", w.after, v.compacted)).status})
	}
	at, _ := slices.BinarySearchFunc(v.log, w.after+1, byVersion)
	for _, c := range v.log[at:] {
		if e := w.event(c); e.Type != "" {
			out = append(out, e)
		}
	}
	w.after = max(w.after, v.version)
	return out
}

// event returns the event of a change for this watch. An object that the selectors no longer match is deleted for it.
func (w *Watch) event(c Change) Event {
	if key := c.Object.Key; w.list.Single && key != w.list.Prefix || !strings.HasPrefix(key, w.list.Prefix) {
		return Event{}
	}
	was, is := c.Old != nil && w.match.object(c.Old), !c.Deleted && w.match.object(c.Object)
	switch {
	case is && was:
		return Event{Type: Modified, Object: c.Object}
	case is:
		return Event{Type: Added, Object: c.Object}
	case was && c.Deleted:
		return Event{Type: Deleted, Object: c.Object}
	case was:
		o := *c.Old
		o.Version, o.JSON, o.shown = c.Version, withVersion(o.JSON, c.Version), withVersion(o.shown, c.Version)
		return Event{Type: Deleted, Object: &o}
	}
	return Event{}
}

// pretty matches what asks for indented JSON. The frames of a watch are lines.
var pretty = regexp.MustCompile(`; *pretty=[^;,]*`)

// Encode returns the object of an event, encoded for the client of the watch. The answer is pending if a webhook has to
// convert the object first: call Encode again with the Pending then.
func (w *Watch) Encode(v View, now time.Time, e Event, p *Pending) (Answer, error) {
	v = w.asBegun(v)
	switch {
	case e.Type == Failure:
		body, contentType := encodeStatus(w.accept, e.Status)
		return Answer{Body: body, ContentType: contentType}, nil
	case e.Type == Bookmark:
		return v.question(w.target, w.anyKey()+w.include, &rules.Request{Accept: w.accept, Now: now.UnixNano(), Version: e.Version, Bookmark: &rules.Bookmark{Initial: e.Initial}}, p)
	case plain(w.accept) && e.Object.is(w.APIVersion) && !v.defined(w.target).changedAfter([]*Object{e.Object}) && !v.defined(w.target).severalVersions():
		return Answer{Body: e.Object.text(), ContentType: contentJSON}, nil
	case !strings.Contains(w.accept, "as=Table"):
		return v.encode(e.Object, w.target, w.accept, now, p)
	}
	answer, err := v.question(w.target, e.Object.Key+w.include, &rules.Request{Accept: w.accept, Now: now.UnixNano(), Version: e.Object.Version,
		Objects: map[string]json.RawMessage{e.Object.Key: e.Object.JSON}}, p)
	if err != nil || answer.Pending != nil {
		return answer, err
	}
	if w.headed && w.target.group != "apiregistration.k8s.io" { // its tables have their columns always
		answer.Body = withoutColumns(answer.Body)
	}
	w.headed = true
	return answer, nil
}

// anyKey returns the key of an object that the watch could have.
func (w *Watch) anyKey() string {
	key := w.list.Prefix
	if w.list.Single {
		return key
	}
	if w.list.Namespaced && strings.Count(key, "/") == 3 {
		key += "-/"
	}
	return key + "-"
}

// withoutColumns returns a table without the definitions of its columns: a watch sends them once.
func withoutColumns(body []byte) []byte {
	const field = `"columnDefinitions":`
	at := bytes.Index(body, []byte(field))
	if at < 0 || !bytes.HasPrefix(body, []byte(`{"kind":"Table"`)) {
		return body
	}
	at += len(field)
	d := json.NewDecoder(bytes.NewReader(body[at:]))
	var columns json.RawMessage
	if d.Decode(&columns) != nil {
		return body
	}
	return slices.Concat(body[:at], []byte("null"), body[at+len(columns):])
}

// timeout returns the timeoutSeconds of a URL that rules have validated.
func timeout(url string) time.Duration {
	_, query, _ := strings.Cut(url, "?")
	for part := range strings.SplitSeq(query, "&") {
		if text, ok := strings.CutPrefix(part, "timeoutSeconds="); ok {
			if n, err := strconv.Atoi(text); err == nil {
				return time.Duration(n) * time.Second
			}
		}
	}
	return 0
}

// include returns the query that says which objects the rows of tables have: "?includeObject=…", or "".
func include(url string) string {
	_, query, _ := strings.Cut(url, "?")
	for part := range strings.SplitSeq(query, "&") {
		if strings.HasPrefix(part, "includeObject=") {
			return "?" + part
		}
	}
	return ""
}

// Protobuf reports whether the client takes events in protobuf.
func (w *Watch) Protobuf() bool { return takesProtobuf(w.accept) }
