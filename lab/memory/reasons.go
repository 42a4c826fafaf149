package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// reason says why specs of the fake client fail on a server.
type reason struct {
	name string // a part of the name of the spec; "" matches any
	says string // an expression for the text of the failure; "" matches any
	text string
	// chance is for what happens on one server and not on the other.
	chance bool
}

// of reports whether the reason explains a failure.
func (r reason) of(failure string) bool {
	name, says, _ := strings.Cut(failure, "\n")
	return strings.Contains(name, r.name) && regexp.MustCompile(r.says).MatchString(says)
}

// reasons are tried in their order.
var reasons = []reason{
	{says: `context canceled`, chance: true, text: "a goroutine of the spec that watches ends after the spec: the event of a write comes before its answer"},
	{says: `may not be set during creation|may not be set when a resource name is provided`, text: "an object of a namespaced kind has no namespace: the client refuses it, since every server does"},
	{name: "create races with an update", says: `false\nto be true`, text: "an object of a namespaced kind has no namespace: the client refuses it, since every server does"}, // as above, if the create is first
	{name: "evict", says: `false\nto be true`, text: "the Pod has no namespace, or no name: the client refuses it, since every server does"},
	{name: "token", says: `false\nto be true`, text: "the ServiceAccount has no namespace, or no name: the client refuses it, since every server does"},
	{name: "SSA apply on status", says: `false\nto be true`, text: "the version is no number, which is a bad request, and no conflict"},
	{name: "incorrect RV is used", says: `false\nto be true`, text: "the version is no number, which is a bad request, and no conflict"},
	{says: `no matches for`, text: "the group of the kind has no dot: no definition of a custom resource may have such a group, so no server can serve it"},
	{says: `can only be used with a fake client`, text: "it adds an index to a fake client while it is in use, which a client of a server has not"},
	{name: "supports adding an index at runtime", text: "it adds an index to a fake client while it is in use, which a client of a server has not"},
	{says: `cannot create using only metadata|did not understand object`, text: "the client refuses before it asks a server"},
	{name: "eletionTimestamp", text: "a deletionTimestamp of the client is dropped, or immutable: it comes from a delete"},
	{says: `^Expected\n +<string>: DeploymentList`, text: "a server's list says that it is a DeploymentList"},
	{name: "with empty Name", text: "the name is missing, which a server or the client says in other words"},
	{says: `precondition \(999\)|Operation cannot be fulfilled`, text: "the spec knows the version 999, which the builder gives to objects; a server chooses versions, and asks for them in an update"},
	{says: `(?s)^Expected\n +<\*?string.*>: "?\d+"?\nto (equal|be equivalent to)\n`, text: "versions are those of the whole server; the spec wants those that the fake counts for each object"},
	{name: "set resourceVersion", says: `false\nto be true`, text: "a set version is refused, by another error than the fake's"},
	{name: "ResourceVersion", says: `false\nto be true`, text: "a wrong version is a conflict or a bad request, and not the error that the fake has"},
	{says: `is invalid: |Unsupported value`, text: "the object is not valid for its kind: a server refuses it"},
	{says: `deployments.apps "test-deployment" not found`, text: "the object is in the tracker of another fake, which a server does not read"},
	{says: `does not allow this method`, text: "a server does not delete all objects of the kind at once"},
	{says: `could not find the requested resource`, text: "the kind is not served, or has no such subresource"},
	{says: `Apply failed with \d+ conflict`, text: "a server knows the owners of fields, of writes without apply, too: the apply conflicts with them"},
	{name: "managed fields", text: "a server owns the managed fields: an empty list is not what it keeps"},
	{says: `object is being deleted: namespaces`, text: "a namespace that was deleted is being deleted until its controller ends it"},
	{says: `(?s)^Expected\n +<(\[\])?\*?v1\.(Deployment|ConfigMap|ListMeta)`, text: "the object or list has what a server adds: uid, times, version, defaults"},
}

// byChance reports whether a failure may come on one server alone.
func byChance(failure string) bool {
	return slices.ContainsFunc(reasons, func(r reason) bool { return r.chance && r.of(failure) })
}

// argued returns the reasons of failed specs, and an error for each that no reason explains.
func argued(failures []string) (known []string, bad []error) {
	specs := map[string][]string{}
	for _, f := range failures {
		i := slices.IndexFunc(reasons, func(r reason) bool { return r.of(f) })
		if i < 0 {
			bad = append(bad, fmt.Errorf("fake: no reason explains why it fails: %s", f))
			continue
		}
		specs[reasons[i].text] = append(specs[reasons[i].text], title(f))
	}
	texts := slices.SortedFunc(maps.Keys(specs), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(specs[b]), len(specs[a])), cmp.Compare(a, b))
	})
	for _, text := range texts {
		slices.Sort(specs[text])
		known = append(known, fmt.Sprintf("fake: %d specs: %s:\n  - %s", len(specs[text]), text, strings.Join(slices.Compact(specs[text]), "\n  - ")))
	}
	return known, bad
}
