package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// fieldReader has what is needed to ask rules for the selectable fields of custom resources in the version of a
// request. The stored fields of an object are in the version of the request that wrote it, by the definition at that
// time.
type fieldReader struct {
	target  target
	now     time.Time
	pending *Pending
}

// pendingError is the error of a question that needs responses of webhooks first.
type pendingError struct{ answer Answer }

func (*pendingError) Error() string { return "the responses of webhooks are not known yet" }

// selectsCustom reports whether the field selector uses selectable fields of a custom resource definition.
func (m matcher) selectsCustom() bool {
	return m.fields != nil && slices.ContainsFunc(m.fields.Requirements(), func(r fields.Requirement) bool { return r.Field != fieldName && r.Field != "metadata.namespace" })
}

// readFields asks rules for the fields of the objects whose stored fields may be of another version, and keeps the
// answers for object. v must have the definition of the kind.
func (m *matcher) readFields(v View, r fieldReader, objects func() []*Object) error {
	d := v.defined(r.target)
	if d == nil || !m.selectsCustom() {
		return nil
	}
	several := d.severalVersions()
	call := &rules.Request{Method: http.MethodGet, URL: "/apis/" + r.target.group + "/" + r.target.version + "/" + r.target.resource, Accept: contentJSON, User: "list",
		Now: r.now.UnixNano(), Version: v.version, Objects: map[string]json.RawMessage{d.Key: d.JSON}, Collection: &rules.Collection{}, Fields: true}
	var asked []*Object
	m.fieldsOf = map[*Object]*Object{}
	for _, o := range objects() {
		if _, known := m.fieldsOf[o]; !known && (several || o.Version < d.Version) && m.labels.Matches(o.labels) && m.shards.have(o) {
			asked, m.fieldsOf[o] = append(asked, o), nil
			call.Collection.Items = append(call.Collection.Items, o.JSON)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	r.pending.resume(call)
	answer, err := v.rules(call)
	switch {
	case err != nil:
		return err
	case len(answer.Calls) > 0:
		return &pendingError{r.pending.wait(r.now, 0, answer.Calls)}
	case answer.Code != http.StatusOK:
		f := &failure{}
		if json.Unmarshal(answer.Body, &f.status) == nil && f.status.Kind == "Status" {
			return f
		}
		return fmt.Errorf("the fields of objects are not known: %s", answer.Body)
	case len(answer.Fields) != len(asked):
		return fmt.Errorf("rules answered with the fields of %d objects, want %d", len(answer.Fields), len(asked))
	}
	for i, o := range asked {
		seen := *o
		seen.fields = newFields(o.Key, answer.Fields[i])
		m.fieldsOf[o] = &seen
	}
	return nil
}

// below returns the objects under the prefix of a list.
func (v View) below(l *rules.List) (out []*Object) {
	v.objects.Ascend(l.Prefix, func(key string, o *Object) bool {
		if l.Single && key != l.Prefix || !strings.HasPrefix(key, l.Prefix) {
			return false
		}
		out = append(out, o)
		return true
	})
	return out
}

// changed returns the objects before and after each change that the next Poll will read.
func (w *Watch) changed(v View) (out []*Object) {
	at, _ := slices.BinarySearchFunc(v.log, w.after+1, byVersion)
	for _, c := range v.log[at:] {
		if key := c.Object.Key; w.list.Single && key != w.list.Prefix || !strings.HasPrefix(key, w.list.Prefix) {
			continue
		}
		if c.Old != nil {
			out = append(out, c.Old)
		}
		if !c.Deleted {
			out = append(out, c.Object)
		}
	}
	return out
}

// Prepare prepares the next Poll of a view. It reads the fields of custom resources in the version of the watch, which
// may need conversion by a webhook. If it returns a Pending, make its calls, and call Prepare again with it.
func (w *Watch) Prepare(v View, now time.Time, p *Pending) (*Pending, error) {
	w.match.fieldsOf = nil
	v = w.asBegun(v)
	err := w.match.readFields(v, fieldReader{w.target, now, p}, func() []*Object { return w.changed(v) })
	var wait *pendingError
	if errors.As(err, &wait) {
		return wait.answer.Pending, nil
	}
	return nil, err
}
