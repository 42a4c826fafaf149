package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
)

// kubeconfigFile is the file of --kubeconfig-out; "" if there is none. A file that this program has not written is
// never replaced and never removed.
type kubeconfigFile string

// kubeconfigMark is the first line of a kubeconfig of a server.
const kubeconfigMark = generatedMark + " for a server that removes it at its end.\n"

// check returns an error if the file could not be written, before anything is built or started.
func (f kubeconfigFile) check() error {
	if f == "" {
		return nil
	}
	file, err := ours(string(f), kubeconfigMark)
	if err == nil {
		err = replaceable(file)
	}
	return f.named(err)
}

// write writes a kubeconfig, in one step: a program that waits for the file can read it as soon as it exists.
func (f kubeconfigFile) write(kubeconfig []byte) error {
	if f == "" {
		return nil
	}
	if err := f.check(); err != nil {
		return err
	}
	return f.named(replace(string(f), func(w io.Writer) error {
		_, err := w.Write(slices.Concat([]byte(kubeconfigMark), kubeconfig))
		return err
	}))
}

// remove removes the file if it is as write left it. Otherwise it says on errOut that the file stays.
func (f kubeconfigFile) remove(kubeconfig []byte, errOut io.Writer) {
	if f == "" {
		return
	}
	data, err := os.ReadFile(string(f))
	switch {
	case os.IsNotExist(err):
	case err != nil || !bytes.Equal(data, slices.Concat([]byte(kubeconfigMark), kubeconfig)):
		fmt.Fprintf(errOut, "flyball: %s was changed since this server wrote it: it stays\n", f)
	default:
		if err := os.Remove(string(f)); err != nil {
			fmt.Fprintln(errOut, "flyball:", err)
		}
	}
}

// named adds the name of the flag to an error.
func (f kubeconfigFile) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--kubeconfig-out %s: %w", string(f), err)
}
