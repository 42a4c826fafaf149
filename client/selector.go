package client

import (
	"cmp"
	"errors"
	"strconv"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
)

// MatchingLabels matches objects that have all these labels with these values.
type MatchingLabels map[string]string

// ApplyToList implements [ListOption].
func (m MatchingLabels) ApplyToList(o *ListOptions) {
	s, err := labels.ValidatedSelectorFromSet(labels.Set(m))
	o.match(labels.Set(m).String(), Selection{Labels: s}, err)
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (m MatchingLabels) ApplyToWrite(op *Op) { m.ApplyToList(&op.Select) }

// LabelSelector matches objects by a selector in text form, "app=web,tier in (a, b)". If it does not
// parse, the call fails with an [ArgumentError].
type LabelSelector string

// ApplyToList implements [ListOption].
func (l LabelSelector) ApplyToList(o *ListOptions) {
	s, err := labels.Parse(string(l))
	o.match(string(l), Selection{Labels: s}, err)
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (l LabelSelector) ApplyToWrite(op *Op) { l.ApplyToList(&op.Select) }

// MatchingFields matches objects whose fields have these values. Every kind has metadata.name and
// metadata.namespace. The server offers more for some kinds, and a cache offers its indexes.
type MatchingFields map[string]string

// ApplyToList implements [ListOption].
func (m MatchingFields) ApplyToList(o *ListOptions) {
	s := fields.SelectorFromSet(fields.Set(m))
	o.match(s.String(), Selection{Fields: s}, nil)
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (m MatchingFields) ApplyToWrite(op *Op) { m.ApplyToList(&op.Select) }

// OwnedBy matches objects with an owner of this uid, controller or not. A cache answers it by an index, which it makes
// when it is first asked. The API server has no such selector: a list, a watch or a [DeleteAll] that is sent to it is an
// [ArgumentError]. So is an empty uid.
//
//	client.List[corev1.Pod](ctx, mgr.Client(), client.InNamespace(set.Namespace), client.OwnedBy(set.UID))
type OwnedBy types.UID

// ApplyToList implements [ListOption].
func (u OwnedBy) ApplyToList(o *ListOptions) {
	var err error
	if u == "" {
		err = errNoUID
	}
	s := fields.OneTermEqualSelector(wire.OwnerUIDs, string(u))
	o.match(s.String(), Selection{Fields: s}, err)
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (u OwnedBy) ApplyToWrite(op *Op) { u.ApplyToList(&op.Select) }

var errNoUID = errors.New("the uid of the owner is empty: it was not read from a server")

// FieldSelector matches objects by a field selector in text form, "spec.nodeName=a". If it does not
// parse, the call fails with an [ArgumentError].
type FieldSelector string

// ApplyToList implements [ListOption].
func (f FieldSelector) ApplyToList(o *ListOptions) {
	s, err := fields.ParseSelector(string(f))
	o.match(string(f), Selection{Fields: s}, err)
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (f FieldSelector) ApplyToWrite(op *Op) { f.ApplyToList(&op.Select) }

// match adds a selector, or the error for one that does not parse or is not UTF-8. Nothing is selected then,
// even by a program that does not call Apply.
func (o *ListOptions) match(text string, s Selection, err error) {
	if err == nil && !utf8.ValidString(text) {
		err = errNotUTF8
	}
	if err != nil {
		o.err = cmp.Or(o.err, badSelector(text, err))
		s = Selection{Labels: labels.Nothing()}
	}
	s.ApplyToList(o)
}

// badSelector is the error for a selector that does not parse, or whose keys or values no label can have.
func badSelector(text string, cause error) error {
	return wrong("selector "+strconv.Quote(text), cause)
}

// andLabels returns a selector that matches what both match. If one matches nothing, so does the result.
func andLabels(a, b labels.Selector) labels.Selector {
	if a == nil {
		return b
	}
	reqs, selectable := b.Requirements()
	if !selectable {
		return labels.Nothing()
	}
	if _, selectable := a.Requirements(); !selectable {
		return a
	}
	return a.DeepCopySelector().Add(reqs...)
}

func andFields(a, b fields.Selector) fields.Selector {
	if a == nil || b == fields.Nothing() {
		return b
	}
	if a == fields.Nothing() {
		return a
	}
	return fields.AndSelectors(a, b)
}
