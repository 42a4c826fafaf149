package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// keptLog bounds the bytes of the program's log in an error.
const keptLog = 4096

// own starts a process of the program that serves only the caller, over pipes. kill ends a process that does not end
// by the close of its connection.
func own(binary string, frame int) (c *conn, kill func(), err error) {
	cmd := exec.Command(binary, "-frame", strconv.Itoa(frame))
	cmd.Env, cmd.Dir = []string{}, "/" // answers depend on nothing but requests
	var log tail
	cmd.Stderr = &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	return newConn(stdout, stdin, frame, func(err error) error {
		stdin.Close()
		if !errors.Is(err, io.EOF) {
			_ = cmd.Process.Kill() // its output is not of this protocol
		}
		if end := cmd.Wait(); end != nil && errors.Is(err, io.EOF) {
			err = end
		}
		return fmt.Errorf("the program ended: %w%s", err, log.text())
	}), func() { _ = cmd.Process.Kill() }, nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	t.data = t.data[max(0, len(t.data)-keptLog):]
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(bytes.ToValidUTF8(t.data, nil)))
	if text == "" {
		return ""
	}
	return "\n\t" + strings.ReplaceAll(text, "\n", "\n\t")
}
