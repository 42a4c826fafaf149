package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
)

// proxy writes what a module proxy serves of the release.
func (c *release) proxy(dir, version string) error {
	for _, m := range modules {
		escaped, err := module.EscapePath(m.path())
		if err != nil {
			return err
		}
		folder := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		goMod, err := os.ReadFile(m.file(c.dir, "go.mod"))
		if err != nil {
			return err
		}
		for name, data := range map[string][]byte{
			"list":            []byte(version + "\n"),
			version + ".info": fmt.Appendf(nil, `{"Version":%q,"Time":%q}`, version, time.Now().UTC().Format(time.RFC3339)),
			version + ".mod":  goMod,
		} {
			if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
				return err
			}
		}
		f, err := os.Create(filepath.Join(folder, version+".zip"))
		if err != nil {
			return err
		}
		err = c.zip(f, m, version)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}
