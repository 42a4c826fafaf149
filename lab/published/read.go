package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// read reads the files that a command made.
func (s *side) read(src, out string) (err error) {
	if s.definitions, err = readManifests(filepath.Join(out, definitionsDir)); err != nil {
		return err
	}
	s.configs = map[string]any{}
	for _, dir := range configDirs {
		files, err := readManifests(filepath.Join(out, dir))
		if err != nil {
			return err
		}
		for name, x := range files {
			s.configs[dir+"/"+name] = x
		}
	}
	s.methods, err = readMethods(src)
	return err
}

// versionAnnotation has the version of controller-gen.
const versionAnnotation = "controller-gen.kubebuilder.io/version"

// readManifests reads the objects of each file of a folder. It leaves out definitions without a group.
func readManifests(dir string) (map[string]any, error) {
	out := map[string]any{}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "_") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		var objects []any
		for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
			var o map[string]any
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name(), err)
			}
			if o != nil {
				objects = append(objects, withoutVersion(o))
			}
		}
		out[e.Name()] = objects
	}
	return out, nil
}

func withoutVersion(o map[string]any) map[string]any {
	m, _ := o["metadata"].(map[string]any)
	if a, ok := m["annotations"].(map[string]any); ok {
		delete(a, versionAnnotation)
		if len(a) == 0 {
			delete(m, "annotations")
		}
	}
	return o
}

// methodsFile is the file of both commands in each package.
const methodsFile = "zz_generated.deepcopy.go"

// readMethods reads the methods of these files below a folder.
func readMethods(src string) (map[string]string, error) {
	out := map[string]string{}
	return out, filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != methodsFile {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			var b bytes.Buffer
			if err := printer.Fprint(&b, fset, f); err != nil {
				return err
			}
			head, _, _ := strings.Cut(b.String(), "{")
			out[rel+": "+strings.TrimSpace(head)] = b.String()
		}
		return nil
	})
}
