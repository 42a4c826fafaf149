package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/sim/internal/world"
)

// Apply applies the objects of files or folders, as kubectl apply --server-side --force-conflicts does. Objects that
// name no namespace are in "default".
func Apply(paths ...string) Step {
	return Step{"apply " + strings.Join(paths, ", "), func(known *resources, u *world.User) error {
		objs, err := manifest.Read(paths...)
		if err != nil {
			return err
		}
		return applyAll(known, u, objs)
	}}
}

// ApplyText applies the objects of a text in YAML or JSON, as [Apply] does.
func ApplyText(text string) Step {
	objs, err := manifest.Decode("text", strings.NewReader(text))
	var names []string
	for _, o := range objs {
		names = append(names, manifest.Name(o))
	}
	return Step{"apply " + strings.Join(names, ", "), func(known *resources, u *world.User) error {
		if err != nil {
			return err
		}
		return applyAll(known, u, objs)
	}}
}

func applyAll(known *resources, u *world.User, objs []manifest.Object) error {
	for _, o := range objs {
		url, err := known.urlOf(u.View(), o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
		if err != nil {
			return fmt.Errorf("%s: %w", manifest.Name(o), err)
		}
		body, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("%s: %w", manifest.Name(o), err)
		}
		if err := failed(u.Do(http.MethodPatch, url+"?fieldManager=user&force=true", "application/apply-patch+yaml", body)); err != nil {
			return fmt.Errorf("%s: %w", manifest.Name(o), err)
		}
	}
	return nil
}

// Patch merges a text in JSON into an object, as a merge patch. Resource is a plural, with its group unless that is "":
// "deployments.apps". A version stands before the group, as in "orders.v1.example.com"; else it is the preferred one. A subresource follows a slash: "deployments.apps/status". Key is "namespace/name", or "name" for
// objects without a namespace.
func Patch(resource, key, text string) Step {
	return Step{"patch " + resource + " " + key, func(known *resources, u *world.User) error {
		url, err := known.url(u.View(), resource, key)
		if err != nil {
			return err
		}
		return failed(u.Do(http.MethodPatch, url, "application/merge-patch+json", []byte(text)))
	}}
}

// Delete deletes an object. Resource and key are those of [Patch].
func Delete(resource, key string) Step {
	return Step{"delete " + resource + " " + key, func(known *resources, u *world.User) error {
		url, err := known.url(u.View(), resource, key)
		if err != nil {
			return err
		}
		return failed(u.Do(http.MethodDelete, url, "application/json", []byte(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`)))
	}}
}

// Do calls a function with the configuration of a client. Its requests are answered at once; it cannot watch. It must do
// the same each time.
func Do(name string, do func(ctx context.Context, cfg *rest.Config) error) Step {
	return Step{name, func(_ *resources, u *world.User) error { return do(context.Background(), u.Config()) }}
}

// Together does several steps without rest between them.
func Together(steps ...Step) Step {
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	return Step{strings.Join(names, ", "), func(known *resources, u *world.User) error {
		for _, s := range steps {
			if err := s.do(known, u); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		return nil
	}}
}

// failed returns the error of an answer; nil if it has none.
func failed(a core.Answer) error {
	if a.Code < 300 {
		return nil
	}
	var status metav1.Status
	if err := json.Unmarshal(a.Body, &status); err != nil || status.Message == "" {
		return fmt.Errorf("the server answered %d: %s", a.Code, bytes.TrimSpace(a.Body))
	}
	return errors.New(status.Message)
}
