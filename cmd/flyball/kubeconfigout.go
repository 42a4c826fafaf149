package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"sigs.k8s.io/yaml"
)

// kubeconfigFile is the file of --kubeconfig-out; "" if there is none. A file that a server of this program has not
// written is never replaced and never removed. While a server runs, its file is locked.
type kubeconfigFile string

// kubeconfigMark is the name of an extension of the cluster in a kubeconfig. kubectl keeps it when it changes the file.
const kubeconfigMark = "flyball.io/server"

var (
	errNotOurs    = errors.New("it exists, and is no kubeconfig that a server of flyball left: name a file that does not exist yet")
	errNotRegular = errors.New("it exists, and is no regular file: name a file that does not exist yet")
)

// kubeconfigText has the fields of a kubeconfig that tell where it leads.
type kubeconfigText struct {
	Clusters []struct {
		Name    string
		Cluster struct {
			Server     string
			Extensions []struct{ Name string }
		}
	}
	Contexts []struct{ Context struct{ Cluster string } }
	Users    []struct{ Name string }
}

// oursIn returns the URL of the server that wrote a kubeconfig. ok is false if the kubeconfig has anything else in it.
func oursIn(data []byte) (server string, ok bool) {
	var k kubeconfigText
	if yaml.Unmarshal(data, &k) != nil || len(k.Clusters) != 1 || len(k.Users) > 1 {
		return "", false
	}
	only := k.Clusters[0]
	for _, c := range k.Contexts {
		if c.Context.Cluster != only.Name {
			return "", false
		}
	}
	for _, x := range only.Cluster.Extensions {
		ok = ok || x.Name == kubeconfigMark
	}
	return only.Cluster.Server, ok
}

// marked returns a kubeconfig with the mark.
func marked(kubeconfig []byte) ([]byte, error) {
	var k map[string]any
	if err := yaml.Unmarshal(kubeconfig, &k); err != nil {
		return nil, err
	}
	clusters, _ := k["clusters"].([]any)
	for _, c := range clusters {
		if c, ok := c.(map[string]any)["cluster"].(map[string]any); ok {
			c["extensions"] = []any{map[string]any{"name": kubeconfigMark, "extension": map[string]any{"removedAtEnd": true}}}
		}
	}
	return yaml.Marshal(k)
}

// free returns nil if the file may be written: there is none, it is empty, or a server left it. exists says which.
func (f kubeconfigFile) free() (exists bool, err error) {
	info, err := os.Lstat(string(f))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return true, errFolder
	case !info.Mode().IsRegular():
		return true, errNotRegular
	}
	data, err := os.ReadFile(string(f))
	if err != nil {
		return true, err
	}
	if _, ours := oursIn(data); !ours && len(bytes.TrimSpace(data)) > 0 {
		return true, errNotOurs
	}
	return true, nil
}

// check returns an error if the file could not be written, before anything is built or started.
func (f kubeconfigFile) check() error {
	if f == "" {
		return nil
	}
	_, err := f.free()
	if err == nil {
		err = replaceable(string(f))
	}
	return f.named(err)
}

// hold locks the file for this process until release is called.
func (f kubeconfigFile) hold() (release func(), err error) {
	if f == "" {
		return func() {}, nil
	}
	release, err = lockBeside(string(f))
	if errors.Is(err, errHeld) {
		err = errors.New("another server has written it, and still runs: name another file")
	}
	return release, f.named(err)
}

// write writes a kubeconfig, in one step: a program that waits for the file can read it as soon as it exists. The caller
// holds the file.
func (f kubeconfigFile) write(kubeconfig []byte) error {
	if f == "" {
		return nil
	}
	data, err := marked(kubeconfig)
	if err != nil {
		return f.named(err)
	}
	exists, err := f.free()
	if err != nil {
		return f.named(err)
	}
	into := os.Rename
	if !exists {
		into = renameNew
	}
	err = replaceBy(into, string(f), func(w io.Writer) error { _, err := w.Write(data); return err })
	if errors.Is(err, fs.ErrExist) {
		err = errNotOurs
	}
	return f.named(err)
}

// renameNew renames a file, unless there is one with the new name: then the error is [fs.ErrExist].
func renameNew(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return os.Rename(from, to) // a file system without hard links
}

// remove removes the file if it still leads to this server alone. Otherwise it says on errOut that the file stays.
func (f kubeconfigFile) remove(server string, errOut io.Writer) {
	if f == "" {
		return
	}
	info, err := os.Lstat(string(f))
	if err != nil {
		return // it is gone
	}
	data, err := os.ReadFile(string(f))
	if leads, ours := oursIn(data); err != nil || !info.Mode().IsRegular() || !ours || leads != server {
		fmt.Fprintf(errOut, "flyball: %s was changed since this server wrote it: it stays\n", f)
		return
	}
	if err := os.Remove(string(f)); err != nil {
		fmt.Fprintln(errOut, "flyball:", err)
	}
}

// named adds the name of the flag to an error.
func (f kubeconfigFile) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--kubeconfig-out %s: %w", string(f), err)
}
