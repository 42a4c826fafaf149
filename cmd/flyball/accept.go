package main

import (
	"context"
	"fmt"
	"io"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/test/plane"
)

// acceptance asks an API server in memory whether it takes definitions. The server starts at the first one.
type acceptance struct {
	build  bool // the rules, if they are not built
	errOut io.Writer

	asked  bool
	why    error // why rules that are built could not be used
	server *apiserver.Server
	client *client.Live
}

// notChecked is told when there is something to check and no server.
const notChecked = "note: nobody has checked the CRDs by the rules of the API server, which are not built yet:\n" +
	"  \"flyball manifests --rules\" builds them, once, in 3 to 5 minutes on two cores; later calls check by themselves"

// accept creates a definition in the server, as a dry run. It returns nil if there are no rules.
func (a *acceptance) accept(ctx context.Context, d *extv1.CustomResourceDefinition) error {
	if err := a.start(ctx); err != nil || a.client == nil {
		return err
	}
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &u.Object); err != nil {
		return err
	}
	_, err = client.Create(ctx, a.client, u, client.DryRun{})
	return err
}

// start starts the server, if there are rules for it or they shall be built.
func (a *acceptance) start(ctx context.Context) (err error) {
	if a.asked {
		return nil
	}
	a.asked = true
	if !a.build {
		// Without the source of Flyball, or a folder for what is built, there are none.
		if built, err := plane.BuiltRules(ctx); err != nil || built == "" {
			return nil
		}
	}
	if a.server, err = apiserver.New(ctx, apiserver.Options{InMemory: true, Progress: a.errOut}); err == nil {
		a.client, err = client.New(a.server.RESTConfig(), client.Options{})
	}
	if err != nil && !a.build && ctx.Err() == nil {
		a.why = err // an older or a newer version of them, for instance
		return nil
	}
	return err
}

// close ends the server. It tells of definitions that will be written and were not checked.
func (a *acceptance) close(unchecked bool) error {
	switch {
	case a.why != nil && unchecked:
		fmt.Fprintf(a.errOut, "note: nobody has checked the CRDs by the rules of the API server, which do not work; see \"flyball manifests --rules\": %v\n", a.why)
	case a.asked && a.client == nil && unchecked:
		fmt.Fprintln(a.errOut, notChecked)
	}
	if a.server == nil {
		return nil
	}
	return a.server.Close()
}
