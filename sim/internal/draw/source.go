package draw

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Source draws changes of objects. Each field is as likely as another one. Of a field no change is drawn twice before
// each that there is has been drawn. It is not safe for concurrent use.
type Source struct {
	schema *Schema
	random *rand.Rand
	fixed  []string
	drawn  map[string]bool
}

// NewSource returns a source. Fixed has fields that are never changed, as "spec.name".
func NewSource(s *Schema, random *rand.Rand, fixed []string) *Source {
	return &Source{schema: s, random: random, fixed: fixed, drawn: map[string]bool{}}
}

// Next returns another object, with one change. It returns nil if there is none.
//
// A field here is at most two deep, as spec.size: a template of Pods has so many that it would hide all others.
func (s *Source) Next(o map[string]any) map[string]any {
	all := slices.DeleteFunc(Changes(s.schema, o), s.isFixed)
	if len(all) == 0 {
		return nil
	}
	var fields []string
	by := map[string][]Change{}
	for _, c := range all {
		field := Pointer(c.Path[:min(2, len(c.Path))])
		if by[field] == nil {
			fields = append(fields, field)
		}
		by[field] = append(by[field], c)
	}
	of := by[fields[s.random.IntN(len(fields))]]
	left := slices.DeleteFunc(slices.Clone(of), func(c Change) bool { return s.drawn[c.String()] })
	if len(left) == 0 {
		left = of
		for _, c := range of {
			delete(s.drawn, c.String())
		}
	}
	c := left[s.random.IntN(len(left))]
	s.drawn[c.String()] = true
	return c.Apply(o)
}

func (s *Source) isFixed(c Change) bool {
	path := strings.Join(c.Path, ".")
	return slices.ContainsFunc(s.fixed, func(f string) bool { return path == f || strings.HasPrefix(path, f+".") })
}
