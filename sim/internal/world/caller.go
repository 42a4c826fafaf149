package world

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// maxFrames bounds how deep the code of a user lies under a call.
const maxFrames = 64

// caller returns the line of the program that makes a call, as "folder/file.go:12"; "" if it is none of the user's code
// on this goroutine.
func caller() string {
	var pcs [maxFrames]uintptr
	for _, pc := range pcs[:runtime.Callers(2, pcs[:])] {
		if at := lineOf(pc); at != "" {
			return at
		}
	}
	return ""
}

// lines has the lines of the user's code by the address behind a call, "" for code of libraries. There are as many as
// the program has calls.
var lines sync.Map

// lineOf returns the line of a call, or of the innermost call of the user's code that was inlined there.
func lineOf(pc uintptr) string {
	if at, ok := lines.Load(pc); ok {
		return at.(string)
	}
	at := ""
	for frames, more := runtime.CallersFrames([]uintptr{pc}), true; more && at == ""; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" && !library(f.Function) {
			at = fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(f.File)), filepath.Base(f.File), f.Line)
		}
	}
	lines.Store(pc, at)
	return at
}

const framework = "github.com/flyball-io/flyball"

// library reports whether a function is one of Go, Kubernetes, controller-runtime or Flyball.
func library(function string) bool {
	if rest, ok := strings.CutPrefix(function, framework); ok && (rest[0] == '.' || rest[0] == '/') {
		return !strings.HasPrefix(rest, "/examples/") && !strings.Contains(rest, "_test.")
	}
	first, _, _ := strings.Cut(function, "/")
	switch first {
	case "k8s.io", "sigs.k8s.io", "golang.org":
		return true
	}
	// The first element of a path outside of the standard library has a dot before its last slash.
	return !strings.Contains(first, ".") && strings.Contains(function, "/") || !strings.Contains(function, "/") && !strings.HasPrefix(function, "main.")
}
