package client

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// InvalidSelectorError is the error for a label or field selector that does not parse, or whose keys or
// values no label can have. Nothing was sent.
type InvalidSelectorError struct {
	// Selector is the text as it was given.
	Selector string
	cause    error
}

func (e *InvalidSelectorError) Error() string {
	return fmt.Sprintf("selector %q: %v", e.Selector, e.cause)
}

// Unwrap returns the error of the parser.
func (e *InvalidSelectorError) Unwrap() error { return e.cause }

// MatchingLabels matches objects that have all these labels with these values.
type MatchingLabels map[string]string

// ApplyToList implements [ListOption].
func (m MatchingLabels) ApplyToList(o *ListOptions) error {
	s, err := labels.ValidatedSelectorFromSet(labels.Set(m))
	if err != nil {
		return &InvalidSelectorError{Selector: labels.Set(m).String(), cause: err}
	}
	o.Labels = andLabels(o.Labels, s)
	return nil
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (m MatchingLabels) ApplyToWrite(op *Op) error { return m.ApplyToList(&op.Select) }

// LabelSelector matches objects by a selector in text form, "app=web,tier in (a, b)". If it does not
// parse, the call fails with an [InvalidSelectorError].
type LabelSelector string

// ApplyToList implements [ListOption].
func (l LabelSelector) ApplyToList(o *ListOptions) error {
	s, err := labels.Parse(string(l))
	if err != nil {
		return &InvalidSelectorError{Selector: string(l), cause: err}
	}
	o.Labels = andLabels(o.Labels, s)
	return nil
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (l LabelSelector) ApplyToWrite(op *Op) error { return l.ApplyToList(&op.Select) }

// MatchingSelector matches objects by a label selector; nil matches everything.
func MatchingSelector(s labels.Selector) SelectorOption { return SelectorOption{labels: s} }

// MatchingFieldSelector matches objects by a field selector; nil matches everything.
func MatchingFieldSelector(s fields.Selector) SelectorOption { return SelectorOption{fields: s} }

// SelectorOption is an option made by [MatchingSelector] or [MatchingFieldSelector].
type SelectorOption struct {
	labels labels.Selector
	fields fields.Selector
}

// ApplyToList implements [ListOption].
func (s SelectorOption) ApplyToList(o *ListOptions) error {
	if s.labels != nil {
		o.Labels = andLabels(o.Labels, s.labels)
	}
	if s.fields != nil {
		o.Fields = andFields(o.Fields, s.fields)
	}
	return nil
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (s SelectorOption) ApplyToWrite(op *Op) error { return s.ApplyToList(&op.Select) }

// MatchingFields matches objects whose fields have these values. Every kind has metadata.name and
// metadata.namespace. The server offers more for some kinds, and a cache offers its indexes.
type MatchingFields map[string]string

// ApplyToList implements [ListOption].
func (m MatchingFields) ApplyToList(o *ListOptions) error {
	for k, v := range m {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return &InvalidSelectorError{Selector: k + "=" + v, cause: errNotUTF8}
		}
	}
	o.Fields = andFields(o.Fields, fields.SelectorFromSet(fields.Set(m)))
	return nil
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (m MatchingFields) ApplyToWrite(op *Op) error { return m.ApplyToList(&op.Select) }

// FieldSelector matches objects by a field selector in text form, "spec.nodeName=a". If it does not
// parse, the call fails with an [InvalidSelectorError].
type FieldSelector string

// ApplyToList implements [ListOption].
func (f FieldSelector) ApplyToList(o *ListOptions) error {
	s, err := fields.ParseSelector(string(f))
	if err == nil && !utf8.ValidString(string(f)) {
		err = errNotUTF8
	}
	if err != nil {
		return &InvalidSelectorError{Selector: string(f), cause: err}
	}
	o.Fields = andFields(o.Fields, s)
	return nil
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (f FieldSelector) ApplyToWrite(op *Op) error { return f.ApplyToList(&op.Select) }

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
