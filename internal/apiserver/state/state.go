// Package state writes and reads the file of a state: the objects of a server as a stream of YAML documents, which
// people can read, compare and edit. The first document is about the file:
//
//	format: flyball-state-1
//	end: true               # the last line of the file is "..."; without it the file was cut
//	kubernetes: v1.36.3
//	version: 4711           # the resourceVersion of the state
//	created:                # how many objects were created, by collection; uids and names depend on it
//	  /core/pods/default/: 3
//	---
//	apiVersion: v1
//	kind: Pod
//	…
//
// Each other document is one object as it is stored, with its uid, its version, its times and its managed fields.
// Definitions of custom resources come first. [Write] and [Read] have only a few objects in memory as text at a time.
//
// [Record] reads a recorded cluster, a file of package recording.
package state

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// format is the value of the first line of a file. A change of the format changes the number.
const format = "flyball-state-1"

// end is the last line of a file. It ends a document, so objects may be added behind it.
const end = "..."

// header is the first document.
type header struct {
	Format     string            `json:"format"`
	End        bool              `json:"end,omitempty"`
	Kubernetes string            `json:"kubernetes"`
	Version    uint64            `json:"version"`
	Created    map[string]uint64 `json:"created,omitempty"`
}

const about = `# The state of an API server in memory: "flyball apiserver --state FILE" goes on from it.
# This document is about the file. Each other one is an object as it is stored.
`

// Write writes a snapshot.
func Write(w io.Writer, snap *core.Snapshot) error {
	kubernetes, err := version(snap.View())
	if err != nil {
		return err
	}
	saved := snap.Saved()
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, "%sformat: %s\nend: true\nkubernetes: %s\nversion: %d\n", about, format, kubernetes, saved.Version)
	if len(saved.Created) > 0 {
		out.WriteString("created:\n")
	}
	for _, collection := range slices.Sorted(maps.Keys(saved.Created)) {
		fmt.Fprintf(out, "  %s: %d\n", inLine(quoted(collection)), saved.Created[collection])
	}
	var text []byte
	for o := range snap.Objects() {
		if text, err = appendYAML(append(text[:0], "---\n"...), o.JSON); err != nil {
			return fmt.Errorf("%s: %w", o.Key, err)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	out.WriteString(end + "\n")
	return out.Flush()
}

// version returns the version of Kubernetes of the rules, such as v1.36.3.
func version(v core.View) (string, error) {
	a := v.Read(time.Unix(0, 0), core.Request{Method: http.MethodGet, URL: "/version", Accept: "application/json", User: core.Administrator.Name, Groups: core.Administrator.Groups})
	var info struct{ GitVersion string }
	if err := json.Unmarshal(a.Body, &info); err != nil || a.Code != http.StatusOK {
		return "", fmt.Errorf("/version answered %d %q: %w", a.Code, a.Body, err)
	}
	return info.GitVersion, nil
}

// minor returns a version without its patch number.
func minor(version string) string {
	parts := strings.Split(version, ".")
	return strings.Join(parts[:min(2, len(parts))], ".")
}
