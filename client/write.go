package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/sparse"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// Write implements [Writer].
func (c *Live) Write(ctx context.Context, op Op) (object.Object, error) {
	if err := op.validate(); err != nil {
		return nil, err
	}
	op.DryRun = op.DryRun || c.dryRun
	if op.Owner == "" {
		op.Owner = c.owner
	}
	if op.Verb == VerbDeleteAll {
		if some, err := selects(&op.Select.Selection); err != nil || !some {
			return nil, err
		}
	}
	w, err := c.plan(ctx, &op)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(ctx, w.target, c.building(ctx, w))
	if op.IfAbsent {
		err = existed(err)
	}
	if err != nil {
		return nil, err
	}
	if op.Verb == VerbDeleteAll {
		return nil, resp.Body.Close()
	}
	raw, ok, err := readObject(w.target.call, c.wireKind(w.gvk, w.answer), resp)
	if err != nil || !ok {
		return nil, err
	}
	out := newLike(w.answer)
	if err := raw.Decode(out); err != nil {
		return nil, err
	}
	if !op.DryRun {
		c.recent.note(raw, out)
	}
	return out, nil
}

// plan is a write that was checked and has a target.
type plan struct {
	op     *Op
	target *target
	// answer has the kind and the form of the answer: it is the body, or the object.
	answer object.Object
	gvk    schema.GroupVersionKind
}

func (c *Live) plan(ctx context.Context, op *Op) (*plan, error) {
	verb := string(op.Verb)
	gvk, err := kindOf(verb, c.scheme, op.Object, op.Select.Kind)
	if err != nil {
		return nil, err
	}
	p := &plan{op: op, answer: op.Object, gvk: gvk}
	if op.Body != nil {
		p.answer = op.Body
		if p.gvk, err = kindOf(verb, c.scheme, op.Body, schema.GroupVersionKind{}); err != nil {
			return nil, err
		}
	}
	sends := op.Verb == VerbCreate || op.Verb == VerbUpdate || op.Verb == VerbApply
	if sends {
		if err := checkText(p.answer); err != nil {
			return nil, fmt.Errorf("%s %s: %w", verb, gvk.Kind, err)
		}
		if formOf(p.answer) == metadataForm && op.Verb != VerbApply {
			return nil, &InvalidOpError{Verb: op.Verb, Field: "Object", Problem: "is metadata only: it would lose everything else; use a patch"}
		}
	}
	if op.Verb == VerbApply && op.Owner == "" {
		return nil, &InvalidOpError{Verb: op.Verb, Field: "Owner", Problem: "is empty"}
	}
	key := object.KeyOf(op.Object)
	all := false
	switch {
	case op.Verb == VerbDeleteAll:
		key, all = object.Key{Namespace: op.Select.Namespace}, true
	case key.Name == "" && !(op.Verb == VerbCreate && op.Subresource == "" && (op.Object.GetGenerateName() != "" || isReview(gvk))):
		return nil, &InvalidKeyError{Verb: op.Verb, Kind: gvk.Kind, Key: key, Problem: "name is empty"}
	}
	p.target, err = c.resolve(ctx, verb, gvk, key, op.Subresource, all)
	return p, err
}

// isReview reports whether the objects of a kind are reviews. The server answers a review, does not
// store it, and takes it without a name.
func isReview(gvk schema.GroupVersionKind) bool {
	return gvk.Group == authenticationv1.GroupName || gvk.Group == authorizationv1.GroupName
}

