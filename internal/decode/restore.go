package decode

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Versions are three documents of one type in one encoding. Restore makes a fourth of them.
type Versions struct {
	// Read is the document that an object was decoded from.
	Read []byte
	// Known is Read decoded and encoded again: the part that the type has.
	Known []byte
	// Sent is the current object, encoded.
	Sent []byte
}

// RestoreJSON returns Sent with the fields put back that Read has and the type does not. Each
// returns to its place, in the same message of the type. The fields of the type are as in Sent,
// byte for byte.
//
//   - A removed message behind a pointer or in a map takes its unknown fields with it.
//   - An unchanged element of a list is found by its content. A changed one is found by the key
//     that the patchMergeKey tag of the list names, or else by a field called name or type. Without
//     such a field it is found by its place: the number of elements between unchanged ones must be
//     as before.
//   - A removed element takes its unknown fields with it. So does one that was renamed, or changed
//     and moved without a key. Among elements with equal known fields, the first ones count as
//     those that stayed.
//   - A union is a struct of nothing but optional pointers to structs, or one that embeds such a
//     struct. If a member of a union was set since, unknown fields beside it may be the former
//     member. The error is then a *[PlaceError] that names both.
//   - An ambiguous place is not guessed: the error is a *[PlaceError]. This happens if elements
//     without a key have changed and others came or went next to them. It also happens if elements
//     with the same key did.
//
// Values of any type, and types with a decoding method of their own, are taken from Sent. So is
// metadata.managedFields. Without unknown fields the result is Sent itself.
func RestoreJSON(t reflect.Type, v Versions) ([]byte, error) { return jsonForm.restore(t, v) }

// RestoreProtobuf is [RestoreJSON] for protobuf messages.
func RestoreProtobuf(t reflect.Type, v Versions) ([]byte, error) { return protoForm.restore(t, v) }

// UnknownJSON reports whether a document has fields that the type does not have. An unreadable
// document is an error.
func UnknownJSON(t reflect.Type, b []byte) (bool, error) { return jsonForm.unknown(t, b) }

// UnknownProtobuf is [UnknownJSON] for protobuf messages.
func UnknownProtobuf(t reflect.Type, b []byte) (bool, error) { return protoForm.unknown(t, b) }

// UnknownFieldsJSON returns the paths of the fields that the type does not have, such as "spec.rules[0].cost". An
// unreadable document is an error.
func UnknownFieldsJSON(t reflect.Type, b []byte) ([]string, error) {
	doc, err := jsonForm.parse(b, jsonForm.outlines.of(t))
	if err != nil {
		return nil, err
	}
	return doc.root.unknownPaths("", nil), nil
}

// unknownPaths appends the paths of the unknown fields in a part.
func (p *part) unknownPaths(at string, paths []string) []string {
	if p == nil || !p.hasUnknown {
		return paths
	}
	for _, f := range p.unknown {
		paths = append(paths, strings.TrimPrefix(at+"."+f.name, "."))
	}
	for n, c := range p.children {
		paths = c.unknownPaths(at+p.at.step(n), paths)
	}
	for i, e := range p.elems {
		step := fmt.Sprintf("[%d]", i)
		if p.at.kind == partMap {
			step = "[" + e.key + "]"
		}
		paths = e.unknownPaths(at+step, paths)
	}
	return paths
}

func (f *form) unknown(t reflect.Type, b []byte) (bool, error) {
	doc, err := f.parse(b, f.outlines.of(t))
	return err == nil && doc.hasUnknown, err
}

func (f *form) restore(t reflect.Type, v Versions) ([]byte, error) {
	o := f.outlines.of(t)
	read, err := f.parse(v.Read, o)
	if err != nil {
		return nil, fmt.Errorf("the document that was read: %w", err)
	}
	if !read.hasUnknown {
		return v.Sent, nil
	}
	known, err := f.parse(v.Known, o)
	if err != nil {
		return nil, fmt.Errorf("its known part: %w", err)
	}
	sent, err := f.parse(v.Sent, o)
	if err != nil {
		return nil, fmt.Errorf("the document to send: %w", err)
	}
	r := restorer{read, known, sent}
	if err := r.part(read.root, known.root, sent.root); err != nil {
		if e, ok := err.(*PlaceError); ok {
			e.Field = strings.TrimPrefix(e.Field, ".")
		}
		return nil, err
	}
	return f.write(sent), nil
}

// restorer puts the unknown fields of one document into another.
type restorer struct{ read, known, sent *document }

