package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	apiextensionshelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
)

// define does the work of the controllers of custom resource definitions after a request. It accepts names,
// establishes kinds, and deletes the objects of a definition that is being deleted. All of that happens within the
// call, so a kind is served when the creation of its definition has been answered.
func (a *api) define(c *call) error {
	touched := false
	for _, w := range c.writes {
		touched = touched || strings.HasPrefix(w.Key, crdKeys)
	}
	if !touched {
		return a.lastObject(c)
	}
	for {
		before := c.version
		defined, err := a.custom.all(c)
		if err != nil {
			return err
		}
		for _, d := range defined {
			if err := a.accept(c, d.Name); err != nil {
				return err
			}
			if err := a.undefine(c, d.Name); err != nil {
				return err
			}
		}
		if c.version == before { // else names may have become free that another definition wants
			return nil
		}
	}
}

// lastObject ends the deletion of a definition if the call has deleted the last of its objects.
func (a *api) lastObject(c *call) error {
	for _, w := range slices.Clone(c.writes) {
		group, rest, _ := strings.Cut(strings.TrimPrefix(w.Key, "/"), "/")
		resource, _, _ := strings.Cut(rest, "/")
		if !w.Delete || a.builtin[group] {
			continue
		}
		if err := a.undefine(c, resource+"."+group); err != nil {
			return err
		}
	}
	return nil
}

// current returns a copy of the present definition with a name; nil if there is none.
func (a *api) current(c *call, name string) (*definition, error) {
	text := c.get(crdKeys + name)
	if text == nil {
		return nil, nil
	}
	d, err := a.custom.definition(text)
	if err != nil {
		return nil, err
	}
	return d.DeepCopy(), nil
}

// accept accepts the names of a definition that no other one has, and establishes it if all are accepted.
func (a *api) accept(c *call, name string) error {
	d, err := a.current(c, name)
	if err != nil || d == nil || d.DeletionTimestamp != nil {
		return err
	}
	if d, err = a.approve(c, d); err != nil || d == nil {
		return err
	}
	if !apiequality.Semantic.DeepEqual(d.Spec.Names, d.Status.AcceptedNames) {
		names, accepted, err := a.names(c, d)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(d.Status.AcceptedNames, names) || !apiextensionshelpers.IsCRDConditionEquivalent(&accepted, apiextensionshelpers.FindCRDCondition(d, accepted.Type)) {
			d.Status.AcceptedNames = names
			c.condition(d, accepted)
			if !hasCondition(d, apiextensions.Established) {
				established := apiextensions.CustomResourceDefinitionCondition{Type: apiextensions.Established, Status: apiextensions.ConditionFalse, Reason: "NotAccepted", Message: "not all names are accepted"}
				if accepted.Status == apiextensions.ConditionTrue {
					established.Reason, established.Message = "Installing", "the initial names have been accepted"
				}
				c.condition(d, established)
			}
			if err := a.updateStatus(c, d); err != nil {
				return err
			}
			if d, err = a.current(c, name); err != nil || d == nil {
				return err
			}
		}
	}
	if !hasCondition(d, apiextensions.NamesAccepted) || hasCondition(d, apiextensions.Established) {
		return nil
	}
	c.condition(d, established(d))
	return a.updateStatus(c, d)
}

