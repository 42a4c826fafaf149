package kustomize

import (
	"bytes"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// NotLocalError says that a kustomization names something that would have to be fetched, run or
// found elsewhere. Nothing was fetched.
type NotLocalError struct {
	// File is the kustomization, or the configuration of a generator or transformer.
	File string
	// Field is the field in the file, and Name its value.
	Field, Name string
	// Reason says what is wrong with the name, and what to do.
	Reason string
}

func (e *NotLocalError) Error() string {
	return fmt.Sprintf("%s: %s: %s: %s", e.File, e.Field, e.Name, e.Reason)
}

const (
	remote  = "is not on this machine, and nothing is fetched: save what it names beside the kustomization, and name that"
	missing = "there is no such file or folder"
	folder  = "is a folder: name the files in it"
	noHelm  = "Helm charts are not rendered: save what \"helm template\" prints beside the kustomization, and name that"
	maxName = 80
)

// local is a file system that rejects kustomizations with remote references. It checks each file as
// it is read, before kustomize can follow its contents. Kustomize drops errors of reading a
// kustomization, so local stores the first one.
type local struct {
	filesys.FileSystem
	err error
}

// ReadFile rejects a file with a remote reference.
func (l *local) ReadFile(file string) ([]byte, error) {
	data, err := l.FileSystem.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(file)) {
		err = l.kustomization(file, data)
	} else {
		err = plugins(file, data)
	}
	if err != nil {
		if l.err == nil {
			l.err = err
		}
		return nil, err
	}
	return data, nil
}

// kustomization checks every field that makes kustomize load a file.
func (l *local) kustomization(file string, data []byte) error {
	k := &types.Kustomization{}
	if err := k.Unmarshal(data); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	c := check{file: file}
	for _, x := range []struct {
		field string
		names []string
	}{
		{"resources", k.Resources},
		//lint:ignore SA1019 kustomize still reads the deprecated field
		{"bases", k.Bases},
		{"components", k.Components},
	} {
		for _, name := range x.names {
			c.root(l, x.field, name)
		}
	}
	for _, x := range []struct {
		field   string
		entries []string
	}{{"generators", k.Generators}, {"transformers", k.Transformers}, {"validators", k.Validators}} {
		for _, entry := range x.entries {
			if isMapping(entry) && !isURL(entry) && !isRepository(entry) {
				c.fail(plugins(file, []byte(entry)))
				continue
			}
			// The configurations in a kustomization's output could not be checked.
			c.root(l, x.field, entry)
			if l.IsDir(l.at(file, entry)) {
				c.refuse(x.field, entry, folder)
			}
		}
	}
	c.files("crds", k.Crds...)
	c.files("configurations", k.Configurations...)
	c.files("openapi", k.OpenAPI["path"])
	//lint:ignore SA1019 kustomize still reads the deprecated field
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) {
		c.files("patches", p.Path)
	}
	//lint:ignore SA1019 kustomize still reads the deprecated field
	for _, p := range k.PatchesStrategicMerge {
		c.files("patchesStrategicMerge", string(p))
	}
	for _, r := range k.Replacements {
		c.files("replacements", r.Path)
	}
	for _, g := range k.ConfigMapGenerator {
		c.sources("configMapGenerator", g.KvPairSources)
	}
	for _, g := range k.SecretGenerator {
		c.sources("secretGenerator", g.KvPairSources)
	}
	for _, h := range k.HelmCharts {
		c.refuse("helmCharts", h.Name, noHelm)
	}
	for _, h := range k.HelmChartInflationGenerator {
		c.refuse("helmChartInflationGenerator", h.ChartName, noHelm)
	}
	return c.err
}

// at returns the path of a name in a kustomization.
func (l *local) at(file, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}

// check checks one file. It stores the first problem.
type check struct {
	file string
	err  error
	seen map[*yaml.Node]bool // visited by walk
}