// build makes the request. plain is for JSON in both directions.
func (p *plan) build(plain bool) (*request, error) {
	op := p.op
	r := &request{call: p.target.call, path: p.target.path(), query: p.query(), accept: acceptFor(p.answer, plain)}
	var err error
	switch op.Verb {
	case VerbCreate:
		r.method = http.MethodPost
		if op.Subresource == "" && p.target.call.Key.Name != "" {
			r.path = r.path[:len(r.path)-1]
		}
	case VerbUpdate:
		r.method = http.MethodPut
	case VerbPatch:
		r.method, r.body, r.contentType = http.MethodPatch, op.Patch.data, string(op.Patch.kind)
		return r, nil
	case VerbApply:
		r.method, r.contentType = http.MethodPatch, string(types.ApplyYAMLPatchType)
		r.body, err = applyBody(p.answer, p.gvk)
		if err == nil && op.IfAbsent {
			r.body, err = onlyIfAbsent(r.body)
		}
		return r, err
	case VerbDelete, VerbDeleteAll:
		r.method, r.contentType = http.MethodDelete, wire.ContentTypeJSON
		r.body, err = op.deleteBody()
		return r, err
	}
	enc := wire.JSON
	if !plain {
		enc = encodingFor(p.answer)
	}
	r.body, r.contentType, err = wire.Encode(p.answer, p.gvk, enc)
	return r, err
}

func (p *plan) query() url.Values {
	op := p.op
	q := url.Values{}
	if op.Verb == VerbDelete || op.Verb == VerbDeleteAll {
		if op.Verb == VerbDeleteAll {
			q = selectorQuery(&op.Select.Selection)
		}
		return q // the other options are in the body
	}
	if op.DryRun {
		q.Set("dryRun", metav1.DryRunAll)
	}
	if op.Owner != "" {
		q.Set("fieldManager", op.Owner)
	}
	if op.Force {
		q.Set("force", strconv.FormatBool(true))
	}
	switch {
	case op.Validation != "":
		q.Set("fieldValidation", string(op.Validation))
	case op.Verb == VerbApply:
		q.Set("fieldValidation", string(Strict))
	}
	return q
}

func (op *Op) deleteBody() ([]byte, error) {
	o := op.deleteOptions()
	if o == nil {
		o = &metav1.DeleteOptions{}
	}
	o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	if op.DryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	return json.Marshal(o)
}

// deleteOptions has the preconditions, the propagation and the grace of the op; nil if it has none.
func (op *Op) deleteOptions() *metav1.DeleteOptions {
	if op.IfUID == nil && op.IfVersion == nil && op.Propagation == "" && op.Grace == nil {
		return nil
	}
	o := &metav1.DeleteOptions{GracePeriodSeconds: op.Grace}
	if op.IfUID != nil || op.IfVersion != nil {
		o.Preconditions = &metav1.Preconditions{UID: op.IfUID, ResourceVersion: op.IfVersion}
	}
	if op.Propagation != "" {
		o.PropagationPolicy = (*metav1.DeletionPropagation)(&op.Propagation)
	}
	return o
}

// applyBody is the object as an apply configuration. It lacks managedFields, which an apply may not have.
// For a typed object it also lacks a zero status, and nulls outside of free JSON: the Go type writes
// those although nobody set them.
func applyBody(o object.Object, gvk schema.GroupVersionKind) ([]byte, error) {
	body, _, err := wire.Encode(o, gvk, wire.JSON)
	if err != nil {
		return nil, err
	}
	m, err := decodeMap(body)
	if err != nil {
		return nil, err
	}
	if md, ok := m["metadata"].(map[string]any); ok {
		delete(md, "managedFields")
	}
	if formOf(o) == typed {
		if s := reflect.ValueOf(o).Elem().FieldByName("Status"); s.IsValid() && s.IsZero() {
			delete(m, "status")
		}
	}
	if formOf(o) != unstructuredForm {
		sparse.Nulls(o, m)
	}
	return json.Marshal(m)
}

// onlyIfAbsent is the body of an apply that changes no existing object.
func onlyIfAbsent(body []byte) ([]byte, error) {
	m, err := decodeMap(body)
	if err != nil {
		return nil, err
	}
	md, ok := m["metadata"].(map[string]any)
	if !ok {
		return nil, errNoMetadata
	}
	md["resourceVersion"] = absentVersion
	return json.Marshal(m)
}

var errNoMetadata = errors.New("the object has no metadata")

var errStatusOnly = errors.New("a Status where an object was asked for")

var errNoVersionInfo = errors.New("the answer is not that of a Kubernetes API server")
