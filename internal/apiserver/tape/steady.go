package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"strings"
	"sync"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// events has what clients have chosen for the Events of a server: names, times and reporting instances, which they make
// of their own clock and host, and the uids that come of them. In questions other texts stand for them, equal in each
// run. Rules only copy them.
type events struct {
	mu     sync.Mutex
	chosen []string       // pairs: a chosen text, and its placeholder
	names  map[string]int // of Events: their number among those of their controller
}

// forget begins anew, for another server.
func (e *events) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.chosen, e.names = nil, map[string]int{}
}

// isEvent reports whether a question is about Events.
func isEvent(req *rules.Request) bool {
	path, _, _ := strings.Cut(req.URL, "?")
	return strings.HasPrefix(path, "/apis/events.k8s.io/v1/") && strings.Contains(path, "/events")
}

// steady returns a question without what differs from run to run, and a function that puts it back into the answer.
func (e *events) steady(req *rules.Request) (*rules.Request, func(*rules.Answer) *rules.Answer) {
	if !isEvent(req) {
		return req, func(a *rules.Answer) *rules.Answer { return a }
	}
	out := *req
	if req.Method == http.MethodPost {
		e.record(&out)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.chosen) == 0 {
		return &out, func(a *rules.Answer) *rules.Answer { return a }
	}
	there := strings.NewReplacer(e.chosen...)
	turned := make([]string, 0, len(e.chosen))
	for i := 0; i < len(e.chosen); i += 2 {
		turned = append(turned, e.chosen[i+1], e.chosen[i])
	}
	back := strings.NewReplacer(turned...)
	out.UID = there.Replace(out.UID)
	out.URL, out.Body = there.Replace(out.URL), []byte(there.Replace(string(out.Body)))
	out.Objects = make(map[string]json.RawMessage, len(req.Objects))
	for key, text := range req.Objects {
		if text != nil {
			text = json.RawMessage(there.Replace(string(text)))
		}
		out.Objects[there.Replace(key)] = text
	}
	return &out, func(a *rules.Answer) *rules.Answer { return replaced(a, back) }
}

// record records the texts that a client has chosen for a new Event, and makes its body JSON.
func (e *events) record(req *rules.Request) {
	var event eventsv1.Event
	if raw, ok := bytes.CutPrefix(req.Body, []byte("k8s\x00")); ok {
		var u runtime.Unknown
		if u.Unmarshal(raw) != nil || event.Unmarshal(u.Raw) != nil {
			return
		}
		event.TypeMeta = metav1.TypeMeta{APIVersion: u.APIVersion, Kind: u.Kind}
		body, err := json.Marshal(&event)
		if err != nil {
			return
		}
		req.Body, req.ContentType = body, "application/json"
	} else if json.Unmarshal(req.Body, &event) != nil {
		return
	}
	at, err := json.Marshal(event.EventTime)
	if err != nil || event.Name == "" || event.EventTime.IsZero() || event.ReportingInstance == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	req.Suffix = "" // it has a name
	if _, again := e.names[event.Name]; again {
		return
	}
	of := event.ReportingController
	n := e.names["of "+of]
	e.names["of "+of]++
	e.names[event.Name] = n
	e.chosen = append(e.chosen,
		event.Name, fmt.Sprintf("event-%d-of-%s", n, of),
		string(bytes.Trim(at, `"`)), timeOf(of, n),
		event.ReportingInstance, fmt.Sprintf("instance-%d-of-%s", n, of),
		req.UID, fmt.Sprintf("00000000-0000-4000-8000-%012x", uint64(crc32.ChecksumIEEE([]byte(of)))<<16|uint64(n)))
}

// timeOf returns a time that stands for that of an Event of a controller.
func timeOf(controller string, n int) string {
	sum := crc32.ChecksumIEEE([]byte(controller))
	return fmt.Sprintf("2001-02-%02dT%02d:%02d:%02d.%06dZ", 1+sum%28, sum/28%24, sum/672%60, sum/40320%60, n)
}

// replaced returns a copy of an answer with other texts.
func replaced(a *rules.Answer, r *strings.Replacer) *rules.Answer {
	out := *a
	out.Body = []byte(r.Replace(string(a.Body)))
	out.Writes = make([]rules.Write, len(a.Writes))
	for i, w := range a.Writes {
		w.Key = r.Replace(w.Key)
		w.Object = json.RawMessage(r.Replace(string(w.Object)))
		if w.Shown != nil {
			w.Shown = json.RawMessage(r.Replace(string(w.Shown)))
		}
		w.Fields = maps.Clone(w.Fields)
		for k, v := range w.Fields {
			w.Fields[k] = r.Replace(v)
		}
		out.Writes[i] = w
	}
	out.Missing = make([]string, len(a.Missing))
	for i, key := range a.Missing {
		out.Missing[i] = r.Replace(key)
	}
	return &out
}
