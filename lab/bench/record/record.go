package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/recording"
)

// pageSize is the number of objects in one request.
const pageSize = 500

// record writes all objects of a cluster. It logs and skips a kind that cannot be listed, and fails
// only if none can.
func record(ctx context.Context, cfg *rest.Config, out io.Writer, log func(format string, args ...any)) error {
	resources, err := listable(cfg, log)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	rec := recording.NewWriter(out)
	kinds, objects := 0, 0
	var last error
	for _, r := range resources {
		all, err := list(ctx, client, r)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			log("left out: %s", err)
			last = err
			continue
		}
		log("%6d %s", len(all), r.GVR.GroupResource())
		err = rec.Begin(r, len(all))
		for _, o := range all {
			err = errors.Join(err, rec.Add(o))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.GVR.GroupResource(), err)
		}
		kinds, objects = kinds+1, objects+len(all)
	}
	if kinds == 0 {
		return errors.Join(errors.New("no kind could be listed"), last)
	}
	log("%d objects of %d kinds", objects, kinds)
	return rec.Close()
}

// listable returns the resources that can be listed, each in the server's preferred version.
func listable(cfg *rest.Config, log func(format string, args ...any)) ([]recording.Resource, error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	groups, err := d.ServerPreferredResources()
	if err != nil && len(groups) == 0 {
		return nil, fmt.Errorf("which kinds there are: %w", err)
	}
	if err != nil { // extension servers of some groups may not answer
		log("not all kinds are known: %s", err)
	}
	var all []recording.Resource
	for _, g := range groups {
		gv, err := schema.ParseGroupVersion(g.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range g.APIResources {
			if slices.Contains(r.Verbs, "list") {
				all = append(all, recording.Resource{GVK: gv.WithKind(r.Kind), GVR: gv.WithResource(r.Name), Namespaced: r.Namespaced})
			}
		}
	}
	return all, nil
}

// list returns all objects of a kind, as JSON.
func list(ctx context.Context, client dynamic.Interface, r recording.Resource) ([]json.RawMessage, error) {
	var all []json.RawMessage
	o := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.Resource(r.GVR).List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", r.GVR.GroupResource(), err)
		}
		for i := range page.Items {
			page.Items[i].SetGroupVersionKind(r.GVK)
			b, err := json.Marshal(&page.Items[i])
			if err != nil {
				return nil, err
			}
			all = append(all, b)
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return all, nil
		}
	}
}
