// Package gofield says which members the JSON form of a Go struct has, as encoding/json does. It is the one place
// that reads json tags, and the field numbers in protobuf tags.
package gofield

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Tag is the json tag of a field.
type Tag struct {
	// Name is the name in the tag, or empty.
	Name string
	// Omitted says that the field has no JSON form: the tag is "-".
	Omitted bool
	// OmitEmpty, OmitZero and Quoted are the options omitempty, omitzero and string. Inline is the option "inline" of
	// Kubernetes: generators inline the field although it is not embedded.
	OmitEmpty, OmitZero, Quoted, Inline bool
}

// TagOf reads the json tag of a field.
func TagOf(tag reflect.StructTag) Tag {
	text := tag.Get("json")
	name, options, _ := strings.Cut(text, ",")
	t := Tag{Name: name, Omitted: text == "-"}
	for o := range strings.SplitSeq(options, ",") {
		t.OmitEmpty = t.OmitEmpty || o == "omitempty"
		t.OmitZero = t.OmitZero || o == "omitzero"
		t.Quoted = t.Quoted || o == "string"
		t.Inline = t.Inline || o == "inline"
	}
	return t
}

// Number returns the field number in a protobuf tag such as `protobuf:"bytes,10,opt,name=nodeName"`; 0 if there is none.
func Number(tag reflect.StructTag) int {
	_, rest, _ := strings.Cut(tag.Get("protobuf"), ",")
	number, _, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseUint(number, 10, 29)
	if err != nil {
		return 0
	}
	return int(n)
}

// Field is a field of a struct, or of a struct that it embeds, which is a member of its JSON form.
type Field struct {
	// Go is the field, with the index from the outer struct on; see [reflect.Value.FieldByIndex].
	Go reflect.StructField
	// Name is the name of the member.
	Name string
	Tag  Tag
	// Via are the embedded fields on the way, from the outer struct on.
	Via []reflect.StructField
	// Pointer says that one of Via is a pointer. The member is missing while it is nil.
	Pointer bool
	// Owner is the struct that has the field.
	Owner reflect.Type
}

var known sync.Map // from a type to its []Field

// Of returns the members of a struct type, in the order of the fields. The caller must not change them.
//
// A struct that is embedded without a name in its tag lends its fields to the outer one. Of several fields with one
// name the one with the fewest structs around it counts, then the one with the name in its tag. If two are left, none
// is a member.
func Of(t reflect.Type) []Field {
	if fields, ok := known.Load(t); ok {
		return fields.([]Field)
	}
	fields, _ := known.LoadOrStore(t, dominant(collect(t)))
	return fields.([]Field)
}

// Find returns the member of a name. The letters must be as in the name.
func Find(t reflect.Type, name string) (Field, bool) {
	all := Of(t)
	i := slices.IndexFunc(all, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return all[i], true
}

// collect returns the fields of a struct and of those that it embeds, level by level. A struct that is embedded at
// several levels counts at the first. If it is embedded there more than once, its own fields are listed twice.
func collect(t reflect.Type) (all []Field) {
	seen, times := map[reflect.Type]bool{t: true}, map[reflect.Type]int{}
	for level := []Field{{Owner: t}}; len(level) > 0; {
		var next []Field
		count := map[reflect.Type]int{}
		for _, in := range level {
			for f := range in.Owner.Fields() {
				f.Index = append(slices.Clone(in.Go.Index), f.Index...)
				tag, lent := TagOf(f.Tag), embedded(f)
				if tag.Omitted || !f.IsExported() && lent == nil {
					continue
				}
				is := Field{Go: f, Name: cmp.Or(validName(tag.Name), f.Name), Tag: tag, Via: in.Via, Pointer: in.Pointer, Owner: in.Owner}
				if validName(tag.Name) != "" || lent == nil {
					if all = append(all, is); times[in.Owner] > 1 {
						all = append(all, is)
					}
					continue
				}
				is.Owner, is.Pointer = lent, in.Pointer || f.Type.Kind() == reflect.Pointer
				is.Via = append(slices.Clone(in.Via), f)
				if count[lent]++; count[lent] == 1 && !seen[lent] {
					next = append(next, is)
				}
			}
		}
		for _, f := range next {
			seen[f.Owner] = true
		}
		level, times = next, count
	}
	return all
}

// embedded returns the struct that a field embeds, or nil.
func embedded(f reflect.StructField) reflect.Type {
	t := f.Type
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	if !f.Anonymous || t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// validName returns the name in a tag, or nothing if encoding/json does not take it.
func validName(name string) string {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return ""
		}
	}
	return name
}

// dominant returns the fields that count, in the order of their indexes.
func dominant(all []Field) (out []Field) {
	precedence := func(a, b Field) int {
		tagged := func(f Field) int {
			if validName(f.Tag.Name) != "" {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(len(a.Go.Index), len(b.Go.Index)), cmp.Compare(tagged(a), tagged(b)))
	}
	names := map[string][]Field{}
	for _, f := range all {
		names[f.Name] = append(names[f.Name], f)
	}
	for _, same := range names {
		slices.SortStableFunc(same, precedence)
		if len(same) == 1 || precedence(same[0], same[1]) != 0 {
			out = append(out, same[0])
		}
	}
	slices.SortFunc(out, func(a, b Field) int { return slices.Compare(a.Go.Index, b.Go.Index) })
	return out
}
