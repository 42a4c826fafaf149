package crddiff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Definition is a CRD and its source.
type Definition struct {
	CRD    extv1.CustomResourceDefinition
	Source string // file:line
}

// Set is CRDs by name.
type Set map[string]*Definition

// ErrNoCRD says that the text has no CustomResourceDefinition.
var ErrNoCRD = errors.New("no CustomResourceDefinition")

// Read reads the CRDs of a file, or of all .yaml, .yml and .json files in and below a folder.
// Objects of other kinds are skipped.
func Read(path string) (Set, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	out := Set{}
	if !info.IsDir() {
		if err := out.readFile(path); err != nil {
			return nil, err
		}
	} else {
		err := filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
				return err
			}
			return out.readFile(file)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrNoCRD)
	}
	return out, nil
}

func (s Set) readFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return s.Add(path, data)
}

// Add reads the CRDs in YAML or JSON text with any number of documents, which may be lists. Errors
// have the name of the text. A CRD that is already in the set is an error.
func (s Set) Add(name string, data []byte) error {
	documents, err := split(name, data)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if err := s.object(fmt.Sprintf("%s:%d", name, d.line), d.json); err != nil {
			return err
		}
	}
	return nil
}

// object adds one object, in JSON.
func (s Set) object(source string, data []byte) error {
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%s: not a Kubernetes object: %w", source, err)
	}
	group, version, _ := strings.Cut(head.APIVersion, "/")
	switch {
	case head.Kind == "" || head.APIVersion == "":
		return fmt.Errorf("%s: not a Kubernetes object: no apiVersion or kind", source)
	case head.Kind == "List" && head.APIVersion == "v1" || group == extv1.GroupName && head.Kind == "CustomResourceDefinitionList":
		for _, item := range head.Items {
			if err := s.object(source, item); err != nil {
				return err
			}
		}
		return nil
	case group != extv1.GroupName || head.Kind != "CustomResourceDefinition":
		return nil
	case version != extv1.SchemeGroupVersion.Version:
		return fmt.Errorf("%s: a CustomResourceDefinition of %s; only %s can be compared", source, head.APIVersion, extv1.SchemeGroupVersion)
	}
	d := &Definition{Source: source}
	if err := json.Unmarshal(data, &d.CRD); err != nil {
		return fmt.Errorf("%s: not a CustomResourceDefinition: %w", source, err)
	}
	for _, f := range []struct{ name, value string }{
		{"metadata.name", d.CRD.Name}, {"spec.group", d.CRD.Spec.Group},
		{"spec.names.plural", d.CRD.Spec.Names.Plural}, {"spec.names.kind", d.CRD.Spec.Names.Kind},
	} {
		if f.value == "" {
			return fmt.Errorf("%s: not a CustomResourceDefinition: no %s", source, f.name)
		}
	}
	if len(d.CRD.Spec.Versions) == 0 {
		return fmt.Errorf("%s: not a CustomResourceDefinition: no spec.versions", source)
	}
	if other := s[d.CRD.Name]; other != nil {
		return fmt.Errorf("%s: CRD %s is in %s too", source, d.CRD.Name, other.Source)
	}
	s[d.CRD.Name] = d
	return nil
}

// document is one of several, as JSON.
type document struct {
	line int // its first line, from 1
	json []byte
}

// split splits text into documents. Empty ones are dropped.
func split(name string, data []byte) ([]document, error) {
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) > 0 && text[0] == '{' {
		return splitJSON(name, data)
	}
	var out []document
	line := 1
	var text []byte
	start := 1
	flush := func() error {
		defer func() { text = nil }()
		if blank(text) {
			return nil
		}
		// Empty lines in front make the parser count lines of the whole file.
		padded := append(bytes.Repeat([]byte("\n"), start-1), text...)
		converted, err := yaml.YAMLToJSON(padded)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, document{line: start, json: converted})
		return nil
	}
	for l := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(l, []byte("---")); ok && (blank(rest) || rest[0] == ' ') {
			if err := flush(); err != nil {
				return nil, err
			}
			start, text = line, append(text, rest...)
			if blank(rest) {
				start, text = line+1, nil
			}
		} else {
			text = append(text, l...)
		}
		line++
	}
	return out, flush()
}

// blank reports whether YAML text has only comments in it.
func blank(text []byte) bool {
	for l := range bytes.Lines(text) {
		if l = bytes.TrimSpace(l); len(l) > 0 && l[0] != '#' {
			return false
		}
	}
	return true
}

func splitJSON(name string, data []byte) ([]document, error) {
	var out []document
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		from := decoder.InputOffset()
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			at := decoder.InputOffset()
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				at = syntax.Offset
			}
			return nil, fmt.Errorf("%s:%d: %w", name, lineOf(data, at), err)
		}
		skipped := len(data[from:]) - len(bytes.TrimLeft(data[from:], " \t\r\n"))
		out = append(out, document{line: lineOf(data, from+int64(skipped)), json: raw})
	}
}

// lineOf counts lines from 1.
func lineOf(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
}