func (c *check) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *check) refuse(field, name, reason string) {
	if len(name) > maxName {
		name = name[:maxName] + "..."
	}
	c.fail(&NotLocalError{File: c.file, Field: field, Name: name, Reason: reason})
}

// root checks a file, or a folder with a kustomization. kustomize clones a name that looks like a
// repository, whether the folder exists or not.
func (c *check) root(l *local, field, name string) {
	switch {
	case isURL(name) || isRepository(name):
		c.refuse(field, name, remote)
	case !l.Exists(l.at(c.file, name)):
		c.refuse(field, name, missing)
	}
}

// files checks fields that only name files. Empty names are ignored.
func (c *check) files(field string, names ...string) {
	for _, name := range names {
		if isURL(name) {
			c.refuse(field, name, remote)
		}
	}
}

// sources checks the files of a generator of ConfigMaps or Secrets: FILE, or KEY=FILE.
func (c *check) sources(field string, s types.KvPairSources) {
	c.files(field, s.EnvSource)
	c.files(field, s.EnvSources...)
	c.files(field, s.FileSources...)
	for _, x := range s.FileSources {
		_, name, _ := strings.Cut(x, "=")
		c.files(field, name)
	}
}

// isURL reports whether kustomize would get a file by HTTP.
func isURL(name string) bool {
	u, err := url.Parse(name)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// repository matches every name that kustomize may take for a Git repository, and a few more.
var repository = regexp.MustCompile(`(?i)^(git::|[a-z][a-z0-9+.-]*://|[a-z][a-z0-9-]*@.*[:/]|github\.com[:/])`)

func isRepository(name string) bool { return repository.MatchString(name) }

// isMapping reports whether an entry is a configuration itself and not its name.
func isMapping(entry string) bool {
	var n yaml.Node
	return yaml.Unmarshal([]byte(entry), &n) == nil && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode
}

// plugins checks the configurations of kustomize's own generators and transformers in a file of any
// kind. It ignores text that does not parse, since kustomize cannot use it either.
func plugins(file string, data []byte) error {
	if !bytes.Contains(data, []byte(konfig.BuiltinPluginApiVersion)) {
		return nil
	}
	c := check{file: file, seen: map[*yaml.Node]bool{}}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil { // the end, or no YAML
			return c.err
		}
		c.walk(&doc, "")
	}
}

// loading are the fields of such configurations that name files. free are fields whose contents the
// user defines.
var (
	loading = []string{"path", "paths", "files", "env", "envs", "targetFilePath", "valuesFile", "additionalValuesFiles"}
	free    = []string{"metadata", "labels", "annotations", "literals"}
)

// walk finds configurations in a node. The node may be a list of them, or a part of one of this
// kind. It visits every node once, however many aliases the node has.
func (c *check) walk(n *yaml.Node, kind string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if c.seen[n] {
		return
	}
	c.seen[n] = true
	if n.Kind != yaml.MappingNode {
		for _, x := range n.Content {
			c.walk(x, kind)
		}
		return
	}
	if value(n, "apiVersion") == konfig.BuiltinPluginApiVersion {
		kind = value(n, "kind")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i].Value, n.Content[i+1]
		switch {
		case kind != "" && slices.Contains(free, key):
		case kind != "" && slices.Contains(loading, key):
			for _, name := range names(v) {
				_, file, _ := strings.Cut(name, "=")
				c.files(kind+" "+key, name, file)
			}
		default:
			c.walk(v, kind)
		}
	}
}

// value returns the text of a field.
func value(mapping *yaml.Node, key string) string {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if v := names(mapping.Content[i+1]); mapping.Content[i].Value == key && len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// names returns the text of a field, or the texts of a list.
func names(n *yaml.Node) (out []string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	for _, x := range n.Content {
		if x.Kind == yaml.AliasNode {
			x = x.Alias
		}
		if x.Kind == yaml.ScalarNode {
			out = append(out, x.Value)
		}
	}
	return out
}
