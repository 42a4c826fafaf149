package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// A server's kubeconfig goes at its end, however kubectl has changed it, and what others put in its place stays.
func TestKubeconfigOfAServer(t *testing.T) {
	const server = "http://127.0.0.1:1"
	for _, c := range []struct {
		what   string
		before string // content of the file before the start; "-": there is none
		change func(string) string
		stays  bool
	}{
		{"new", "-", nil, false},
		{"empty", "", nil, false},
		{"another namespace", "-", func(s string) string { return strings.Replace(s, "user: admin", "user: admin\n    namespace: x", 1) }, false},
		{"another cluster", "-", func(s string) string {
			return strings.Replace(s, "clusters:\n", "clusters:\n- cluster: {server: https://prod}\n  name: prod\n", 1)
		}, true},
		{"another user", "-", func(s string) string { return strings.Replace(s, "users:\n", "users:\n- name: me\n", 1) }, true},
		{"another file", "-", func(string) string { return "mine" }, true},
		{"of a later server", "-", func(s string) string { return strings.Replace(s, ":1\n", ":2\n", 1) }, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kubeconfig")
			if c.before != "-" {
				if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f := kubeconfigFile(file)
			release, err := f.hold()
			if err != nil {
				t.Fatal(err)
			}
			if err := f.write([]byte(plainKubeconfig)); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				changed := c.change(string(text))
				if changed == string(text) {
					t.Fatalf("not changed:\n%s", text)
				}
				if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var told bytes.Buffer
			f.remove(server, &told)
			release()
			_, err = os.Lstat(file)
			if stays := err == nil; stays != c.stays || stays != (told.Len() > 0) {
				t.Errorf("the file is there: %t, want %t; told: %s", stays, c.stays, &told)
			}
		})
	}
}

// A server that was killed leaves its file, and the next one takes it. Of several at once, one gets it.
func TestKubeconfigAfterACrash(t *testing.T) {
	dir := t.TempDir()
	f := kubeconfigFile(filepath.Join(dir, "kubeconfig"))
	for range 3 {
		release, err := f.hold()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.write([]byte(plainKubeconfig)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.hold(); err == nil || !strings.Contains(err.Error(), "another server has written it") {
			t.Errorf("two at once: %v", err)
		}
		release() // as the end of the process does; the file stays
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	got := make([]error, 8)
	for i := range got {
		wg.Go(func() { _, got[i] = f.hold() })
	}
	wg.Wait()
	held := 0
	for _, err := range got {
		if err == nil {
			held++
		}
	}
	if held != 1 {
		t.Errorf("%d have the file, want 1: %v", held, got)
	}
}

// A state file that is a link stays one, and has one lock by all its names.
func TestStateFileBehindALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "state.yaml"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("state.yaml", link); err != nil {
		t.Fatal(err)
	}
	release, err := stateFile(link).hold()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := stateFile(file).hold(); err == nil {
		t.Error("held twice, by two names")
	}
	if err := stateFile(link).save(func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if to, _ := os.Readlink(link); err != nil || string(text) != "new" || to != "state.yaml" {
		t.Errorf("%q, %v; the link leads to %q", text, err, to)
	}
}
