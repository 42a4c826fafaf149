package plane

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// What keeps a program from being built is said, with what to do about it.
func TestBuildsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want []string
	}{
		{"no compiler", map[string]string{"PATH": ""}, []string{"install Go"}},
		{"no modules and no network", map[string]string{"GOPROXY": "off", "GOMODCACHE": "mod", "GOFLAGS": "-modcacherw"}, []string{"its modules are not here", "GOPROXY"}},
		{"no folder for programs", map[string]string{"XDG_CACHE_HOME": "", "HOME": ""}, []string{"a directory for built programs"}},
		{"no folder for temporary files", map[string]string{"TMPDIR": "/nowhere"}, []string{"a temporary folder", "TMPDIR", "/nowhere"}},
		{"a folder in which none can be made", map[string]string{"XDG_CACHE_HOME": "/proc"}, []string{"a directory for built programs", "XDG_CACHE_HOME"}},
		{"a folder that is a file", map[string]string{"XDG_CACHE_HOME": "/dev/null"}, []string{"a directory for built programs", "XDG_CACHE_HOME"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			for name, value := range c.env {
				if name == "GOMODCACHE" {
					value = filepath.Join(t.TempDir(), value)
				}
				t.Setenv(name, value)
			}
			for _, p := range []program{{}, rulesProgram} {
				_, err := build(t.Context(), p, nil)
				if err == nil {
					t.Fatal("it was built")
				}
				for _, want := range append(c.want, "let "+p.env()+" name a program") {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: the error does not have %q: %v", p.name(), want, err)
					}
				}
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	for text, want := range map[string]string{
		"write /tmp/x: no space left on device":      "the disk is full",
		"dial tcp: lookup example.com: no such host": "GOPROXY",
		"open /home/x: read-only file system":        "GOCACHE",
		"./main.go:1: undefined: x":                  "",
	} {
		err := rulesProgram.advised(errors.New("exit status 1"), "\n\t"+text)
		if !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), want) || want == "" && strings.Contains(err.Error(), RulesEnv) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