// names returns the names of a definition that no other one of its group has, and the condition that says so.
func (a *api) names(c *call, d *definition) (names apiextensions.CustomResourceDefinitionNames, accepted apiextensions.CustomResourceDefinitionCondition, err error) {
	all, err := a.custom.all(c)
	if err != nil {
		return names, accepted, err
	}
	resources, kinds := sets.New[string](), sets.New[string]()
	for _, other := range all {
		if n := other.Status.AcceptedNames; other.Spec.Group == d.Spec.Group {
			resources.Insert(n.Plural, n.Singular).Insert(n.ShortNames...)
			kinds.Insert(n.Kind, n.ListKind)
		}
	}
	want, names := d.Spec.Names, d.Status.AcceptedNames
	accepted = apiextensions.CustomResourceDefinitionCondition{Type: apiextensions.NamesAccepted, Status: apiextensions.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found"}
	conflict := func(reason, message string) {
		accepted.Status, accepted.Reason, accepted.Message = apiextensions.ConditionFalse, reason, message
	}
	take := func(have *string, want, reason string, used sets.Set[string]) {
		if want != *have && used.Has(want) {
			conflict(reason, fmt.Sprintf("%q is already in use", want))
			return
		}
		*have = want
	}
	take(&names.Plural, want.Plural, "PluralConflict", resources)
	take(&names.Singular, want.Singular, "SingularConflict", resources)
	var used []string
	for _, short := range want.ShortNames {
		if !slices.Contains(names.ShortNames, short) && resources.Has(short) {
			used = append(used, fmt.Sprintf("%q is already in use", short))
		}
	}
	switch len(used) {
	case 0:
		names.ShortNames = want.ShortNames
	case 1:
		conflict("ShortNamesConflict", used[0])
	default:
		conflict("ShortNamesConflict", "["+strings.Join(used, ", ")+"]")
	}
	take(&names.Kind, want.Kind, "KindConflict", kinds)
	take(&names.ListKind, want.ListKind, "ListKindConflict", kinds)
	names.Categories = want.Categories
	return names, accepted, nil
}

// undefine deletes the objects of a definition that is being deleted, and then the definition.
func (a *api) undefine(c *call, name string) error {
	d, err := a.current(c, name)
	if err != nil || d == nil || d.DeletionTimestamp == nil || !apiextensionshelpers.CRDHasFinalizer(d, apiextensions.CustomResourceCleanupFinalizer) {
		return err
	}
	condition := apiextensions.CustomResourceDefinitionCondition{Type: apiextensions.Terminating, Status: apiextensions.ConditionTrue, Reason: "InstanceDeletionInProgress", Message: "CustomResource deletion is in progress"}
	if old := apiextensionshelpers.FindCRDCondition(d, condition.Type); old == nil || old.Reason != condition.Reason {
		c.condition(d, condition)
		if err := a.updateStatus(c, d); err != nil {
			return err
		}
	}
	condition.Status, condition.Reason, condition.Message = apiextensions.ConditionFalse, "NeverEstablished", "resource was never established"
	if hasCondition(d, apiextensions.Established) {
		condition.Reason, condition.Message = "InstanceDeletionCompleted", "removed all instances"
		if err := a.deleteAll(c, d); err != nil {
			return err
		}
		if len(c.under(customKeys(d))) > 0 {
			return nil // finalizers keep them
		}
	}
	if d, err = a.current(c, name); err != nil || d == nil {
		return err
	}
	c.condition(d, condition)
	apiextensionshelpers.CRDRemoveFinalizer(d, apiextensions.CustomResourceCleanupFinalizer)
	return a.updateStatus(c, d)
}

func customKeys(d *definition) string { return "/" + d.Spec.Group + "/" + d.Spec.Names.Plural + "/" }

// deleteAll deletes those objects of a definition that are not being deleted yet, in the version in which they are
// stored if that is served: then nothing is converted.
func (a *api) deleteAll(c *call, d *definition) error {
	served := -1
	for i, v := range d.Spec.Versions {
		if v.Served && (served < 0 || v.Storage) {
			served = i
		}
	}
	if served < 0 {
		return nil // as long as no version is served, its objects stay
	}
	for _, text := range c.under(customKeys(d)) {
		var o metav1.PartialObjectMetadata
		if err := json.Unmarshal(text, &o); err != nil {
			return err
		}
		if o.DeletionTimestamp != nil {
			continue
		}
		path := "/apis/" + d.Spec.Group + "/" + d.Spec.Versions[served].Name
		if o.Namespace != "" {
			path += "/namespaces/" + o.Namespace
		}
		if err := a.inner(c, http.MethodDelete, path+"/"+d.Spec.Names.Plural+"/"+o.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// condition sets a condition of a definition, with the time of the call.
func (c *call) condition(d *definition, condition apiextensions.CustomResourceDefinitionCondition) {
	condition.LastTransitionTime = c.now()
	apiextensionshelpers.SetCRDCondition(d, condition)
	if now := apiextensionshelpers.FindCRDCondition(d, condition.Type); now.Status == condition.Status && now.LastTransitionTime.IsZero() {
		now.LastTransitionTime = c.now()
	}
}

func (a *api) updateStatus(c *call, d *definition) error {
	d.TypeMeta = metav1.TypeMeta{APIVersion: apiextensions.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	err = a.inner(c, http.MethodPut, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+d.Name+"/status", body)
	d.ResourceVersion = fmt.Sprint(c.version)
	return err
}

// itself is the user of requests that the server makes itself.
var itself = &user.DefaultInfo{Name: "system:apiserver", Groups: []string{"system:masters", "system:authenticated"}}

// inner makes a request of the server itself, within a call.
func (a *api) inner(c *call, method, path string, body []byte) error {
	return a.innerOf(c, method, "application/json", path, body)
}

// innerOf is [api.inner] with a body of any type.
func (a *api) innerOf(c *call, method, contentType, path string, body []byte) error {
	r, err := http.NewRequest(method, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", "kube-apiserver")
	w := &response{header: http.Header{}}
	if method == http.MethodPost { // what it creates has a uid of its own
		defer c.within(path, body)()
	}
	if err := a.dispatch(w, r, c, itself, &warnings{}); err != nil {
		return err
	}
	if w.code >= 300 {
		var status metav1.Status
		if err := json.Unmarshal(w.body.Bytes(), &status); err == nil && status.Kind == "Status" {
			return fmt.Errorf("%s %s: %w", method, path, &apierrors.StatusError{ErrStatus: status})
		}
		return fmt.Errorf("%s %s: %d %s", method, path, w.code, w.body.Bytes())
	}
	return nil
}
