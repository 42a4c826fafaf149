package core

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// roleKeys begins the keys of roles and bindings.
const roleKeys = "/rbac.authorization.k8s.io/"

// masters are the users who may do everything.
const masters = "system:masters"

// attributes are the parts of a request on which permission to make it depends.
type attributes struct {
	verb string
	target
	path string // of a request that is about no resource
}

// String describes the access as rules do. See [rules.Request.Granted].
func (a attributes) String() string {
	if a.resource == "" {
		return rules.PathAccess(a.verb, a.path)
	}
	return rules.Access(a.verb, a.group, a.resource, a.subresource, a.namespace, a.name)
}

// attributes returns the attributes of a request, derived from its path as the real server does.
func (r Request) attributes() attributes {
	a := attributes{target: parsePath(r.URL)}
	if a.resource == "" {
		return attributes{verb: strings.ToLower(r.Method), path: unescaped(r.URL)}
	}
	if a.resource == "namespaces" && a.namespace == "" {
		a.namespace = a.name
	}
	a.verb = verbs[r.Method]
	switch {
	case a.special != "":
		a.verb = a.special
	case a.verb == "delete" && a.name == "":
		a.verb = "deletecollection"
	case a.verb == "get" && a.name == "":
		a.verb = "list"
		_, query, _ := strings.Cut(r.URL, "?")
		params, _ := url.ParseQuery(query) // what can be read counts
		if w := params.Get("watch"); w != "" && w != "0" && !strings.EqualFold(w, "false") {
			a.verb = "watch"
		}
		if selector, err := fields.ParseSelector(params.Get("fieldSelector")); err == nil {
			if name, ok := selector.RequiresExactMatch("metadata.name"); ok && isSegment(name) {
				a.name = name
			}
		}
	}
	return a
}

// isSegment reports whether a name can be one segment of a path.
func isSegment(name string) bool {
	return name != "." && name != ".." && !strings.ContainsAny(name, "/%")
}

// verbs has the verbs of methods. Other methods have none, and only a role for all verbs allows them.
var verbs = map[string]string{
	http.MethodPost: "create", http.MethodGet: "get", http.MethodHead: "get", http.MethodPut: "update",
	http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// anyName is a name that no object has. A user who may do something to it may do so to all names.
const anyName = "any name"

// decision is the answer to a question about access. as is the impersonated user, if there is one.
type decision struct {
	allowed bool
	reason  string
	as      *rules.User
}

// guards reports whether a request needs roles that allow it.
func (v View) guards(req Request) bool { return v.rbac && !slices.Contains(req.Groups, masters) }

// Authorize returns nil if the user of a request may make it, else the answer that refuses it. Without RBAC everybody
// may.
func (v View) Authorize(now time.Time, req Request) *Answer {
	if !v.guards(req) {
		return nil
	}
	a := req.attributes()
	general := a
	if a.name != "" {
		general.name = anyName
		if general.resource == "namespaces" {
			general.namespace = a.namespace
		}
	}
	d, err := v.decide(now, req, general)
	if err == nil && !d.allowed && a.name != "" {
		d, err = v.decide(now, req, a)
	}
	if err != nil {
		refused := failed(req, err)
		return &refused
	}
	if d.allowed {
		return nil
	}
	refused := forbidden(req, a, d.reason).answer(req)
	refused.Header = map[string]string{"X-Content-Type-Options": "nosniff"}
	return &refused
}

// markup escapes HTML in the texts of refusals, as the real server does.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// forbidden returns the error for a request that its user may not make, in the words of the real server.
func forbidden(req Request, a attributes, reason string) *failure {
	what := fmt.Sprintf("path %q", a.path)
	if a.resource != "" {
		what = fmt.Sprintf("resource %q in API group %q at the cluster scope", strings.TrimSuffix(a.resource+"/"+a.subresource, "/"), a.group)
		if a.namespace != "" {
			what = strings.TrimSuffix(what, "at the cluster scope") + fmt.Sprintf("in the namespace %q", a.namespace)
		}
	}
	text := markup.Replace(fmt.Sprintf("User %q cannot %s %s", req.User, a.verb, what))
	if reason != "" {
		text += ": " + reason
	}
	status := apierrors.NewForbidden(schema.GroupResource{Group: a.group, Resource: a.resource}, a.name, fmt.Errorf("%s", text)).ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &failure{status}
}

// decide decides whether the user of a request may do something. It asks rules for decisions that are not
// remembered.
func (v View) decide(now time.Time, req Request, a attributes) (decision, error) {
	a.version = ""
	key := fmt.Sprintf("%q %q %q", req.User, req.Groups, a)
	if d, ok := v.memory.decision(v.roles, key); ok {
		return d, nil
	}
	review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: req.User, Groups: req.Groups}}
	if a.resource == "" {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.path, Verb: a.verb}
	} else {
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Verb: a.verb, Group: a.group, Resource: a.resource, Subresource: a.subresource, Namespace: a.namespace, Name: a.name}
	}
	answer, _, err := v.review(now, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &review)
	if err != nil {
		return decision{}, err
	}
	// Not into review: it has the groups of the request, which others read.
	var decided authorizationv1.SubjectAccessReview
	if err := json.Unmarshal(answer, &decided); err != nil {
		return decision{}, err
	}
	d := decision{allowed: decided.Status.Allowed, reason: decided.Status.Reason}
	v.memory.decided(v.roles, key, d)
	return d, nil
}

// review asks rules by a request of the server itself. It returns the body of the answer, and the objects on which it
// depends.
func (v View) review(now time.Time, path string, question any) (answer []byte, objects map[string]json.RawMessage, err error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, nil, err
	}
	req := Request{Method: http.MethodPost, URL: path, ContentType: contentJSON, User: "system:apiserver", Groups: []string{masters}, Body: body}
	call := v.call(now, req, parsePath(path))
	a, err := v.ask(call)
	if err != nil {
		return nil, nil, err
	}
	if a.Code != http.StatusCreated {
		return nil, nil, fmt.Errorf("%s: %d %s", path, a.Code, a.Body)
	}
	return a.Body, call.Objects, nil
}
