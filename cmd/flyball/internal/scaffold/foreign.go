package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ForeignError says that the file PROJECT belongs to kubebuilder, or to a tool that is made of it, such
// as the Operator SDK.
type ForeignError struct {
	// File is the file PROJECT.
	File string
	// Layouts are the plugins that made the project, such as go.kubebuilder.io/v4. Old projects name none.
	Layouts []string
	// Version is the version of the file's format, such as 3.
	Version string
}

func (e *ForeignError) Error() string {
	made := "no layout"
	if len(e.Layouts) > 0 {
		made = "layout " + strings.Join(e.Layouts, ", ")
	}
	return fmt.Sprintf(`%s: this is a project of kubebuilder (%s, version %s), not one of "flyball init". `+
		`Here NewCache: ctrlcache.New in the options of its manager is the packed cache, "flyball weigh" says what that saves, `+
		`and APIs and webhooks are made by kubebuilder as before`, e.File, made, e.Version)
}

// checkForeign returns a *ForeignError if dir is the folder of a project of kubebuilder.
func checkForeign(dir string) error {
	file := filepath.Join(dir, ProjectFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if e := foreign(data); e != nil {
		e.File = file
		return e
	}
	return nil
}

// foreign recognizes the file PROJECT of kubebuilder, without the name of the file. Its version is a
// text, and that of Flyball a number.
func foreign(data []byte) *ForeignError {
	var p struct {
		Version yaml.Node `yaml:"version"`
		Layout  yaml.Node `yaml:"layout"`
		Repo    string    `yaml:"repo"`
	}
	if yaml.Unmarshal(data, &p) != nil {
		return nil
	}
	if p.Layout.IsZero() && p.Repo == "" && p.Version.Tag != "!!str" {
		return nil
	}
	e := &ForeignError{Version: p.Version.Value}
	if p.Layout.Decode(&e.Layouts) != nil { // early projects have one text
		e.Layouts = []string{p.Layout.Value}
	}
	return e
}
