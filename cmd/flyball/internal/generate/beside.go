package generate

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/manifest"
)

// warnBeside warns of conflicts with hand-written manifests below the output folder: a second
// definition of a kind, and a role without a binding.
func (p *project) warnBeside(dir string, ours map[string][]byte, mark string) error {
	byHand, err := manifestsBeside(dir, ours, mark)
	if err != nil {
		return err
	}
	crds, bound := map[string]string{}, map[string]bool{}
	for path, objs := range byHand {
		for _, o := range objs {
			ref, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
			switch {
			case isWholeCRD(o):
				crds[o.GetName()] = path
			case ref != "":
				kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
				bound[kind+"/"+ref] = true
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		for _, o := range objectsOf(path, ours[path]) {
			rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
			switch {
			case manifest.IsCRD(o) && crds[o.GetName()] != "":
				p.warn(Position{File: relative(p.Dir, crds[o.GetName()])}, "", "defines %s, and so does %s, which is generated from the Go types: keep one of them", manifest.Name(o), relative(p.Dir, path))
			case strings.HasSuffix(o.GetKind(), "Role") && len(rules) > 0 && !bound[o.GetKind()+"/"+o.GetName()]:
				p.warn(Position{File: relative(p.Dir, path)}, "", "nothing below %s binds the %s: the program has none of these permissions until a %sBinding gives it to its service account", relative(p.Dir, dir), manifest.Name(o), o.GetKind())
			}
		}
	}
	return nil
}

// isWholeCRD distinguishes a definition from a patch.
func isWholeCRD(o manifest.Object) bool {
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
	return manifest.IsCRD(o) && kind != ""
}

// manifestsBeside reads the YAML files below dir that do not begin with mark, without hidden folders.
// It skips files without manifests.
func manifestsBeside(dir string, ours map[string][]byte, mark string) (map[string][]manifest.Object, error) {
	out := map[string][]manifest.Object{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return fs.SkipAll // there is none yet
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || ours[path] != nil || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil || bytes.HasPrefix(data, []byte(mark)) { // generated earlier: about to be removed
			return nil
		}
		out[path] = objectsOf(path, data)
		return nil
	})
	return out, err
}

func objectsOf(path string, data []byte) []manifest.Object {
	objs, err := manifest.Decode(path, bytes.NewReader(data))
	if err != nil {
		return nil
	}
	return objs
}
