package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/web"
	"github.com/flyball-io/flyball/internal/manifest"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// define creates the custom resource definitions in files, which are those of where. An error names the file and the
// object.
func define(s *web.Server, where string, files []string) error {
	if where == "" {
		return nil
	}
	from := map[string]string{}
	var errs []error
	for _, file := range files {
		objs, err := manifest.Read(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, o := range objs {
			if !manifest.IsCRD(o) {
				continue
			}
			name := manifest.Name(o)
			if first, twice := from[name]; twice {
				errs = append(errs, fmt.Errorf("%s: %s is in %s, too", file, name, first))
				continue
			}
			from[name] = file
			if err := create(s, o); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", file, name, err))
			}
		}
	}
	if len(errs) == 0 && len(from) == 0 {
		return fmt.Errorf("no custom resource definition is in %s", where)
	}
	return errors.Join(errs...)
}

// filesOf returns the files that Options.CRDs names; none for "".
func filesOf(where string) ([]string, error) {
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

// create creates a definition, or merges it into the one that the state has, and checks that its kind is served.
func create(s *web.Server, o manifest.Object) error {
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	user := core.Request{Accept: "application/json", ContentType: "application/json", UserAgent: "apiserver", User: core.Administrator.Name, Groups: core.Administrator.Groups}
	post := user
	post.Method, post.URL, post.Body = http.MethodPost, definitions, body
	switch answer := s.Step(post); answer.Code {
	case http.StatusCreated:
	case http.StatusConflict: // it is in Options.State, too
		patch := post
		patch.Method, patch.URL, patch.ContentType = http.MethodPatch, definitions+"/"+o.GetName(), "application/merge-patch+json"
		if answer := s.Step(patch); answer.Code != http.StatusOK {
			return refusal(answer)
		}
	default:
		return refusal(answer)
	}
	get := user
	get.Method, get.URL = http.MethodGet, definitions+"/"+o.GetName()
	var made struct {
		Status struct{ Conditions []metav1.Condition }
	}
	if err := json.Unmarshal(s.Step(get).Body, &made); err != nil {
		return err
	}
	for _, c := range made.Status.Conditions {
		if c.Type == "NamesAccepted" && c.Status != metav1.ConditionTrue {
			return fmt.Errorf("the server does not accept its names: %s", c.Message)
		}
	}
	return nil
}

// refusal returns the error of an answer to a request that failed.
func refusal(a core.Answer) error {
	var status metav1.Status
	if err := json.Unmarshal(a.Body, &status); err != nil || status.Message == "" {
		return fmt.Errorf("the server answered %d: %s", a.Code, a.Body)
	}
	return errors.New(status.Message)
}
