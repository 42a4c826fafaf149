package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

// exceptions are the specs that the packed cache does not pass, by a part of their name, and why.
var exceptions = map[string]string{
	"should not deep copy the object if UnsafeDisableDeepCopy is enabled": sharedObjects,
	"should be able to change object in informer cache":                   sharedObjects,
}

const sharedObjects = "it reads one object twice and wants the same memory, or its own change in it. " +
	"The packed cache has no objects to share: each read decodes a copy, which a caller may change"

func exceptionFor(failure string) string {
	name := strings.SplitN(failure, "\n", 2)[0]
	for part, reason := range exceptions {
		if strings.Contains(name, part) {
			return reason
		}
	}
	return ""
}

// row is the line of a suite in the table. The suite of the peer may not have run. out is how many of its specs are
// left out of that of Flyball.
func row(name string, was, is *suites.Result, out int) string {
	specs, passed := fmt.Sprint(is.Specs), "not run"
	if was != nil {
		specs, passed = fmt.Sprint(was.Specs), fmt.Sprint(was.Passed)
	}
	var notes []string
	if is.Pending > 0 {
		notes = append(notes, fmt.Sprintf("%d pending", is.Pending))
	}
	if out > 0 {
		notes = append(notes, fmt.Sprintf("%d left out", out))
	}
	if len(notes) > 0 {
		specs += " (" + strings.Join(notes, ", ") + ")"
	}
	calls := fmt.Sprint(is.Calls)
	if is.Foreign > 0 {
		calls += fmt.Sprintf(", and %d %s", is.Foreign, kept(name))
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s |", name, specs, passed, is.Passed, calls)
}

// kept says which calls of a constructor run the peer's code.
func kept(suite string) string {
	if suite == overCtrl {
		return "with a cache, an HTTP client or a handler of warnings to the default client"
	}
	return "with NewInformer to the default cache"
}

// judge returns the failures that no exception explains, those that one does, and how many specs are left out.
func judge(suite string, was, is *suites.Result) (bad []error, known []string, out int) {
	if is.Specs == 0 {
		bad = append(bad, fmt.Errorf("%s: no spec ran", suite))
	}
	if is.Calls == 0 {
		bad = append(bad, fmt.Errorf("%s: no spec called the constructor", suite))
	}
	if was != nil {
		for _, f := range was.Failed {
			bad = append(bad, fmt.Errorf("%s, of the peer: %s", suite, f))
		}
		missing := subtract(was.Names, is.Names)
		for _, name := range missing {
			if reason := leftOut[strings.SplitN(name, "/", 2)[0]]; suite == informerSuite && reason != "" {
				out++
				continue
			}
			bad = append(bad, fmt.Errorf("%s: %s ran over the peer's own code alone", suite, name))
		}
	}
	if suite == informerSuite {
		for _, test := range slices.Sorted(maps.Keys(leftOut)) {
			known = append(known, fmt.Sprintf("%s: %s is left out: %s", suite, test, leftOut[test]))
		}
	}
	for _, f := range is.Failed {
		if reason := exceptionFor(f); reason != "" {
			known = append(known, fmt.Sprintf("%s: %s: %s", suite, strings.SplitN(f, "\n", 2)[0], reason))
			continue
		}
		bad = append(bad, fmt.Errorf("%s, of Flyball: %s", suite, f))
	}
	return bad, known, out
}

// subtract returns the names that are in all more often than in some.
func subtract(all, some []string) (rest []string) {
	n := map[string]int{}
	for _, name := range some {
		n[name]++
	}
	for _, name := range all {
		if n[name]--; n[name] < 0 {
			rest = append(rest, name)
		}
	}
	return rest
}
