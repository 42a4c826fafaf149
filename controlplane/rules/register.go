package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const (
	registrationGroup = "apiregistration.k8s.io"
	apiServiceKeys    = "/" + registrationGroup + "/apiservices/"
	apiServicePath    = "/apis/" + registrationGroup + "/v1/apiservices"
	// managedLabel says how long the server looks after an APIService.
	managedLabel = "kube-aggregator.kubernetes.io/automanaged"
	managed      = "true"    // always
	atStart      = "onstart" // never again after it was created
)

// register does what the aggregator does after a request: each version that definitions serve has an APIService, and
// those that the server itself serves are available.
func (a *api) register(c *call) error {
	names := map[string]bool{}
	versions := func(text json.RawMessage) error {
		if text == nil {
			return nil
		}
		d, err := a.custom.definition(text)
		if err != nil {
			return err
		}
		for _, v := range d.Spec.Versions {
			names[v.Name+"."+d.Spec.Group] = true
		}
		return nil
	}
	for _, w := range c.writes {
		if name, ok := strings.CutPrefix(w.Key, apiServiceKeys); ok {
			names[name] = true
		}
		if strings.HasPrefix(w.Key, crdKeys) {
			if err := versions(w.Object); err != nil {
				return err
			}
			if err := versions(c.before(w.Key)); err != nil {
				return err
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	defined, err := a.custom.all(c)
	if err != nil {
		return err
	}
	want := map[string]apiregistration.APIServiceSpec{}
	for _, d := range defined {
		for _, v := range d.Spec.Versions {
			if v.Served {
				want[v.Name+"."+d.Spec.Group] = apiregistration.APIServiceSpec{Group: d.Spec.Group, Version: v.Name, GroupPriorityMinimum: 1000, VersionPriority: 100}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		spec, wanted := want[name]
		if err := a.keepAPIService(c, name, spec, wanted); err != nil {
			return err
		}
		if err := a.localAPIService(c, name); err != nil {
			return err
		}
	}
	return nil
}

// keepAPIService makes, resets or deletes an APIService that the server looks after.
func (a *api) keepAPIService(c *call, name string, spec apiregistration.APIServiceSpec, wanted bool) error {
	text := c.get(apiServiceKeys + name)
	if text == nil {
		if !wanted {
			return nil
		}
		return a.createAPIService(c, managed, spec)
	}
	var now apiregistration.APIService
	if err := json.Unmarshal(text, &now); err != nil {
		return err
	}
	switch {
	case now.Labels[managedLabel] != managed || now.DeletionTimestamp != nil:
		return nil
	case !wanted:
		return a.inner(c, http.MethodDelete, apiServicePath+"/"+name, nil)
	case sameSpec(now.Spec, spec):
		return nil
	}
	now.Spec = spec
	body, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return a.inner(c, http.MethodPut, apiServicePath+"/"+name, body)
}

// localAPIService sets the condition of an APIService without a Service, if it does not say so yet.
func (a *api) localAPIService(c *call, name string) error {
	text := c.get(apiServiceKeys + name)
	if text == nil {
		return nil
	}
	var now apiregistration.APIService
	if err := json.Unmarshal(text, &now); err != nil || now.Spec.Service != nil {
		return err
	}
	want := apiregistration.APIServiceCondition{Type: apiregistration.Available, Status: apiregistration.ConditionTrue, LastTransitionTime: c.now(), Reason: "Local", Message: "Local APIServices are always available"}
	at := slices.IndexFunc(now.Status.Conditions, func(is apiregistration.APIServiceCondition) bool { return is.Type == want.Type })
	switch {
	case at < 0:
		now.Status.Conditions = append(now.Status.Conditions, want)
	default:
		is := now.Status.Conditions[at]
		if is.Status == want.Status {
			want.LastTransitionTime = is.LastTransitionTime
		}
		if is == want {
			return nil
		}
		now.Status.Conditions[at] = want
	}
	body, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return a.inner(c, http.MethodPut, apiServicePath+"/"+name+"/status", body)
}

func sameSpec(a, b apiregistration.APIServiceSpec) bool {
	return a.Service == nil && a.Group == b.Group && a.Version == b.Version && a.GroupPriorityMinimum == b.GroupPriorityMinimum && a.VersionPriority == b.VersionPriority
}

func (a *api) createAPIService(c *call, keep string, spec apiregistration.APIServiceSpec) error {
	one := apiregistration.APIService{Spec: spec}
	one.APIVersion, one.Kind = apiregistration.SchemeGroupVersion.String(), "APIService"
	one.Name, one.Labels = spec.Version+"."+spec.Group, map[string]string{managedLabel: keep}
	body, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return a.inner(c, http.MethodPost, apiServicePath, body)
}

// before returns the object of a key as it was before the call; nil if there was none, or the call has not got it.
func (c *call) before(key string) json.RawMessage {
	if text := c.req.Objects[key]; string(text) != "null" {
		return text
	}
	return nil
}

// within begins a request of the server itself that creates an object. The caller calls the result at its end.
func (c *call) within(path string, body []byte) (end func()) {
	chosen, uid := c.chosenUID, c.uid
	if uid != "" {
		c.uid = derived(uid, path, body)
	}
	c.chosenUID = ""
	return func() { c.chosenUID, c.uid = chosen, uid }
}

// derived returns a uid that comes of another one.
func derived(uid, path string, body []byte) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", uid, path, body))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // a random uuid, by its form
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
