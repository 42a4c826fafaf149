package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// replace replaces a file, in one step, by one with the text that write writes. Only its owner may read it: there may be
// Secrets in it. After an error the file is as it was.
func replace(name string, write func(io.Writer) error) error {
	tmp, err := beside(name)
	if err != nil {
		return err
	}
	err = write(tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the error is told
	}
	return err
}

// replaceable returns an error if the folder of a file does not exist, or cannot be written.
func replaceable(name string) error {
	if _, err := os.Stat(filepath.Dir(name)); err != nil {
		return err
	}
	tmp, err := beside(name)
	if err != nil {
		return err
	}
	return errors.Join(tmp.Close(), os.Remove(tmp.Name()))
}

// beside creates a file in the folder of another one.
func beside(name string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-") // mode 0600
}
