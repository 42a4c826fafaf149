package core

import (
	"net/url"
	"strings"
)

// target has the parts of a path that names a resource. It is the zero value for other paths.
type target struct {
	group, version, resource, namespace, name, subresource string
	// special is the verb that some paths begin with, in an old form: "watch" or "proxy".
	special string
}

// parsePath reads a path such as /apis/apps/v1/namespaces/a/deployments/b/status as the real server does. It is the
// only reader of paths here; rules refuse what they read differently. See [rules.Request.Granted].
func parsePath(path string) target {
	path = unescaped(path)
	parts := make([]string, 0, 8) // of an object's status
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		parts = append(parts, part)
	}
	var t target
	switch {
	case len(parts) > 2 && parts[0] == "api":
		t.group, t.version, parts = "", parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		t.group, t.version, parts = parts[1], parts[2], parts[3:]
	default:
		return target{}
	}
	if parts[0] == "watch" || parts[0] == "proxy" {
		if len(parts) == 1 {
			return target{}
		}
		t.special, parts = parts[0], parts[1:]
	}
	// The namespace itself is a resource: /namespaces/a, /namespaces/a/status and /namespaces/a/finalize.
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		t.namespace, parts = parts[1], parts[2:]
	}
	for i, field := range []*string{&t.resource, &t.name, &t.subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	if t.special == "proxy" {
		t.subresource = ""
	}
	return t
}

// unescaped returns the path of a URL without its query.
func unescaped(target string) string {
	path, _, _ := strings.Cut(target, "?")
	if strings.Contains(path, "%") {
		if decoded, err := url.PathUnescape(path); err == nil {
			return decoded
		}
	}
	return path
}

// collection returns the prefix of the keys of the target's collection, with its slash.
func (t target) collection() string { return t.under("") }

func (t target) key() string { return t.under(t.name) }

// under returns the key of an object of the target's collection.
func (t target) under(name string) string {
	group := t.group
	if group == "" || group == "events.k8s.io" && t.resource == "events" { // the Events of both groups are the same
		group = "core"
	}
	if t.namespace == "" {
		return "/" + group + "/" + t.resource + "/" + name
	}
	return "/" + group + "/" + t.resource + "/" + t.namespace + "/" + name
}

// item returns the path of an object of the target's collection, given its key.
func (t target) item(key string) string {
	root := "/api/" + t.version
	if t.group != "" {
		root = "/apis/" + t.group + "/" + t.version
	}
	parts := strings.Split(key, "/") // "", group, resource, namespace or name, name
	if len(parts) == 5 {
		root += "/namespaces/" + parts[3]
	}
	return root + "/" + t.resource + "/" + parts[len(parts)-1]
}

// warns reports whether the resource is deprecated: the server then warns in every answer.
func (t target) warns() bool { return t.group == "" && t.resource == "endpoints" }
