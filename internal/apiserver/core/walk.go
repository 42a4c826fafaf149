package core

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Get returns the object with a key; nil if there is none. A key is /group/resource/namespace/name, without the
// namespace for cluster-wide resources. The group of core resources is "core".
func (v View) Get(key string) *Object { return v.get(key) }

// All returns the objects whose keys begin with a prefix, sorted by key.
func (v View) All(prefix string) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		v.objects.Ascend(prefix, func(key string, o *Object) bool {
			return strings.HasPrefix(key, prefix) && yield(o)
		})
	}
}

// Collections returns the prefix /group/resource/ of the keys of each resource that has objects, sorted.
func (v View) Collections() []string {
	var out []string
	for after := "/"; ; {
		found := ""
		v.objects.Ascend(after, func(key string, _ *Object) bool {
			parts := strings.SplitN(key, "/", 4)
			found = "/" + parts[1] + "/" + parts[2] + "/"
			return false
		})
		if found == "" {
			return out
		}
		out = append(out, found)
		after = found[:len(found)-1] + "0" // the character after the slash
	}
}

// Changes returns the changes after a version, the oldest first. It reports false if the log no longer has all of
// them. The caller must not change the slice.
func (v View) Changes(after uint64) ([]Change, bool) {
	if after < v.compacted || after > v.version {
		return nil, false
	}
	at, _ := slices.BinarySearchFunc(v.log, after+1, func(c Change, version uint64) int {
		switch {
		case c.Version < version:
			return -1
		case c.Version > version:
			return 1
		}
		return 0
	})
	return v.log[at:len(v.log):len(v.log)], true
}

// Labels returns the labels of the object.
func (o *Object) Labels() map[string]string { return o.labels.all() }

// Path returns the path of an object, in the stored version or, if that is not served, another one.
func (v View) Path(o *Object) string {
	var kind struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(o.JSON, &kind); err != nil {
		panic(fmt.Sprintf("the stored object %s: %v", o.Key, err)) // rules have written it
	}
	parts := strings.Split(o.Key, "/")
	t := target{resource: parts[2]}
	t.group, t.version, _ = strings.Cut(kind.APIVersion, "/")
	if t.version == "" {
		t.group, t.version = "", t.group
	}
	if d := v.defined(t); d != nil {
		t.version = servedVersion(d.JSON, t.version)
	}
	return t.item(o.Key)
}

// servedVersion returns version if the definition serves it, else the first version that it serves.
func servedVersion(definition []byte, version string) string {
	var d struct {
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(definition, &d); err != nil {
		panic(fmt.Sprintf("a stored definition: %v", err)) // rules have written it
	}
	first := ""
	for _, x := range d.Spec.Versions {
		switch {
		case x.Served && x.Name == version:
			return version
		case x.Served && first == "":
			first = x.Name
		}
	}
	return first
}

// TemplateHash returns the hash of a Pod template, as it stands in names and labels. template is JSON. collisions is
// the collision count of the owner; nil if it has none. Rules compute the hash, since it depends on the Go types of
// Kubernetes.
func (v View) TemplateHash(template []byte, collisions *int32) (string, error) {
	url := "/flyball/template-hash"
	if collisions != nil {
		url += fmt.Sprintf("?collisions=%d", *collisions)
	}
	answer, err := v.rules(&rules.Request{Method: http.MethodPost, URL: url, Body: template})
	if err != nil {
		return "", err
	}
	if answer.Code != http.StatusOK {
		return "", fmt.Errorf("the hash of a template: %s", answer.Body)
	}
	return string(answer.Body), nil
}
