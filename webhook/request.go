package webhook

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/webhook/internal/review"
)

// Request is one admission request. Handlers must not change it.
type Request struct {
	// UID identifies the review, not the object.
	UID types.UID
	// Operation is Create, Update, Delete or Connect.
	Operation admissionv1.Operation
	// Kind and Resource are those that the webhook is registered for. SubResource is empty for the
	// object itself. If the client used another version, the API server has converted the object.
	Kind        schema.GroupVersionKind
	Resource    schema.GroupVersionResource
	SubResource string
	// RequestKind, RequestResource and RequestSubResource are those of the client's original
	// request.
	RequestKind        schema.GroupVersionKind
	RequestResource    schema.GroupVersionResource
	RequestSubResource string
	// Name is empty if the API server will generate it. Namespace is empty for cluster-scoped
	// objects.
	Name, Namespace string
	// UserInfo identifies the user that sent the request.
	UserInfo authenticationv1.UserInfo
	// DryRun is set if nothing will be stored. The handler must then have no side effects.
	DryRun bool

	// Object is the new object and OldObject the stored one. Options are the options of the
	// request, such as CreateOptions. All three are JSON, or nil if absent. They point into a
	// buffer that is reused after the handler returns: copy what must live longer.
	Object, OldObject, Options []byte

	version  string // of the review: v1 or v1beta1
	warnings []string
}

type requestKey struct{}

// requestContext is a context that carries its request.
type requestContext struct {
	context.Context
	req *Request
}

func (c *requestContext) Value(key any) any {
	if key == (requestKey{}) {
		return c.req
	}
	return c.Context.Value(key)
}

// RequestFrom returns the request that the handler is serving, for its UID, user or dry run. It
// returns nil if ctx does not come from a handler of this package.
func RequestFrom(ctx context.Context) *Request {
	req, _ := ctx.Value(requestKey{}).(*Request)
	return req
}

// Warn adds a warning to the answer; kubectl shows it to its user. The API server truncates
// warnings at 256 characters. ctx must come from a handler of this package. Call Warn on the
// handler's goroutine, before the handler returns.
func Warn(ctx context.Context, text string) {
	if req := RequestFrom(ctx); req != nil {
		req.warnings = append(req.warnings, text)
	}
}

const (
	reviewKind = "AdmissionReview"
	group      = "admission.k8s.io/"
)

// parse reads a review. The refusal carries the UID if it was read.
func (req *Request) parse(body []byte, known schema.GroupVersionKind) (no *review.RefusalError) {
	var uid string
	req.version, no = review.Parse(body, group, reviewKind, &uid, func(r *review.Reader) error { return req.read(r, &uid, known) })
	req.UID = types.UID(uid)
	if no != nil {
		return no
	}
	switch req.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect:
		return nil
	}
	return review.Unanswerable(uid, reviewKind, fmt.Errorf("unknown operation %q", review.Clip(string(req.Operation))))
}

var fields = []string{"uid", "kind", "resource", "subResource", "requestKind", "requestResource", "requestSubResource",
	"name", "namespace", "operation", "userInfo", "object", "oldObject", "dryRun", "options"}

// read reads the member request. Strings equal to the parts of the known kind are not allocated.
func (req *Request) read(r *review.Reader, uid *string, known schema.GroupVersionKind) error {
	return r.Fields(fields, func(i int) (err error) {
		switch fields[i] {
		case "uid":
			*uid, err = r.String()
		case "kind":
			err = readType(r, known, "kind", &req.Kind.Group, &req.Kind.Version, &req.Kind.Kind)
		case "resource":
			err = readType(r, known, "resource", &req.Resource.Group, &req.Resource.Version, &req.Resource.Resource)
		case "subResource":
			req.SubResource, err = r.String("status", "scale")
		case "requestKind":
			err = readType(r, known, "kind", &req.RequestKind.Group, &req.RequestKind.Version, &req.RequestKind.Kind)
		case "requestResource":
			err = readType(r, known, "resource", &req.RequestResource.Group, &req.RequestResource.Version, &req.RequestResource.Resource)
		case "requestSubResource":
			req.RequestSubResource, err = r.String("status", "scale")
		case "name":
			req.Name, err = r.String()
		case "namespace":
			req.Namespace, err = r.String("default")
		case "operation":
			var op string
			op, err = r.String("CREATE", "UPDATE", "DELETE", "CONNECT")
			req.Operation = admissionv1.Operation(op)
		case "userInfo":
			err = readUser(r, &req.UserInfo)
		case "object":
			req.Object, err = r.Raw()
		case "oldObject":
			req.OldObject, err = r.Raw()
		case "dryRun":
			req.DryRun, err = r.Bool()
		case "options":
			req.Options, err = r.Raw()
		}
		return err
	})
}

// readType reads a kind or a resource, whose name is in this member.
func readType(r *review.Reader, known schema.GroupVersionKind, member string, group, version, name *string) error {
	return r.Object(func(m []byte) (err error) {
		switch string(m) {
		case "group":
			*group, err = r.String(known.Group)
		case "version":
			*version, err = r.String(known.Version)
		case member:
			*name, err = r.String(known.Kind)
		default:
			err = r.Skip()
		}
		return err
	})
}

func readUser(r *review.Reader, into *authenticationv1.UserInfo) error {
	return r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "username":
			into.Username, err = r.String()
		case "uid":
			into.UID, err = r.String()
		case "groups":
			into.Groups, err = readStrings(r, "system:authenticated", "system:masters", "system:serviceaccounts")
		case "extra":
			err = r.Object(func(name []byte) error {
				key := string(name)
				values, err := readStrings(r)
				if into.Extra == nil {
					into.Extra = map[string]authenticationv1.ExtraValue{}
				}
				into.Extra[key] = values
				return err
			})
		default:
			err = r.Skip()
		}
		return err
	})
}

func readStrings(r *review.Reader, known ...string) (out []string, err error) {
	err = r.Array(func() error {
		s, err := r.String(known...)
		out = append(out, s)
		return err
	})
	return out, err
}
