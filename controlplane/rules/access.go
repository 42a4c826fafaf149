package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	rbacvalidation "k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

const rbacGroup = "rbac.authorization.k8s.io"

// access is an authorizer. It decides by the roles of the call in the context if the call has RBAC set, and allows
// everything otherwise.
type access struct {
	all interface {
		authorizer.Authorizer
		authorizer.RuleResolver
	}
	byRole authorizer.Authorizer
	rules  authorizer.RuleResolver
}

var (
	_ authorizer.Authorizer   = access{}
	_ authorizer.RuleResolver = access{}
)

// mayDo is the authorizer of all handlers. grants resolves the rules of a user, for the checks against escalation.
var (
	mayDo  = newAccess()
	grants = rbacvalidation.NewDefaultRuleResolver(stored, stored, stored, stored)
	stored = roles{asRequest: true}
)

func newAccess() access {
	byRole := rbac.New(roles{}, roles{}, roles{}, roles{})
	return access{
		all: authorizerfactory.NewAlwaysAllowAuthorizer(), rules: union.NewRuleResolvers(byRole),
		byRole: union.New(authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup), byRole),
	}
}

func (a access) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if callFrom(ctx).req.RBAC {
		return a.byRole.Authorize(ctx, attributes)
	}
	return a.all.Authorize(ctx, attributes)
}

func (a access) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	if callFrom(ctx).req.RBAC {
		return a.rules.RulesFor(ctx, u, namespace)
	}
	return a.all.RulesFor(ctx, u, namespace)
}

// expressionAccess is the authorizer of CEL expressions. Expressions pass no context. The call comes from the lock.
type expressionAccess struct{ lock *callLock }

func (e expressionAccess) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	return mayDo.Authorize(context.WithValue(ctx, callKey{}, e.lock.call), attributes)
}

// roles reads the roles and bindings of the call in the context.
type roles struct {
	// asRequest makes a NotFound name the resource of the request, as the real registry does, and not that of the
	// missing role.
	asRequest bool
}

func (r roles) GetRole(ctx context.Context, namespace, name string) (*rbacv1.Role, error) {
	return roleObject[rbacv1.Role](ctx, r, "roles", namespace+"/"+name, name)
}

func (r roles) GetClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	return roleObject[rbacv1.ClusterRole](ctx, r, "clusterroles", name, name)
}

func (roles) ListRoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	return roleObjects[rbacv1.RoleBinding](ctx, "rolebindings/"+namespace+"/")
}

func (roles) ListClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return roleObjects[rbacv1.ClusterRoleBinding](ctx, "clusterrolebindings/")
}

func roleObject[T any](ctx context.Context, r roles, resource, key, name string) (*T, error) {
	text := callFrom(ctx).get("/" + rbacGroup + "/" + resource + "/" + key)
	if text == nil {
		kind := strings.TrimSuffix(resource, "s")
		if info, ok := request.RequestInfoFrom(ctx); ok && r.asRequest {
			kind = info.Resource
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource(kind), name)
	}
	return decoded[T](text)
}

func roleObjects[T any](ctx context.Context, prefix string) ([]*T, error) {
	var out []*T
	for _, text := range callFrom(ctx).under("/" + rbacGroup + "/" + prefix) {
		o, err := decoded[T](text)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// known remembers decoded objects by their text. Nobody changes them.
var known struct {
	sync.Mutex
	objects map[string]any
}

// maxKnown bounds the objects in known.
const maxKnown = 4096

// decoded returns the object of a stored text. Callers share it and must not change it.
func decoded[T any](text json.RawMessage) (*T, error) {
	known.Lock()
	defer known.Unlock()
	if o, ok := known.objects[string(text)].(*T); ok {
		return o, nil
	}
	o := new(T)
	if err := json.Unmarshal(text, o); err != nil {
		return nil, err
	}
	if known.objects == nil || len(known.objects) >= maxKnown {
		known.objects = map[string]any{}
	}
	known.objects[string(text)] = o
	return o, nil
}

// userOf returns the user of a request.
func userOf(req *Request) *user.DefaultInfo {
	return &user.DefaultInfo{Name: req.User, UID: req.UserUID, Groups: req.Groups, Extra: req.Extra}
}

// errOtherAccess refuses a request that core has read as another one: nobody has allowed what it is.
var errOtherAccess = errors.New("the path is not clean")

// refuseOther answers a request that core has read as another one, and reports whether it did.
func (a *api) refuseOther(w http.ResponseWriter, r *http.Request, c *call) (bool, error) {
	info, err := a.infos.NewRequestInfo(r)
	if err != nil || c.req.Granted == "" || c.req.Granted == accessOf(info) {
		return false, err
	}
	err = apierrors.NewForbidden(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, errOtherAccess)
	responsewriters.ErrorNegotiated(err, legacyscheme.Codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
	return true, nil
}

// accessOf describes the access that a request needs. See [Request.Granted].
func accessOf(info *request.RequestInfo) string {
	if !info.IsResourceRequest {
		return PathAccess(info.Verb, info.Path)
	}
	return Access(info.Verb, info.APIGroup, info.Resource, info.Subresource, info.Namespace, info.Name)
}

// impersonate answers a request that has impersonation headers: by the user that it is made as, or by the error of
// the real filter. It does not make the request.
func (a *api) impersonate(w http.ResponseWriter, r *http.Request, c *call) error {
	info, err := a.infos.NewRequestInfo(r)
	if err != nil {
		return err
	}
	for name, values := range c.req.Impersonate {
		r.Header[name] = values
	}
	ctx := context.WithValue(r.Context(), callKey{}, c)
	ctx = request.WithUser(request.WithRequestInfo(ctx, info), userOf(c.req))
	end := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if u, ok := request.UserFrom(r.Context()); ok {
			c.as = &User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}
		}
	})
	// The filter remembers what it has allowed, so that each call needs one of its own.
	impersonation.WithConstrainedImpersonation(end, mayDo, legacyscheme.Codecs).ServeHTTP(w, r.WithContext(ctx))
	return nil
}
