// Package manifest applies the objects in YAML or JSON files to a cluster, and deletes them. [Read]
// returns the objects of files and folders, [Apply] applies them in order, and [Delete] deletes
// them:
//
//	objs, err := manifest.Read("config/crd", "config/manager")
//	err = manifest.Apply(ctx, c, "my-tool", objs, nil)
//
//	files ──Read──► objects ──Apply──► namespaces, CRDs ── established? ──► the rest ──► webhook configurations
//	                        ──Delete─► the same, backwards, CRDs first
//
// Objects are applied server-side. Applying them twice has the same effect as applying them once,
// and other managers keep the fields that the objects do not set.
package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Object is an object from a file.
type Object = *unstructured.Unstructured

// Decode reads the objects of a text with any number of YAML or JSON documents. Empty documents are skipped. A list, as
// "kubectl get -o yaml" writes it, yields its items. A document that is not an object, or has a duplicate field, is an
// error that identifies the document. name is used in errors.
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
			if text[0] != '{' {
				return nil, fmt.Errorf("%s: document %d: not an object: it has no fields", name, i)
			}
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
						return nil, fmt.Errorf("%s: document %d: item %d is not an object: apiVersion, kind or name is missing", name, i, j)
					}
				}
				continue
			}
			if !isObject(o) {
				return nil, fmt.Errorf("%s: document %d: not an object: apiVersion, kind or name is missing", name, i)
			}
			out = append(out, o)
		}
	}
}

func isObject(o Object) bool {
	return o.GetAPIVersion() != "" && o.GetKind() != "" && (o.GetName() != "" || o.GetGenerateName() != "")
}

// documents splits a part of a text without YAML separators into JSON documents. Numbers are as in
// unstructured objects. An empty part has none, YAML has one, and JSON any number, since JSON
// documents need no separator. A duplicate field is an error.
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
			return nil, fmt.Errorf("text after an object is not JSON: %w", err)
		}
	}
	whole, err := yaml.YAMLToJSONStrict(text)
	if err != nil || string(whole) == "null" || string(whole) == "{}" {
		return nil, err
	}
	return append(out, whole), nil
}

// Read reads the objects of files and folders, in this order. Of a folder it reads the files that
// end in .yaml, .yml or .json, links to files among them, sorted by name, but no kustomization and no subfolder.
func Read(paths ...string) ([]Object, error) {
	var out []Object
	for _, p := range paths {
		files, err := Files(p)
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

// Files returns the files that [Read] reads of a path, in order.
func Files(p string) ([]string, error) {
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
		if !known || stem == "kustomization" || stem == "kustomizeconfig" || strings.HasPrefix(stem, ".#") { // a lock of an editor
			continue
		}
		file := filepath.Join(p, e.Name())
		switch info, err := os.Stat(file); { // of what a link leads to
		case err != nil:
			return nil, err
		case info.Mode().IsRegular():
			out = append(out, file)
		}
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

// Name returns an object's name for people, such as "Deployment shop-system/manager".
func Name(o Object) string {
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return o.GetKind() + " " + name
}

// rank returns the position of a kind in the order of Apply. Objects that others need come first.
// Webhooks come last, since they can block the objects after them.
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

// Sorted returns the objects in the order of [Apply]: the given order, except for kinds that must
// come first or last.
func Sorted(objs []Object) []Object {
	out := slices.Clone(objs)
	slices.SortStableFunc(out, func(a, b Object) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// IsCRD reports whether an object is a CustomResourceDefinition.
func IsCRD(o Object) bool { return o.GroupVersionKind().GroupKind() == crdKind.GroupKind() }
