package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	restful "github.com/emicklei/go-restful/v3"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/capabilities"
	kubernetesroutes "k8s.io/kubernetes/pkg/routes"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// maxBody is the limit of the real server, 3 MB.
const maxBody = 3 * 1024 * 1024

// api answers requests. It is safe for concurrent use.
type api struct {
	container *restful.Container
	infos     *request.RequestInfoFactory
	services  allocations
	evictions callLock
	tokens    callLock // of questions about tokens
	custom    *customResources
	groups    []builtin
	// schemas serves the OpenAPI documents of the built-in groups. They are made when somebody asks for one.
	schemas func() http.Handler
	builtin map[string]bool // the names of the groups; that of the core group is "core"
}

// builtin is one version of a built-in group, and its resources in discovery.
type builtin struct {
	group     group
	version   groupVersion
	resources []apidiscoveryv2.APIResourceDiscovery
}

// requestTimeout and watchTimeout bound the real handlers. Here these end long before: a watch is empty.
const (
	requestTimeout = time.Minute
	watchTimeout   = 30 * time.Minute
)

// newAPI installs the handlers of all resources.
func newAPI() (*api, error) {
	if err := understandShards(); err != nil {
		return nil, err
	}
	capabilities.Setup(true, 0) // privileged containers are allowed, as by --allow-privileged of the control plane
	a := &api{
		container: newContainer(),
		builtin:   map[string]bool{"core": true},
		infos:     &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
	}
	t := &table{services: &a.services, evictions: &a.evictions, tokens: &a.tokens, inner: a.inner}
	groups, err := t.groups()
	if err != nil {
		return nil, err
	}
	admit, err := newAdmission(a)
	if err != nil {
		return nil, err
	}
	a.custom = newCustomResources(t, admit, metadataModels)
	d := newDocuments()
	equivalents := runtime.NewEquivalentResourceRegistryWithIdentity(keyPrefix)
	for _, g := range groups {
		converter := &lazyConverter{group: g}
		for _, v := range g.versions {
			resources, err := a.install(g, v, admit, converter, equivalents)
			if err != nil {
				return nil, fmt.Errorf("%s/%s: %w", g.name, v.name, err)
			}
			d.add(g, v, resources)
			a.groups = append(a.groups, builtin{g, v, resources})
		}
		if g.name != "" {
			a.builtin[g.name] = true
		}
	}
	d.serve(a.container)
	kubernetesroutes.NewOpenIDMetadataServer(issuerMetadata{&a.tokens}).Install(a.container)
	a.schemas = sync.OnceValue(func() http.Handler {
		m := mux.NewPathRecorderMux("openapi")
		routes.OpenAPI{V3Config: openAPI()}.InstallV3(a.container, m)
		return m
	})
	return a, nil
}

// newContainer returns a container whose errors are those of the real server.
func newContainer() *restful.Container {
	c := restful.NewContainer()
	c.Router(restful.CurlyRouter{})
	c.RecoverHandler(func(cause any, w http.ResponseWriter) {
		http.Error(w, fmt.Sprintf("rules: panic: %v", cause), http.StatusInternalServerError)
	})
	c.ServiceErrorHandler(func(e restful.ServiceError, req *restful.Request, resp *restful.Response) {
		err := apierrors.NewGenericServerResponse(e.Code, "", schema.GroupResource{}, "", e.Message, 0, false)
		responsewriters.ErrorNegotiated(err, legacyscheme.Codecs, schema.GroupVersion{}, resp, req.Request)
	})
	return c
}

