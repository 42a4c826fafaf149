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
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
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
	if op.Verb == verbDeleteAll {
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
	if op.Verb == verbDeleteAll {
		return nil, w.readDeleted(resp)
	}
	raw, ok, err := w.read(resp)
	if err != nil || !ok {
		return nil, err
	}
	out := newLike(w.answer)
	if err := raw.Decode(out); err != nil {
		return nil, err
	}
	if !op.DryRun {
		c.originals.note(raw, out)
	}
	return out, nil
}

// plan is a write that was checked and has a target.
type plan struct {
	op     *Op
	target *target
	// answer has the kind and the form of the answer: it is the body, or the object.
	answer object.Object
	kind   *wire.Kind
}

func (c *Live) plan(ctx context.Context, op *Op) (*plan, error) {
	verb := op.Verb
	gvk, err := kindOf(verb, c.scheme, op.Object, op.Select.Kind)
	if err != nil {
		return nil, err
	}
	p := &plan{op: op, answer: op.Object}
	answered := gvk
	if op.Body != nil {
		p.answer = op.Body
		if answered, err = kindOf(verb, c.scheme, op.Body, schema.GroupVersionKind{}); err != nil {
			return nil, err
		}
	}
	p.kind = c.wireKind(answered, p.answer)
	sends := op.Verb == verbCreate || op.Verb == verbUpdate || op.Verb == verbApply
	if sends {
		if err := checkText(p.answer); err != nil {
			return nil, fmt.Errorf("%s %s: %w", verb, gvk.Kind, err)
		}
		if formOf(p.answer) == metadataForm && op.Verb != verbApply {
			return nil, &ArgumentError{Call: Call{Verb: op.Verb}, Argument: "Object", Problem: "is metadata only: it would lose everything else; use a patch"}
		}
	}
	if op.Verb == verbApply && op.Owner == "" {
		return nil, &ArgumentError{Call: Call{Verb: op.Verb}, Argument: "Owner", Problem: "is empty"}
	}
	key := object.KeyOf(op.Object)
	all := false
	switch {
	case op.Verb == verbDeleteAll:
		key, all = object.Key{Namespace: op.Select.Namespace}, true
	case key.Name == "" && !(op.Verb == verbCreate && op.Subresource == "" && (op.Object.GetGenerateName() != "" || isReview(gvk))):
		return nil, badKey(verb, gvk, key, "name is empty")
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
	r := &request{call: p.target.call, path: p.target.path(), query: p.query(), accept: accept(p.kind, encodingFor(p.answer), op.Verb, plain)}
	var err error
	switch op.Verb {
	case verbCreate:
		r.method = http.MethodPost
		if op.Subresource == "" && p.target.call.Key.Name != "" {
			r.path = r.path[:len(r.path)-1]
		}
	case verbUpdate:
		r.method = http.MethodPut
	case verbPatch:
		r.method, r.body, r.contentType = http.MethodPatch, op.Patch.data, string(op.Patch.kind)
		return r, nil
	case verbApply:
		r.method, r.contentType = http.MethodPatch, string(types.ApplyYAMLPatchType)
		r.body, err = applyBody(p.answer, p.kind.GVK, op.IfAbsent)
		return r, err
	case verbDelete, verbDeleteAll:
		r.method, r.contentType = http.MethodDelete, wire.ContentTypeJSON
		r.body, err = op.deleteBody()
		return r, err
	}
	enc := wire.JSON
	if !plain {
		enc = encodingFor(p.answer)
	}
	r.body, r.contentType, err = wire.Encode(p.answer, p.kind.GVK, enc)
	return r, err
}

func (p *plan) query() url.Values {
	op, q := p.op, url.Values{}
	switch op.Verb { // the other options of a delete are in the body
	case verbDelete:
		return q
	case verbDeleteAll:
		return selectorQuery(&op.Select.Selection)
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
	case op.Verb == verbApply:
		q.Set("fieldValidation", metav1.FieldValidationStrict)
	}
	return q
}

func (op *Op) deleteBody() ([]byte, error) {
	o := op.Delete
	o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	if op.DryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	return json.Marshal(o)
}

// applyBody is the object as an apply configuration. It lacks managedFields, which an apply may not have.
// For a typed object it also lacks a zero status, and nulls outside of free JSON: the Go type writes
// those although nobody set them. With ifAbsent it changes no existing object.
func applyBody(o object.Object, gvk schema.GroupVersionKind, ifAbsent bool) ([]byte, error) {
	body, _, err := wire.Encode(o, gvk, wire.JSON)
	if err != nil {
		return nil, err
	}
	m, err := sparse.Parse(body)
	if err != nil {
		return nil, err
	}
	md, ok := m["metadata"].(map[string]any)
	delete(md, "managedFields")
	switch {
	case ifAbsent && !ok:
		return nil, errNoMetadata
	case ifAbsent:
		md["resourceVersion"] = absentVersion
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

var errNoMetadata = errors.New("the object has no metadata")

var errStatusOnly = errors.New("a Status where an object was asked for")

var errNoVersionInfo = errors.New("the answer is not that of a Kubernetes API server")
