package core

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

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
		call.UID, call.Suffix = s.identity(t, req, n, try)
		call.Controllers = s.opts.Controllers
		answer, err := s.ask(call)
		if err != nil {
			return failed(req, err)
		}
		if answer.List != nil && call.Collection == nil {
			if answer, err = s.askForAll(call, answer.List, fieldReader{t, now, req.Pending}); err != nil {
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
	var old *Object
	if gone {
		old, _ = s.objects.Delete(o.Key)
	} else {
		old, _ = s.objects.Set(o.Key, o)
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

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }
