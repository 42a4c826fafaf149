package shared

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/manifest"
)

const (
	served      = "apiextensions.k8s.io/v1"
	definitions = "/apis/" + served + "/customresourcedefinitions"
)

// Definition is a custom resource definition of a file.
type Definition struct {
	file, name string
	title      string // kind and name
	body       []byte // as JSON
}

// ReadDefinitions returns the definitions in files, which are those of where; also with an error, those that can be
// read.
func ReadDefinitions(where string, files []string) ([]Definition, error) {
	from := map[string]string{}
	var out []Definition
	var errs []error
	for _, file := range files {
		all, err := definitionsOf(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, d := range all {
			if first, twice := from[d.title]; twice {
				errs = append(errs, fmt.Errorf("%s: %s is in %s, too", file, d.title, first))
				continue
			}
			from[d.title] = file
			d.file = file
			out = append(out, d)
		}
	}
	if where != "" && len(errs) == 0 && len(from) == 0 {
		return nil, fmt.Errorf("no custom resource definition is in %s: in a folder and its subfolder bases, files that end in .yaml, .yml or .json are read", where)
	}
	return out, errors.Join(errs...)
}

// parsed has the definitions of files that this process has read, by the hash of their texts. To parse a large one takes
// longer than to start a server.
var parsed struct {
	sync.Mutex
	texts map[[sha256.Size]byte][]Definition
}

// maxParsed bounds the number of files in parsed.
const maxParsed = 256

// definitionsOf returns the definitions in a file. Their field file is not set. Callers must not change the slice.
func definitionsOf(file string) ([]Definition, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(text)
	parsed.Lock()
	known, ok := parsed.texts[key]
	parsed.Unlock()
	if ok {
		return known, nil
	}
	objs, err := manifest.Decode(file, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var out []Definition
	for _, o := range objs {
		if !manifest.IsCRD(o) {
			continue
		}
		if v := o.GetAPIVersion(); v != served {
			return nil, fmt.Errorf("%s: %s: its apiVersion is %s, and servers of today have only %s: write it in that", file, manifest.Name(o), v, served)
		}
		body, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, manifest.Name(o), err)
		}
		out = append(out, Definition{name: o.GetName(), title: manifest.Name(o), body: body})
	}
	parsed.Lock()
	defer parsed.Unlock()
	if parsed.texts == nil || len(parsed.texts) >= maxParsed {
		parsed.texts = map[[sha256.Size]byte][]Definition{}
	}
	parsed.texts[key] = out
	return out, nil
}

// Define creates definitions. Step answers a request. An error names the file and the object, and so does each line for
// a warning of the server, such as that about an unknown field.
func Define(step func(core.Request) core.Answer, all []Definition, progress io.Writer) error {
	var errs []error
	for _, d := range all {
		warnings, err := d.create(step)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", d.file, d.title, err))
		}
		for _, w := range warnings {
			fmt.Fprintf(progress, "apiserver: %s: %s: warning: %s\n", d.file, d.title, w)
		}
	}
	return errors.Join(errs...)
}

// FilesOf returns the files that a path names: a file, a folder or a pattern, as apiserver.Options.CRDs; none for "".
func FilesOf(where string) ([]string, error) {
	if where == "" {
		return nil, nil
	}
	names, err := filepath.Glob(where)
	if err != nil {
		return nil, fmt.Errorf("CRDs %q: %w", where, err)
	}
	if len(names) == 0 {
		names = []string{where} // the error says that it does not exist
	}
	var out []string
	for _, name := range names {
		for _, part := range []string{name, filepath.Join(name, "bases")} {
			if part != name {
				if info, err := os.Stat(part); err != nil || !info.IsDir() {
					continue
				}
			}
			files, err := manifest.Files(part)
			if err != nil {
				return nil, fmt.Errorf("CRDs: %w", err)
			}
			out = append(out, files...)
		}
	}
	return out, nil
}

// create creates a Definition, or merges it into the one that the state has, and checks that its kind is served. It
// returns the warnings of the server.
func (d Definition) create(step func(core.Request) core.Answer) (warnings []string, err error) {
	user := core.Request{Accept: "application/json", ContentType: "application/json", UserAgent: "apiserver", User: core.Administrator.Name, Groups: core.Administrator.Groups}
	post := user
	post.Method, post.URL, post.Body = http.MethodPost, definitions, d.body
	answer := step(post)
	if answer.Code == http.StatusConflict { // it is in the state already
		patch := post
		patch.Method, patch.URL, patch.ContentType = http.MethodPatch, definitions+"/"+d.name, "application/merge-patch+json"
		answer = step(patch)
	}
	if answer.Code != http.StatusCreated && answer.Code != http.StatusOK {
		return nil, refusal(answer)
	}
	get := user
	get.Method, get.URL = http.MethodGet, definitions+"/"+d.name
	var made struct {
		Status struct{ Conditions []metav1.Condition }
	}
	if err := json.Unmarshal(step(get).Body, &made); err != nil {
		return answer.Warnings, err
	}
	for _, c := range made.Status.Conditions {
		if c.Type == "NamesAccepted" && c.Status != metav1.ConditionTrue {
			return answer.Warnings, fmt.Errorf("the server does not accept its names: %s", c.Message)
		}
	}
	return answer.Warnings, nil
}

// refusal returns the error of an answer to a request that failed.
func refusal(a core.Answer) error {
	var status metav1.Status
	if err := json.Unmarshal(a.Body, &status); err != nil || status.Message == "" {
		return fmt.Errorf("the server answered %d: %s", a.Code, a.Body)
	}
	return errors.New(status.Message)
}

// Early returns the definitions that are part of the first objects, and those that are created after them: all, if one
// of them cannot be part of a beginning.
func Early(definitions []Definition) (first, later []Definition) {
	if slices.ContainsFunc(definitions, func(d Definition) bool { return core.Reserved(d.body) }) {
		return nil, definitions
	}
	return definitions, nil
}