// install adds the handlers of one version of a group.
func (a *api) install(g group, v groupVersion, admit admissionChain, converter *lazyConverter, equivalents runtime.EquivalentResourceRegistry) ([]apidiscoveryv2.APIResourceDiscovery, error) {
	root := "/apis"
	if g.name == "" {
		root = "/api"
	}
	served := map[string][]string{}
	for _, other := range g.versions {
		for r := range other.storage {
			served[r] = append(served[r], schema.GroupVersion{Group: g.name, Version: other.name}.String())
		}
	}
	gv := &endpoints.APIGroupVersion{
		Storage: v.storage, Root: root, GroupVersion: schema.GroupVersion{Group: g.name, Version: v.name}, AllServedVersionsByResource: served,
		OptionsExternalVersion: &schema.GroupVersion{Version: "v1"},
		Serializer:             legacyscheme.Codecs, ParameterCodec: legacyscheme.ParameterCodec,
		Typer: legacyscheme.Scheme, Creater: legacyscheme.Scheme, Convertor: legacyscheme.Scheme, ConvertabilityChecker: legacyscheme.Scheme,
		UnsafeConvertor: runtime.UnsafeObjectConvertor(legacyscheme.Scheme), Defaulter: legacyscheme.Scheme, Namer: runtime.Namer(meta.NewAccessor()),
		TypeConverter: converter, EquivalentResourceRegistry: equivalents, Authorizer: mayDo, Admit: admit,
		MinRequestTimeout: watchTimeout, MaxRequestBodyBytes: maxBody,
	}
	resources, _, err := gv.InstallREST(a.container)
	return resources, err
}

// answer answers one request.
func (a *api) answer(req *Request) *Answer {
	if req.Protocol {
		return &Answer{Code: http.StatusOK, Body: []byte(Protocol())}
	}
	deepen()
	c := newCall(req)
	w := &response{header: http.Header{}}
	var warnings warnings
	r, err := httpRequest(c)
	if err == nil {
		err = a.serve(w, r, c, &warnings)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil { // it may come from what is missing
		return &Answer{Code: http.StatusInternalServerError, ContentType: "text/plain", Body: []byte("rules: " + err.Error()), Missing: c.missingKeys(), Calls: c.hooks.missing}
	}
	body := c.hooks.replaceUIDs(w.body.Bytes())
	if w.code == http.StatusUnprocessableEntity || w.code == http.StatusConflict {
		body = inOrder(body, w.header.Get("Content-Type"), !a.builtin[groupOf(r.URL.Path)])
	}
	if w.code == http.StatusForbidden && c.generated != "" {
		body = unnamed(body, w.header.Get("Content-Type"), c.generated)
	}
	if w.code == 0 { // nothing was written, and then the real server forgets the headers
		w.header = http.Header{}
	}
	if w.code == http.StatusConflict {
		body = withRealKeys(body)
	}
	if len(c.writes) == 0 { // a dry run
		body = c.replaceUID(body)
		if w.header.Get("Content-Type") == runtime.ContentTypeProtobuf && r.Method != http.MethodGet {
			body = c.replaceSeconds(body)
		}
		if w.header.Get("Content-Type") == runtime.ContentTypeJSON && r.Method != http.MethodGet {
			var known []byte
			for _, o := range c.req.Objects {
				known = append(known, o...)
			}
			body = c.replaceTimes(body, known)
		}
	}
	return &Answer{Code: max(w.code, http.StatusOK), ContentType: w.header.Get("Content-Type"), RetryAfter: w.header.Get("Retry-After"), Warnings: warnings.texts, Header: w.otherHeader(),
		Body: body, Writes: c.writes, Missing: c.missingKeys(), List: c.list, Fields: c.fields, User: c.as, Calls: c.hooks.missing}
}

// groupOf returns the API group of a path in the form of keys: that of the core group is "core".
func groupOf(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) < 2 || parts[0] != "apis" {
		return "core"
	}
	return parts[1]
}

