package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/test/plane"
)

// plainKubeconfig is one as a server gives it.
const plainKubeconfig = `apiVersion: v1
kind: Config
current-context: memory
clusters: [{name: memory, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: memory, context: {cluster: memory, user: admin}}]
users: [{name: admin, user: {}}]
`

// existing are files that a user may have where a command writes. stays says that no command may touch it.
func existing(t *testing.T) map[string]func(name string) (stays bool) {
	t.Helper()
	text := func(text string, mode os.FileMode) func(string) {
		return func(name string) {
			if err := os.WriteFile(name, []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	kubeconfig := `{apiVersion: v1, kind: Config, current-context: prod, clusters: [{name: prod, cluster: {server: "https://prod"}}], contexts: [{name: prod, context: {cluster: prod, user: me}}], users: [{name: me, user: {token: secret}}]}`
	as := func(write func(string)) func(string) bool {
		return func(name string) bool { write(name); return true }
	}
	return map[string]func(string) bool{
		"kubeconfig":   as(text(kubeconfig, 0o600)),
		"read-only":    as(text(kubeconfig, 0o400)),
		"other text":   as(text("remember the milk\n", 0o644)),
		"binary":       as(text("\x00\x01\x02", 0o644)),
		"server's own": as(text(plainKubeconfig, 0o600)), // without the mark: copied by hand
		"manifest":     as(text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 0o644)),
		"link": as(func(name string) {
			text(kubeconfig, 0o600)(name + ".target")
			if err := os.Symlink(filepath.Base(name)+".target", name); err != nil {
				t.Fatal(err)
			}
		}),
	}
}

// snapshot returns what is in a folder: contents, and where links lead.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := filepath.Join(dir, f.Name())
		link, _ := os.Readlink(name)
		data, _ := os.ReadFile(name)
		fmt.Fprintf(&out, "%s -> %s: %q\n", f.Name(), link, data)
	}
	return out.String()
}

// No command replaces or removes a file that it did not make. This holds for every flag that names a file.
func TestFilesOfOthersStay(t *testing.T) {
	t.Setenv(plane.BinaryEnv, filepath.Join(t.TempDir(), "none"))
	t.Setenv(plane.RulesEnv, filepath.Join(t.TempDir(), "none"))
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	guestbook := filepath.Join("..", "..", "examples", "guestbook")
	for _, command := range []string{
		"controlplane --kubeconfig-out FILE",
		"controlplane --data-dir DIR/data --kubeconfig-out FILE",
		"apiserver --kubeconfig-out FILE",
		"rbac --declared " + rules + " --out FILE",
		"sim --output FILE",
		"build-installer --dir " + guestbook + " --output FILE",
	} {
		for what, write := range existing(t) {
			t.Run(command+"/"+what, func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, "file")
				write(file)
				before := snapshot(t, dir)
				root := newRoot()
				root.SetArgs(strings.Fields(strings.NewReplacer("FILE", file, "DIR", t.TempDir()).Replace(command)))
				root.SetOut(io.Discard)
				root.SetErr(io.Discard)
				if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), file) {
					t.Errorf("%v: the file is not named", err)
				}
				if after := snapshot(t, dir); after != before {
					t.Errorf("was\n%sis\n%s", before, after)
				}
			})
		}
	}
}

// A server's kubeconfig goes at its end, and what others put in its place stays. A server that was killed leaves its
// file, and the next one takes it.
func TestKubeconfigOfAServer(t *testing.T) {
	for what, change := range map[string]func(file string) error{
		"":             nil,
		"empty":        func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"another file": func(file string) error { return os.WriteFile(file, []byte("mine"), 0o600) },
		"edited": func(file string) error {
			text, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, append(text, "# mine\n"...), 0o600))
		},
		"removed": os.Remove,
	} {
		t.Run(what, func(t *testing.T) {
			f := kubeconfigFile(filepath.Join(t.TempDir(), "kubeconfig"))
			for range 2 { // the first server is killed
				if err := errors.Join(f.check(), f.write([]byte(plainKubeconfig))); err != nil {
					t.Fatal(err)
				}
			}
			stays := change != nil && what != "removed"
			if change != nil {
				if err := change(string(f)); err != nil {
					t.Fatal(err)
				}
			}
			var told bytes.Buffer
			f.remove([]byte(plainKubeconfig), &told)
			if _, err := os.Lstat(string(f)); (err == nil) != stays || stays != (told.Len() > 0) {
				t.Errorf("%v, want it to stay: %t; told: %s", err, stays, &told)
			}
		})
	}
}

// A state file that is a link stays one.
func TestStateFileBehindALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "state.yaml"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("state.yaml", link); err != nil {
		t.Fatal(err)
	}
	if err := stateFile(link).save(func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if to, _ := os.Readlink(link); err != nil || string(text) != "new" || to != "state.yaml" {
		t.Errorf("%q, %v; the link leads to %q", text, err, to)
	}
}
