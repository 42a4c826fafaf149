package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// call is the state of one request: the objects that came with it, and its writes. Its methods are safe for
// concurrent use.
type call struct {
	mu      sync.Mutex
	req     *Request
	version uint64
	objects map[string]json.RawMessage
	missing map[string]bool
	writes  []Write
	list    *List
	fields  []map[string]string // of the items of a list
	as      *User               // the user that the request impersonates
	// chosenUID is the uid that the real handlers have chosen for a new object. Answers have uid instead.
	chosenUID types.UID
	uid       string
	// generated is the name that a new object was given.
	generated string
	// began is the start of the call by the clock of the process, which the real handlers read.
	began time.Time
	hooks hookCalls
	// plugins has the plugin for each sort of configuration, by the prefix of their keys. See [call.plugin].
	plugins map[string]*lockedPlugin
}

type callKey struct{}

func callFrom(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

func newCall(req *Request) *call {
	c := &call{req: req, uid: req.UID, version: req.Version, objects: maps.Clone(req.Objects), missing: map[string]bool{}, began: time.Now(), plugins: map[string]*lockedPlugin{}}
	c.hooks.known, c.hooks.uids = map[string]Response{}, map[string]string{}
	for _, r := range req.Responses {
		c.hooks.known[r.Key] = r
	}
	return c
}

// get returns the object with a key; nil if there is none. A key that the request lacks counts as missing.
func (c *call) get(key string) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, known := c.objects[key]
	if !known {
		c.missing[key] = true
	}
	if bytes.Equal(o, []byte("null")) {
		return nil
	}
	return o
}

// under returns the objects whose keys begin with prefix, sorted by key. The request has all of them if it has an
// entry for the prefix or for a folder above it. Otherwise the prefix counts as a missing key.
func (c *call) under(prefix string) []json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hasAll(prefix) {
		c.missing[prefix] = true
	}
	var keys []string
	for key, o := range c.objects {
		if key != prefix && strings.HasPrefix(key, prefix) && len(o) > 0 && !bytes.Equal(o, []byte("null")) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var out []json.RawMessage
	for _, key := range keys {
		out = append(out, c.objects[key])
	}
	return out
}

// hasAll reports whether the call has all objects under a prefix. The caller holds the lock.
func (c *call) hasAll(prefix string) bool {
	for prefix != "" {
		if _, ok := c.objects[prefix]; ok {
			return true
		}
		prefix = prefix[:strings.LastIndexByte(prefix[:len(prefix)-1], '/')+1]
	}
	return false
}

// plugin returns the plugin for the configurations under a prefix. It calls of once for each prefix.
func (c *call) plugin(prefix string, of func([]json.RawMessage) (*lockedPlugin, error)) (*lockedPlugin, error) {
	c.mu.Lock()
	p, ok := c.plugins[prefix]
	c.mu.Unlock()
	if ok {
		return p, nil
	}
	p, err := of(c.under(prefix))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plugins[prefix] = p
	return p, nil
}

// put records a change. A deleted object is gone for the rest of the call.
func (c *call) put(w Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects == nil {
		c.objects = map[string]json.RawMessage{}
	}
	c.objects[w.Key] = w.Object
	if w.Delete {
		c.objects[w.Key] = nil
	}
	c.writes = append(c.writes, w)
}

// next returns the version of the next write.
func (c *call) next() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	return c.version
}

func (c *call) now() metav1.Time {
	return metav1.NewTime(time.Unix(0, c.req.Now).UTC().Truncate(time.Second))
}

// missingKeys returns the keys that were looked up and that the request lacks, sorted.
func (c *call) missingKeys() []string { return slices.Sorted(maps.Keys(c.missing)) }

// setTimes replaces the times that the handlers took from the clock by the time of the request. old is nil for a
// new object. moved reports whether managed fields have another order then.
func (c *call) setTimes(obj, old runtime.Object) (moved bool, err error) {
	o, err := meta.Accessor(obj)
	if err != nil {
		return false, err
	}
	var before []metav1.ManagedFieldsEntry
	if old == nil {
		c.chosenUID = o.GetUID()
		o.SetCreationTimestamp(c.now())
	} else {
		was, err := meta.Accessor(old)
		if err != nil {
			return false, err
		}
		before = was.GetManagedFields()
		c.setDeletionTime(o, was)
	}
	now := c.now()
	fields := o.GetManagedFields()
	for i := range fields {
		if c.fromClock(fields[i].Time) && !slices.ContainsFunc(before, func(m metav1.ManagedFieldsEntry) bool { return sameEntry(m, fields[i]) }) {
			fields[i].Time = &now
		}
	}
	moved = !slices.IsSortedFunc(fields, orderOfEntries)
	slices.SortStableFunc(fields, orderOfEntries)
	o.SetManagedFields(fields)
	return moved, nil
}

