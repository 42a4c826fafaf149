package scaffold

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// absolute makes the paths of replaced modules in the copy's go.mod absolute: relative ones are
// valid in the project only.
func (s *stage) absolute() error {
	file := filepath.Join(s.dir, "go.mod")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	data, local := absoluteReplaces(data, s.project)
	if s.local == nil {
		s.local = map[module.Version]string{}
	}
	maps.Copy(s.local, local) // an earlier call has others
	return os.WriteFile(file, data, 0o666)
}

// relative reverts the changes of absolute in the files of the copy. A go.mod with the same meaning
// as before gets its old text.
func (s *stage) relative(files map[string][]byte) {
	if data, ok := files["go.mod"]; ok {
		data = relativeReplaces(data, s.local)
		if old, ok := s.before["go.mod"]; ok && bytes.Equal(relativeReplaces(old, nil), data) {
			data = old
		}
		files["go.mod"] = data
	}
}

// absoluteReplaces returns a go.mod with absolute paths of replaced modules; relative ones are
// relative to dir. It also returns the changed paths by module. A go.mod that does not parse is
// returned unchanged, for the go command to report.
func absoluteReplaces(data []byte, dir string) ([]byte, map[module.Version]string) {
	changed := map[module.Version]string{}
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return data, nil
	}
	for _, r := range mod.Replace {
		if r.New.Version != "" || filepath.IsAbs(filepath.FromSlash(r.New.Path)) {
			continue
		}
		abs := filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(r.New.Path)))
		changed[r.Old] = r.New.Path
		if mod.AddReplace(r.Old.Path, r.Old.Version, abs, "") != nil {
			return data, nil
		}
	}
	if len(changed) == 0 {
		return data, nil
	}
	return formatted(mod, data), changed
}

// relativeReplaces reverts absoluteReplaces, and formats the file.
func relativeReplaces(data []byte, changed map[module.Version]string) []byte {
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return data
	}
	for _, r := range mod.Replace {
		if path, ok := changed[r.Old]; ok && filepath.IsAbs(filepath.FromSlash(r.New.Path)) && mod.AddReplace(r.Old.Path, r.Old.Version, path, "") != nil {
			return data
		}
	}
	return formatted(mod, data)
}

// formatted returns the text of a go.mod, or before if it cannot be formatted.
func formatted(mod *modfile.File, before []byte) []byte {
	data, err := mod.Format()
	if err != nil {
		return before
	}
	return data
}

// GoVersion returns the Go version of a go.mod. One without it has 1.16.
func GoVersion(mod *modfile.File) string {
	if mod.Go == nil {
		return "1.16"
	}
	return mod.Go.Version
}

// CompareGo compares Go versions, such as 1.26 and 1.26.0, which are equal here.
func CompareGo(a, b string) int { return semver.Compare("v"+a, "v"+b) }

// LiftGo raises the Go version of a go.mod. A toolchain that is too early for it goes away.
func LiftGo(mod *modfile.File, least string) error {
	if CompareGo(GoVersion(mod), least) >= 0 {
		return nil
	}
	if err := mod.AddGoStmt(least); err != nil {
		return err
	}
	if mod.Toolchain != nil && CompareGo(strings.TrimPrefix(mod.Toolchain.Name, "go"), least) <= 0 {
		mod.DropToolchainStmt()
	}
	return nil
}

// Required returns the version of a module that a go.mod requires, or "".
func Required(mod *modfile.File, module string) string {
	for _, r := range mod.Require {
		if r.Mod.Path == module {
			return r.Mod.Version
		}
	}
	return ""
}
