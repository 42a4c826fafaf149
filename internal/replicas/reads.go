package replicas

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// resource answers a list or a watch.
func (s *Server) resource(w http.ResponseWriter, r *http.Request) {
	for _, known := range s.served() {
		key, ok := known.parse(r.URL.Path)
		if !ok {
			continue
		}
		q := query{Server: s, of: known, key: key, w: w, r: r}
		q.version, _ = strconv.Atoi(r.URL.Query().Get("resourceVersion"))
		switch {
		case key.Name != "":
			q.get()
		case r.URL.Query().Get("watch") != "":
			q.watch()
		default:
			q.list()
		}
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, "404 page not found")
}

// query is one list or watch.
type query struct {
	*Server
	of      Resource
	key     object.Key // of a get; else its namespace
	w       http.ResponseWriter
	r       *http.Request
	version int
}

// get answers from the storage.
func (q *query) get() {
	i, ok := q.state.Content(q.of.Plural)[q.key]
	if !ok {
		status(q.w, http.StatusNotFound, "NotFound", fmt.Sprintf(`"name":%q,"group":%q,"kind":%q`, q.key.Name, q.of.Group, q.of.Plural))
		return
	}
	write(q.w, http.StatusOK, i.JSON(q.of.meta("")))
}

// selects reports whether a list or watch has an object.
func (q *query) selects(key object.Key) bool {
	return q.key.Namespace == "" || q.key.Namespace == key.Namespace
}

// poll is how often a watch looks for changes.
const poll = 250 * time.Millisecond

// fresh waits until the memory has a version.
func (q *query) fresh(version int) bool {
	for end := time.Now().Add(3 * time.Second); ; {
		if seen, _, _ := q.memory(); seen >= version {
			return true
		}
		if run.Sleep(q.r.Context(), poll) != nil || time.Now().After(end) {
			return false
		}
	}
}

// list answers from memory, if a version is given, else from the storage.
func (q *query) list() {
	params := q.r.URL.Query()
	from, at := 0, q.state.Version()
	if token := params.Get("continue"); token != "" {
		fmt.Sscanf(token, "%d-%d", &at, &from)
		if q.state.tooOld(at) {
			status(q.w, http.StatusGone, "Expired", "")
			return
		}
	} else if params.Get("resourceVersion") != "" {
		if !q.fresh(q.version) {
			seen, _, _ := q.memory()
			status(q.w, http.StatusGatewayTimeout, "Timeout", fmt.Sprintf(`"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1,"uid":"%d"`, seen))
			return
		}
		at, _, _ = q.memory()
	}
	items := slices.DeleteFunc(q.state.at(q.of.Plural, at), func(i Item) bool { return !q.selects(i.Key) })
	rest := ""
	items = items[min(from, len(items)):]
	if limit, _ := strconv.Atoi(params.Get("limit")); limit > 0 && len(items) > limit {
		items, rest = items[:limit], fmt.Sprintf("%d-%d", at, from+limit)
	}
	var all []string
	for _, i := range items {
		all = append(all, i.JSON(q.of.meta("")))
	}
	write(q.w, http.StatusOK, fmt.Sprintf(`{%s,"metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`, q.of.meta("List"), at, rest, strings.Join(all, ",")))
}

// watch answers from memory.
func (q *query) watch() {
	params := q.r.URL.Query()
	_, since, m := q.memory()
	initial := params.Get("sendInitialEvents") != ""
	switch {
	case initial && !m.Streams:
		status(q.w, http.StatusUnprocessableEntity, "Invalid", "")
		return
	case !initial && (q.version < since || q.state.tooOld(q.version)):
		status(q.w, http.StatusGone, "Expired", "")
		return
	}
	seconds, _ := strconv.Atoi(params.Get("timeoutSeconds"))
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	q.w.Header().Set("Content-Type", "application/json")
	q.w.WriteHeader(http.StatusOK)
	at := q.version
	if initial {
		if at == 0 {
			at = q.state.Version()
		}
		for !q.fresh(at) {
			if q.r.Context().Err() != nil || time.Now().After(end) {
				return
			}
		}
		at, _, _ = q.memory()
		for _, i := range q.state.at(q.of.Plural, at) {
			if q.selects(i.Key) {
				q.frame("ADDED", i.JSON(q.of.meta("")))
			}
		}
		q.bookmark(at, `,"annotations":{"k8s.io/initial-events-end":"true"}`)
	}
	q.follow(at, end)
}

// follow sends the changes after a version until end. It sends a bookmark each minute and two seconds before
// the end, if the version has moved.
func (q *query) follow(at int, end time.Time) {
	q.flush()
	last, next := at, time.Now().Add(time.Minute)
	for run.Sleep(q.r.Context(), poll) == nil && time.Now().Before(end) {
		seen, _, _ := q.memory()
		if seen > at {
			for _, c := range q.state.since(q.of.Plural, at, seen) {
				if q.selects(c.key) {
					q.frame(c.kind, c.item.JSON(q.of.meta("")))
					last = c.item.Version
				}
			}
			at = seen
		}
		if !q.serves() {
			return
		}
		if !time.Now().Before(next) {
			next = time.Now().Add(time.Minute)
			if before := end.Add(-2 * time.Second); time.Now().Before(before) && next.After(before) {
				next = before
			}
			if at > last {
				q.bookmark(at, "")
				last = at
			}
		}
		q.flush()
	}
}

// serves reports whether the server still serves the resource.
func (q *query) serves() bool {
	for _, r := range q.served() {
		if r == q.of {
			return true
		}
	}
	return false
}

func (q *query) frame(kind, object string) {
	fmt.Fprintf(q.w, `{"type":%q,"object":%s}`+"\n", kind, object)
}

func (q *query) bookmark(at int, more string) {
	q.frame("BOOKMARK", fmt.Sprintf(`{%s,"metadata":{"resourceVersion":"%d"%s}}`, q.of.meta(""), at, more))
}

func (q *query) flush() {
	if f, ok := q.w.(http.Flusher); ok {
		f.Flush()
	}
}
