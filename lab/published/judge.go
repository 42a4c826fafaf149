package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// result is what both commands made of a module.
type result struct{ was, is side }

// differ returns the names of what is not the same.
func differ[V any](was, is map[string]V) (names []string) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, inA := was[name]
		b, inB := is[name]
		switch {
		case !inA:
			names = append(names, name+", which controller-gen does not make")
		case !inB:
			names = append(names, name+", which flyball does not make")
		case !reflect.DeepEqual(a, b):
			names = append(names, name)
		}
	}
	return names
}

// methods returns the methods that differ. Where controller-gen fails, there is nothing to compare with.
func (r *result) methods() []string {
	if slices.ContainsFunc(r.was.refused, func(s string) bool { return strings.HasPrefix(s, "object:") }) {
		return nil
	}
	return differ(r.was.methods, r.is.methods)
}

// row is a line of the table.
func (r *result) row(m module) string {
	return fmt.Sprintf("| %s %s | %d | %d | %d | %d | %d | %d | %d | %s | %s |", m.name, m.version,
		len(r.is.definitions), len(differ(r.was.definitions, r.is.definitions)), len(r.is.configs), len(r.is.methods), len(r.methods()),
		r.is.warnings, len(r.is.refused), r.was.took.Round(time.Second/10), r.is.took.Round(time.Second/10))
}

// judge returns the differences from the output of controller-gen, and the inputs that only flyball
// refuses.
func (r *result) judge(m module) (bad []error) {
	for what, names := range map[string][]string{
		"definition":      differ(r.was.definitions, r.is.definitions),
		"file":            differ(r.was.configs, r.is.configs),
		"DeepCopy method": r.methods(),
	} {
		for _, name := range names {
			bad = append(bad, fmt.Errorf("%s: %s %s differs", m.name, what, name))
		}
	}
	for _, why := range r.was.refused {
		progress("%s: controller-gen refuses %s", m.name, why)
	}
	for _, why := range r.is.refused {
		bad = append(bad, fmt.Errorf("%s: flyball refuses %s", m.name, why))
	}
	if len(r.was.definitions) == 0 {
		bad = append(bad, fmt.Errorf("%s: controller-gen made no definition: there is nothing to compare", m.name))
	}
	return bad
}