// serve runs the real handler.
func (a *api) serve(w *response, r *http.Request, c *call, recorder *warnings) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			klog.ErrorS(err, "A handler panicked", "method", c.req.Method, "url", c.req.URL, "stack", string(debug.Stack()))
		}
	}()
	for name, value := range map[string]string{"Content-Type": c.req.ContentType, "Accept": c.req.Accept, "User-Agent": c.req.UserAgent} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if c.req.Bootstrap {
		return a.bootstrap(c)
	}
	if c.req.Impersonate != nil {
		return a.impersonate(w, r, c)
	}
	if other, err := a.refuseOther(w, r, c); other || err != nil {
		return err
	}
	if err := a.dispatch(w, r, c, userOf(c.req), recorder); err != nil {
		return err
	}
	if c.req.Restore {
		return nil
	}
	if err := a.define(c); err != nil {
		return err
	}
	if err := a.register(c); err != nil {
		return err
	}
	return a.dangle(c)
}

// dispatch runs the handler of a resource or a document. Requests of the server itself pass here, too.
func (a *api) dispatch(w http.ResponseWriter, r *http.Request, c *call, who user.Info, recorder *warnings) error {
	info, err := a.infos.NewRequestInfo(r)
	if err != nil {
		return err
	}
	if info.Resource == "services" {
		defer a.services.acquire(c)()
	}
	if info.Resource == "tokenreviews" || info.Path == serviceaccount.OpenIDConfigPath || info.Path == serviceaccount.JWKSPath {
		defer a.tokens.acquire(c)()
	}
	if info.Subresource == "eviction" {
		defer a.evictions.acquire(c)()
	}
	if text := r.URL.Query().Get("timeout"); text != "" && info.Verb != "watch" {
		if _, err := time.ParseDuration(text); err != nil {
			err := apierrors.NewBadRequest("invalid timeout specified in the request URL - " + err.Error())
			responsewriters.ErrorNegotiated(err, legacyscheme.Codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
			return nil
		}
	}
	ctx := context.WithValue(context.Background(), callKey{}, c)
	ctx = request.WithRequestInfo(ctx, info)
	ctx = request.WithUser(ctx, who)
	ctx = audit.WithAuditContext(ctx)
	ctx = warning.WithWarningRecorder(ctx, recorder)
	h, err := a.route(c, info)
	if err != nil {
		return err
	}
	h.ServeHTTP(w, r.WithContext(ctx))
	return nil
}

// route returns the handler of a path.
func (a *api) route(c *call, info *request.RequestInfo) (http.Handler, error) {
	switch below := strings.HasPrefix(info.Path, "/apis"); {
	case info.Path == hashPath && c.req.User == "": // not of a client
		return http.HandlerFunc(templateHash), nil
	case info.Path == openAPI2Path:
		return openAPI2(), nil
	case info.Path == openAPIPath || strings.HasPrefix(info.Path, openAPIPath+"/"):
		d, err := a.custom.documents(c, a.groups)
		if err != nil {
			return nil, err
		}
		return a.openAPI(d, info.Path)
	case info.Path == "/" || info.Path == "/index.html" || info.Path == "/apis" || info.Path == "/apis/":
		d, err := a.custom.documents(c, a.groups)
		if err != nil {
			return nil, err
		}
		return d.above(info.Path), nil
	case below && !info.IsResourceRequest:
		d, err := a.custom.documents(c, a.groups)
		if err != nil {
			return nil, err
		}
		if h := d.handler(info.Path); h != nil {
			return h, nil
		}
	case below && !a.builtin[info.APIGroup]:
		d, err := a.custom.of(c, info)
		if err != nil {
			return nil, err
		}
		if d != nil {
			return a.custom.handler(d)
		}
	}
	if !a.serves(info.Path) {
		return http.HandlerFunc(http.NotFound), nil
	}
	return http.HandlerFunc(a.container.Dispatch), nil // that of ServeHTTP redirects paths that are not clean
}

// serves reports whether a path belongs to the API. For other paths errors are plain text and no Status.
func (a *api) serves(path string) bool {
	for _, ws := range a.container.RegisteredWebServices() {
		rest, ok := strings.CutPrefix(path, ws.RootPath())
		switch below := strings.HasPrefix(rest, "/"); {
		case !ok:
		case ws.RootPath() == "/apis":
			if rest == "" || rest == "/" {
				return true
			}
		case rest == "" || below:
			return true
		}
	}
	return false
}
