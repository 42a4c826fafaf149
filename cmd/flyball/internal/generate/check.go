package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

// rootMarker declares a type to be a kind.
const rootMarker = "kubebuilder:object:root"

// groupMarker gives a package its API group.
const groupMarker = "groupName"

// versionForm matches the versions that the API server orders by age. It orders others after them, by name.
var versionForm = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)

// checkMarkers rejects arguments that parse, but that the API server would reject. It warns of those that have no
// effect.
func (p *project) checkMarkers() Problems {
	var problems Problems
	for _, m := range p.marks {
		for _, why := range wrong(m) {
			problems = append(problems, p.rejected(problemf(m.at, m.name(), "%s", why))...)
		}
		for _, why := range idle(m) {
			p.warn(m.at, m.name(), "%s", why)
		}
		if r, ok := m.value.(rbac.Rule); ok {
			for _, list := range [][]string{r.Groups, r.Resources, r.Verbs} {
				if slices.Contains(list, "*") {
					p.warn(m.at, m.name(), "grants more than any controller needs by \"*\"; name what it uses")
					break
				}
			}
		}
	}
	return problems
}

// idle returns what the API server accepts in a marker's value and does not observe.
func idle(m *mark) []string {
	switch v := m.value.(type) {
	case crdmarkers.PrintColumn:
		return jsonPath("JSONPath", v.JSONPath)
	case webhook.Config:
		return anyCase("reinvocationPolicy", v.ReinvocationPolicy, "", "Never", "IfNeeded")
	}
	return nil
}

// wrong returns the problems of a marker's value.
func wrong(m *mark) []string {
	switch v := m.value.(type) {
	case conversion:
		if v != conversionWebhook {
			return []string{fmt.Sprintf("must be %q, not %q", conversionWebhook, string(v))}
		}
	case crdmarkers.Resource:
		return oneOf("scope", v.Scope, "", "Namespaced", "Cluster")
	case crdmarkers.PrintColumn:
		return oneOf("type", v.Type, "integer", "number", "string", "boolean", "date")
	case crdmarkers.SelectableField:
		return jsonPath("JSONPath", v.JSONPath)
	case crdmarkers.SubresourceScale:
		out := append(jsonPath("specpath", v.SpecPath), jsonPath("statuspath", v.StatusPath)...)
		if v.SelectorPath != nil {
			out = append(out, jsonPath("selectorpath", *v.SelectorPath)...)
		}
		return out
	case crdmarkers.Pattern:
		if _, err := regexp.Compile(string(v)); err != nil {
			return []string{err.Error()}
		}
	case crdmarkers.XValidation:
		if strings.TrimSpace(v.Rule) == "" {
			return []string{"the rule is empty"}
		}
	case rbac.Rule:
		return wrongRule(v)
	case webhook.Config:
		return wrongWebhook(v)
	}
	return nil
}

func wrongRule(r rbac.Rule) (out []string) {
	if len(r.Verbs) == 0 {
		out = append(out, "no verbs")
	}
	switch {
	case len(r.URLs) == 0 && len(r.Resources) == 0:
		out = append(out, "neither resources nor urls")
	case len(r.URLs) > 0 && len(r.Resources) > 0:
		out = append(out, "both resources and urls; use two markers")
	case len(r.URLs) > 0 && r.Namespace != "":
		out = append(out, "urls belong to no namespace")
	case len(r.Resources) > 0 && len(r.Groups) == 0:
		out = append(out, `no groups; the core group is ""`)
	}
	return out
}

func wrongWebhook(c webhook.Config) (out []string) {
	out = append(out, anyCase("failurePolicy", c.FailurePolicy, "fail", "ignore")...)
	out = append(out, anyCase("matchPolicy", c.MatchPolicy, "", "Exact", "Equivalent")...)
	out = append(out, anyCase("sideEffects", c.SideEffects, "None", "NoneOnDryRun")...)
	for _, v := range c.Verbs {
		out = append(out, anyCase("verbs", v, "create", "update", "delete", "connect", "*")...)
	}
	if c.TimeoutSeconds < 0 || c.TimeoutSeconds > 30 {
		out = append(out, fmt.Sprintf("timeoutSeconds=%d: must be from 1 to 30", c.TimeoutSeconds))
	}
	if len(c.AdmissionReviewVersions) == 0 {
		out = append(out, "admissionReviewVersions is empty; v1 is the usual one")
	}
	if (c.Path == "") == (c.URL == "") {
		out = append(out, "needs either path or url")
	}
	if c.Path != "" && !strings.HasPrefix(c.Path, "/") {
		out = append(out, fmt.Sprintf("path=%s: must begin with a slash", c.Path))
	}
	if strings.Count(c.Name, ".") < 2 || len(validation.IsDNS1123Subdomain(c.Name)) > 0 {
		out = append(out, fmt.Sprintf("name=%s: must be a lower-case domain name of three parts at least, such as vorder.example.com", c.Name))
	}
	return out
}

// oneOf rejects a value that is not in the list. An empty string in the list means "not given".
func oneOf(argument, value string, allowed ...string) []string {
	if slices.Contains(allowed, value) {
		return nil
	}
	names := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
	return []string{fmt.Sprintf("%s=%s: must be one of %s", argument, value, strings.Join(names, ", "))}
}

// anyCase is oneOf without regard to case.
func anyCase(argument, value string, allowed ...string) []string {
	if slices.ContainsFunc(allowed, func(s string) bool { return strings.EqualFold(s, value) }) {
		return nil
	}
	return oneOf(argument, value, allowed...)
}

// jsonPath rejects a value that cannot be the path of a field.
func jsonPath(argument, value string) []string {
	if strings.HasPrefix(value, ".") && len(value) > 1 {
		return nil
	}
	return []string{fmt.Sprintf("%s=%s: must be a path that begins with a dot, such as .spec.size", argument, value)}
}