// part puts the unknown fields of a part into the same part of sent. known is nil if the type
// writes nothing for the part, since all its known fields are zero.
func (r *restorer) part(read, known, sent *part) error {
	if !read.hasUnknown || sent.null {
		return nil
	}
	switch read.at.kind {
	case partList:
		return r.list(read, known, sent)
	case partMap:
		return r.mapped(read, known, sent)
	}
	if n := newMember(read, sent); n >= 0 && len(read.unknown) > 0 {
		return r.lost([]*part{{hasUnknown: true, unknown: read.unknown}}, "one may be the former member of a union, which has "+read.at.fields[n].name+" now")
	}
	for _, f := range read.unknown {
		if !slices.ContainsFunc(sent.unknown, func(have foreign) bool { return have.name == f.name }) {
			sent.put(r.read.text(f.span))
		}
	}
	for n, c := range read.children {
		if c == nil || !c.hasUnknown {
			continue
		}
		switch was, is := known.of(n), sent.of(n); {
		case is != nil:
			if err := r.part(c, was, is); err != nil {
				return addStep(err, read.at.step(n))
			}
			sent.changed = sent.changed || is.changed
		case was == nil: // not written, but not removed either
			sent.put(r.read.text(c.field))
		}
	}
	return nil
}

// newMember returns the union field that is set in sent and was not set in read; -1 if there is
// none.
func newMember(read, sent *part) int {
	for n, c := range sent.children {
		if c != nil && read.at.fields[n].union && read.of(n) == nil {
			return n
		}
	}
	return -1
}

// step returns the path element of a field.
func (o *outline) step(n int) string {
	if o.entry {
		return ""
	}
	return "." + o.fields[n].name
}

// of returns the part of a field, or nil.
func (p *part) of(n int) *part {
	if p == nil || p.children == nil {
		return nil
	}
	return p.children[n]
}

func (p *part) put(text []byte) {
	p.add = append(p.add, text)
	p.changed = true
}

// mapped matches map values by key.
func (r *restorer) mapped(read, known, sent *part) error {
	was, is := known.byKey(), sent.byKey()
	for _, e := range read.elems {
		now := is[e.key]
		if now == nil || !e.hasUnknown {
			continue
		}
		if err := r.part(e, was[e.key], now); err != nil {
			return addStep(err, "["+e.key+"]")
		}
		sent.changed = sent.changed || now.changed
	}
	return nil
}

// byKey returns the elements of a map by key.
func (p *part) byKey() map[string]*part {
	if p == nil {
		return nil
	}
	elems := make(map[string]*part, len(p.elems))
	for _, e := range p.elems {
		elems[e.key] = e
	}
	return elems
}

// list matches the elements of a list.
func (r *restorer) list(read, known, sent *part) error {
	if known == nil || len(known.elems) != len(read.elems) {
		return r.lost(read.elems, "the Go type does not encode the list as it was read")
	}
	m := newMatches(r, known.elems, sent.elems)
	if sent.elemKey > 0 {
		m.byKey()
	} else {
		m.byPlace()
	}
	for i, e := range read.elems {
		if !e.hasUnknown {
			continue
		}
		switch n := m.toIs[i]; n {
		case unmatched:
		case unclear:
			return r.lost([]*part{e}, "similar elements changed, and others were added or removed: its place is ambiguous")
		default:
			is := sent.elems[n]
			if err := r.part(e, known.elems[i], is); err != nil {
				return addStep(err, fmt.Sprintf("[%d]", i))
			}
			sent.changed = sent.changed || is.changed
		}
	}
	return nil
}

// lost returns the error for elements without a place.
func (r *restorer) lost(elems []*part, problem string) error {
	e := &PlaceError{Problem: problem}
	for _, p := range elems {
		e.Names = p.unknownNames(e.Names)
	}
	return e
}

// unknownNames appends the names of the unknown fields in a part.
func (p *part) unknownNames(names []string) []string {
	if p == nil || !p.hasUnknown {
		return names
	}
	for _, f := range p.unknown {
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	for _, c := range slices.Concat(p.children, p.elems) {
		names = c.unknownNames(names)
	}
	return names
}

// addStep adds a step to the path of a PlaceError.
func addStep(err error, step string) error {
	if e, ok := err.(*PlaceError); ok {
		e.Field = step + e.Field
	}
	return err
}

// same reports whether the known fields of two parts are equal.
func (r *restorer) same(known, sent *part) bool {
	return bytes.Equal(r.known.src[known.from:known.to], r.sent.src[sent.from:sent.to])
}