// fromClock reports whether a time may come from the clock of the process, during the call. Others are the client's.
func (c *call) fromClock(t *metav1.Time) bool {
	return t != nil && t.Unix() >= c.began.Unix() && !t.After(time.Now())
}

// orderOfEntries is the order of managed fields: that of their times, in seconds, for each operation. The handlers have put
// them in the order of another clock.
func orderOfEntries(a, b metav1.ManagedFieldsEntry) int {
	at := func(e metav1.ManagedFieldsEntry) int64 {
		if e.Time == nil {
			return 0
		}
		return e.Time.Unix()
	}
	return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(at(a), at(b)), cmp.Compare(a.Manager, b.Manager),
		cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource))
}

// sameEntry reports whether two entries have the same manager, operation, version, subresource and time.
func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion && a.Subresource == b.Subresource && a.Time.Equal(b.Time)
}

// sameButTime reports whether two entries are the same but for their times.
func sameButTime(a, b metav1.ManagedFieldsEntry) bool {
	a.Time = b.Time
	return equality.Semantic.DeepEqual(a, b)
}

// setDeletionTime computes a new deletion timestamp from the time of the request. A shortened grace period counts
// from the first request for the deletion, and ends now at the earliest.
func (c *call) setDeletionTime(o, was metav1.Object) {
	at, before := o.GetDeletionTimestamp(), was.GetDeletionTimestamp()
	if at == nil || at.Equal(before) {
		return
	}
	grace := seconds(o.GetDeletionGracePeriodSeconds())
	end := metav1.NewTime(c.now().Add(grace))
	if before != nil {
		now := c.now()
		end = metav1.NewTime(before.Add(grace - seconds(was.GetDeletionGracePeriodSeconds())))
		if end.Before(&now) {
			end = now
		}
	}
	o.SetDeletionTimestamp(&end)
}

func seconds(s *int64) time.Duration {
	if s == nil {
		return 0
	}
	return time.Duration(*s) * time.Second
}

// replaceUID replaces the uid that the handlers have chosen by that of the call, everywhere in a text. Some
// strategies copy the uid into labels, for instance.
func (c *call) replaceUID(text []byte) []byte {
	if c.chosenUID == "" || c.uid == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(c.chosenUID), []byte(c.uid))
}

// timestamp matches the times that strategies take from the clock.
var timestamp = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)

// replaceTimes replaces the times that strategies have taken from the clock by the time of the request. Those are
// the times within the call that stand neither in old nor in the body of the request.
func (c *call) replaceTimes(text, old []byte) []byte {
	return timestamp.ReplaceAllFunc(text, func(quoted []byte) []byte {
		at, err := time.Parse(time.RFC3339, string(quoted[1:len(quoted)-1]))
		bare := quoted[1 : len(quoted)-1]
		if err != nil || at.Before(c.began.Truncate(time.Second)) || at.After(time.Now()) || bytes.Contains(old, bare) || bytes.Contains(c.req.Body, bare) {
			return quoted
		}
		return fmt.Appendf(nil, "%q", c.now().Format(time.RFC3339))
	})
}

// replaceSeconds is replaceTimes for protobuf, where field 1 of a time has its seconds. All objects of the request
// are old.
func (c *call) replaceSeconds(body []byte) []byte {
	field := func(at time.Time) []byte { return binary.AppendUvarint([]byte{1 << 3}, uint64(at.Unix())) }
	own := field(c.now().Time)
	for at := c.began.Truncate(time.Second); !at.After(time.Now()); at = at.Add(time.Second) {
		bare, seen := []byte(at.UTC().Format(time.RFC3339)), field(at)
		known := bytes.Contains(c.req.Body, bare) || bytes.Contains(c.req.Body, seen)
		for _, o := range c.req.Objects {
			known = known || bytes.Contains(o, bare)
		}
		if !known && len(seen) == len(own) {
			body = bytes.ReplaceAll(body, seen, own)
		}
	}
	return body
}
