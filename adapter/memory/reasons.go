package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// reason is why specs of the fake client fail on a server.
type reason struct {
	matches *regexp.Regexp // the name of the spec, or what the failure says
	text    string
}

// reasons are tried in their order.
var reasons = []reason{
	{regexp.MustCompile(`may not be set during creation|may not be set when a resource name is provided`), "an object of a namespaced kind has no namespace: every server refuses it"},
	{regexp.MustCompile(`no matches for`), "the group of the kind has no dot: no definition of a custom resource may have such a group, so no server can serve it"},
	{regexp.MustCompile(`can only be used with a fake client`), "it tests a function for fake clients alone"},
	{regexp.MustCompile(`cannot create using only metadata|did not understand object`), "the client refuses before it asks a server"},
	{regexp.MustCompile(`(?i)deletionTimestamp`), "a deletionTimestamp of the client is dropped or immutable; it comes from a delete"},
	{regexp.MustCompile(`DeploymentList\nto equal`), "a server's list says that it is a DeploymentList"},
	{regexp.MustCompile(`(?s)name or gen|resource name may not be empty`), "the name is missing, which a server or the client says in other words"},
	{regexp.MustCompile(`field is immutable|metadata.managedFields must be nil`), "a server refuses the change"},
	{regexp.MustCompile(`precondition \(999\)|Operation cannot be fulfilled|non-matching ResourceVersion|mismatched ResourceVersion|set resourceVersion`),
		"the spec knows the version 999, which the builder gives to objects; a server chooses versions, and asks for them in an update"},
	{regexp.MustCompile(`ResourceVersion|(?s)<\*?string.*>: "?\d+"?\n *to (equal|be equivalent to)\n`), "versions are those of the whole server; the spec wants those that the fake counts for each object"},
	{regexp.MustCompile(`is invalid:|Unsupported value`), "the object is not valid for its kind: a server refuses it"},
	{regexp.MustCompile(`"?deployments.apps \\?"test-deployment\\?"? not found`), "the object is in the tracker of another fake, which a server does not read"},
	{regexp.MustCompile(`does not allow this method`), "a server does not delete all Bindings or Namespaces at once"},
	{regexp.MustCompile(`Apply failed with \d+ conflict`), "a server knows the owners of fields, of writes without apply, too: the apply conflicts with them"},
	{regexp.MustCompile(`(?s)to equal.*(Deployment|ConfigMap)|(Deployment|ConfigMap) \| .*(?s)to (equal|be equivalent to|consist of|contain)`),
		"the object has what a server adds: uid, times, version, defaults"},
	{regexp.MustCompile(`object is being deleted: namespaces`), "a namespace that was deleted is being deleted until its controller ends it"},
}

// argued says why the specs fail, by the words of the server, and names the specs that no reason explains.
func argued(failures []string) (known []string, bad []error) {
	specs := map[string][]string{}
	for _, f := range failures {
		i := slices.IndexFunc(reasons, func(r reason) bool { return r.matches.MatchString(f) })
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
