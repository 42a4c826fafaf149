package memo

import (
	"maps"
	"slices"
	"strconv"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// where names a text of an answer, or of one of its writes.
type where struct {
	field field
	n     int    // the index of the write, or of the text in a list
	key   string // the key in a map
}

type field int

// Texts that may have values.
const (
	body field = iota
	missing
	warning
	writeKey
	writeVersion
	writeObject
	writeShown
	writeLabel
	writeField
	fields
)

// all has all fields.
var all = func() (out [fields]bool) {
	for f := range out {
		out[f] = true
	}
	return out
}()

// textsOf returns the texts of an answer that may have values. Answers of one form have them in the same order.
func textsOf(a *rules.Answer) (out []where) {
	out = append(out, where{field: body})
	for n := range a.Missing {
		out = append(out, where{field: missing, n: n})
	}
	for n := range a.Warnings {
		out = append(out, where{field: warning, n: n})
	}
	for n, w := range a.Writes {
		for _, f := range []field{writeKey, writeVersion, writeObject, writeShown} {
			out = append(out, where{field: f, n: n})
		}
		for _, key := range slices.Sorted(maps.Keys(w.Labels)) {
			out = append(out, where{writeLabel, n, key})
		}
		for _, key := range slices.Sorted(maps.Keys(w.Fields)) {
			out = append(out, where{writeField, n, key})
		}
	}
	return out
}

// own replaces the lists and maps of an answer by copies, so that their texts can be set. has names the fields
// to be set; other lists and maps stay shared.
func own(a *rules.Answer, has [fields]bool) {
	if has[missing] {
		a.Missing = slices.Clone(a.Missing)
	}
	if has[warning] {
		a.Warnings = slices.Clone(a.Warnings)
	}
	a.Writes = slices.Clone(a.Writes)
	for n := range a.Writes {
		w := &a.Writes[n]
		if has[writeLabel] {
			w.Labels = maps.Clone(w.Labels)
		}
		if has[writeField] {
			w.Fields = maps.Clone(w.Fields)
		}
	}
}

func (w where) get(a *rules.Answer) []byte {
	switch w.field {
	case body:
		return a.Body
	case missing:
		return []byte(a.Missing[w.n])
	case warning:
		return []byte(a.Warnings[w.n])
	}
	switch of := &a.Writes[w.n]; w.field {
	case writeKey:
		return []byte(of.Key)
	case writeVersion:
		return strconv.AppendUint(nil, of.Version, 10)
	case writeObject:
		return of.Object
	case writeShown:
		return of.Shown
	case writeLabel:
		return []byte(of.Labels[w.key])
	default:
		return []byte(of.Fields[w.key])
	}
}

// keeps reports whether set keeps the bytes of a text.
func (w where) keeps() bool {
	return w.field == body || w.field == writeObject || w.field == writeShown
}

// set sets a text of an answer that owns its lists and maps. The answer may keep the bytes of text.
func (w where) set(a *rules.Answer, text []byte) {
	switch w.field {
	case body:
		a.Body = text
	case writeObject:
		a.Writes[w.n].Object = text
	case writeShown:
		a.Writes[w.n].Shown = text
	default:
		w.setString(a, string(text))
	}
}

// setString sets a text that is a string or a number in the answer.
func (w where) setString(a *rules.Answer, text string) {
	switch w.field {
	case missing:
		a.Missing[w.n] = text
		return
	case warning:
		a.Warnings[w.n] = text
		return
	}
	switch of := &a.Writes[w.n]; w.field {
	case writeKey:
		of.Key = text
	case writeVersion:
		of.Version, _ = strconv.ParseUint(text, 10, 64) // digits, or none
	case writeLabel:
		of.Labels[w.key] = text
	default:
		of.Fields[w.key] = text
	}
}
