// Package manifest brings what YAML files describe into a cluster, and takes it out again.
//
//	files ──Read──► objects ──Apply──► namespaces, CRDs ── established? ──► the rest ──► webhook configurations
//	                        ──Delete─► the same, backwards, CRDs first
//
// Objects are applied server-side, so applying twice is applying once, and fields that others own
// stay theirs.
package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Object is an object as a file describes it.
type Object = *unstructured.Unstructured

// Decode reads the objects of a text of one or more documents, in YAML or JSON. Empty documents are
// passed over, and of a list its items are taken, as "kubectl get -o yaml" writes them; one that is
// no object, or has a field twice, is an error that says which it is. name stands in errors.
func Decode(name string, text io.Reader) ([]Object, error) {
	var out []Object
	r := utilyaml.NewYAMLReader(bufio.NewReader(text))
	for i := 1; ; i++ {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		texts, err := documents(doc)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, i, err)
		}
		for _, text := range texts {
			o := &unstructured.Unstructured{}
			if err := o.UnmarshalJSON(text); err != nil {
				return nil, fmt.Errorf("%s: document %d: %w", name, i, err)
			}
			if o.IsList() {
				items, err := o.ToList()
				if err != nil {
					return nil, fmt.Errorf("%s: document %d: %w", name, i, err)
				}
				for j := range items.Items {
					if out = append(out, &items.Items[j]); !isObject(out[len(out)-1]) {
						return nil, fmt.Errorf("%s: document %d: item %d is no object: it has no apiVersion, kind or name", name, i, j)
					}
				}
				continue
			}
			if !isObject(o) {
				return nil, fmt.Errorf("%s: document %d: is no object: it has no apiVersion, kind or name", name, i)
			}
			out = append(out, o)
		}
	}
}

func isObject(o Object) bool {
	return o.GetAPIVersion() != "" && o.GetKind() != "" && (o.GetName() != "" || o.GetGenerateName() != "")
}

// documents are those of a part of a text that has no separator in it, as JSON, for numbers as
// unstructured objects have them: none if it is empty, one in YAML, and any number in JSON, where
// they need no separator. A field that is there twice is an error.
func documents(text []byte) (out []json.RawMessage, err error) {
	if strings.HasPrefix(string(bytes.TrimSpace(text)), "{") {
		dec := json.NewDecoder(bytes.NewReader(text))
		var one json.RawMessage
		for err = dec.Decode(&one); err == nil; err = dec.Decode(&one) {
			whole, err := yaml.YAMLToJSONStrict(one)
			if err != nil {
				return nil, err
			}
			if string(whole) != "{}" {
				out = append(out, whole)
			}
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if dec.InputOffset() > 0 {
			return nil, fmt.Errorf("what follows an object is no JSON: %w", err)
		}
	}
	whole, err := yaml.YAMLToJSONStrict(text)
	if err != nil || string(whole) == "null" || string(whole) == "{}" {
		return nil, err
	}
	return append(out, whole), nil
}

// Read reads the objects of files and folders, in this order; of a folder the files that end with
// .yaml, .yml or .json, by name, but no kustomization and no folder in it.
func Read(paths ...string) ([]Object, error) {
	var out []Object
	for _, p := range paths {
		files, err := filesOf(p)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			objs, err := Decode(f, bytes.NewReader(data))
			if err != nil {
				return nil, err
			}
			out = append(out, objs...)
		}
	}
	return out, nil
}

func filesOf(p string) ([]string, error) {
	info, err := os.Stat(p)
	if err != nil || !info.IsDir() {
		return []string{p}, err
	}
	entries, err := os.ReadDir(p)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		stem, known := cutSuffixes(e.Name(), ".yaml", ".yml", ".json")
		if !known || e.IsDir() || stem == "kustomization" || stem == "kustomizeconfig" || e.Type()&fs.ModeType != 0 {
			continue
		}
		out = append(out, filepath.Join(p, e.Name()))
	}
	return out, nil
}

func cutSuffixes(s string, suffixes ...string) (string, bool) {
	for _, x := range suffixes {
		if stem, ok := strings.CutSuffix(s, x); ok {
			return stem, true
		}
	}
	return s, false
}

// Write writes objects as one YAML text.
func Write(w io.Writer, objs []Object) error {
	for i, o := range objs {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("%s: %w", Name(o), err)
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// Name is an object as people name it: "Deployment shop-system/manager".
func Name(o Object) string {
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return o.GetKind() + " " + name
}

// rank is when an object of a kind is applied: what others need comes first, and webhooks last, for
// they hold up what comes after them.
func rank(o Object) int {
	switch o.GetKind() {
	case "Namespace":
		return 0
	case "CustomResourceDefinition":
		return 1
	case "ServiceAccount", "Role", "ClusterRole":
		return 2
	case "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret", "Service":
		return 3
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		return 5
	}
	return 4
}

// Sorted returns the objects in the order in which [Apply] applies them: as they are, but for those
// that must come first or last.
func Sorted(objs []Object) []Object {
	out := slices.Clone(objs)
	slices.SortStableFunc(out, func(a, b Object) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// IsCRD reports whether an object defines a kind.
func IsCRD(o Object) bool { return o.GroupVersionKind().GroupKind() == crdKind.GroupKind() }
