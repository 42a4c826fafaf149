package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	maxUID     = 128
)

var (
	errNoRequest = errors.New("there is no request")
	errNoUID     = errors.New("the request has no uid")
)

// parse reads a review. The refusal carries the UID if it was read.
func (req *Request) parse(body []byte, known schema.GroupVersionKind) *review.RefusalError {
	var apiVersion, kind string
	var found bool
	err := review.Read(body, func(r *review.Reader) error {
		var twice review.Twice
		return r.Object(func(name []byte) (err error) {
			switch string(name) {
			case "apiVersion":
				if err = twice.See(0, name); err == nil {
					apiVersion, err = r.String(group+"v1", group+"v1beta1")
				}
				return review.In("apiVersion", err)
			case "kind":
				if err = twice.See(1, name); err == nil {
					kind, err = r.String(reviewKind)
				}
				return review.In("kind", err)
			case "request":
				if err = twice.See(2, name); err == nil {
					found, err = req.read(r, known)
				}
				return review.In("request", err)
			}
			return r.Skip()
		})
	})
	if len(req.UID) > maxUID {
		req.UID, err = "", fmt.Errorf("the uid has more than %d bytes", maxUID)
	}
	if err != nil {
		return review.Bad(string(req.UID), "the body is not an AdmissionReview", err)
	}
	version, ours := strings.CutPrefix(apiVersion, group)
	switch {
	case kind != reviewKind || !ours || version != "v1" && version != "v1beta1":
		err = fmt.Errorf("want %sv1 or v1beta1 AdmissionReview, got apiVersion %q, kind %q", group, clip(apiVersion), clip(kind))
	case !found:
		err = errNoRequest
	case req.UID == "":
		err = errNoUID
	default:
		switch req.Operation {
		case admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect:
			req.version = version
			return nil
		}
		err = fmt.Errorf("unknown operation %q", clip(string(req.Operation)))
	}
	return review.Bad(string(req.UID), "the AdmissionReview cannot be answered", err)
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}

// read reads the member request. Strings equal to the parts of the known kind are not allocated.
func (req *Request) read(r *review.Reader, known schema.GroupVersionKind) (found bool, err error) {
	var twice review.Twice
	err = r.Object(func(name []byte) (err error) {
		found = true
		field := -1
		set := func(n int) bool {
			field = n
			err = twice.See(n, name)
			return err == nil
		}
		switch string(name) {
		case "uid":
			if set(0) {
				var s string
				s, err = r.String()
				req.UID = types.UID(s)
			}
		case "kind":
			if set(1) {
				err = readKind(r, &req.Kind, known)
			}
		case "resource":
			if set(2) {
				err = readResource(r, &req.Resource, known)
			}
		case "subResource":
			if set(3) {
				req.SubResource, err = r.String("status", "scale")
			}
		case "requestKind":
			if set(4) {
				err = readKind(r, &req.RequestKind, known)
			}
		case "requestResource":
			if set(5) {
				err = readResource(r, &req.RequestResource, known)
			}
		case "requestSubResource":
			if set(6) {
				req.RequestSubResource, err = r.String("status", "scale")
			}
		case "name":
			if set(7) {
				req.Name, err = r.String()
			}
		case "namespace":
			if set(8) {
				req.Namespace, err = r.String("default")
			}
		case "operation":
			if set(9) {
				var s string
				s, err = r.String("CREATE", "UPDATE", "DELETE", "CONNECT")
				req.Operation = admissionv1.Operation(s)
			}
		case "userInfo":
			if set(10) {
				err = readUser(r, &req.UserInfo)
			}
		case "object":
			if set(11) {
				req.Object, err = r.Raw()
			}
		case "oldObject":
			if set(12) {
				req.OldObject, err = r.Raw()
			}
		case "dryRun":
			if set(13) {
				req.DryRun, err = r.Bool()
			}
		case "options":
			if set(14) {
				req.Options, err = r.Raw()
			}
		default:
			return r.Skip()
		}
		if err != nil {
			return review.In(fieldNames[field], err)
		}
		return nil
	})
	return found, err
}

var fieldNames = [...]string{"uid", "kind", "resource", "subResource", "requestKind", "requestResource", "requestSubResource",
	"name", "namespace", "operation", "userInfo", "object", "oldObject", "dryRun", "options"}

func readKind(r *review.Reader, into *schema.GroupVersionKind, known schema.GroupVersionKind) error {
	return r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "group":
			into.Group, err = r.String(known.Group)
		case "version":
			into.Version, err = r.String(known.Version)
		case "kind":
			into.Kind, err = r.String(known.Kind)
		default:
			err = r.Skip()
		}
		return err
	})
}

func readResource(r *review.Reader, into *schema.GroupVersionResource, known schema.GroupVersionKind) error {
	return r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "group":
			into.Group, err = r.String(known.Group)
		case "version":
			into.Version, err = r.String(known.Version)
		case "resource":
			into.Resource, err = r.String()
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
