package main

import (
	"bytes"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// maxBody is the limit of the real server, 3 MB.
const maxBody = 3 * 1024 * 1024

// api answers requests. It is safe for concurrent use.
type api struct {
	container *restful.Container
	infos     *request.RequestInfoFactory
	services  allocations
}

// newAPI installs the handlers of all resources.
func newAPI() (*api, error) {
	a := &api{
		container: restful.NewContainer(),
		infos:     &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
	}
	a.container.Router(restful.CurlyRouter{})
	a.container.RecoverHandler(func(cause any, w http.ResponseWriter) {
		http.Error(w, fmt.Sprintf("rules: panic: %v", cause), http.StatusInternalServerError)
	})
	a.container.ServiceErrorHandler(func(e restful.ServiceError, req *restful.Request, resp *restful.Response) {
		err := apierrors.NewGenericServerResponse(e.Code, "", schema.GroupResource{}, "", e.Message, 0, false)
		responsewriters.ErrorNegotiated(err, legacyscheme.Codecs, schema.GroupVersion{}, resp, req.Request)
	})
	groups, err := newGroups(&a.services)
	if err != nil {
		return nil, err
	}
	admit, err := newAdmission()
	if err != nil {
		return nil, err
	}
	d := newDocuments()
	equivalents := runtime.NewEquivalentResourceRegistry()
	for _, g := range groups {
		converter := &lazyConverter{group: g}
		for _, v := range g.versions {
			resources, err := a.install(g, v, admit, converter, equivalents)
			if err != nil {
				return nil, fmt.Errorf("%s/%s: %w", g.name, v.name, err)
			}
			d.add(g, v, resources)
		}
	}
	d.serve(a.container)
	return a, nil
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
		TypeConverter: converter, EquivalentResourceRegistry: equivalents, Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer(), Admit: admit,
		MinRequestTimeout: 30 * time.Minute, MaxRequestBodyBytes: maxBody,
	}
	resources, _, err := gv.InstallREST(a.container)
	return resources, err
}

// answer answers one request.
func (a *api) answer(req *Request) *Answer {
	c := newCall(req)
	w := &response{header: http.Header{}}
	var warnings warnings
	r, err := http.NewRequest(req.Method, req.URL, bytes.NewReader(req.Body))
	if err == nil {
		err = a.serve(w, r, c, &warnings)
	}
	if err != nil {
		return &Answer{Code: http.StatusInternalServerError, ContentType: "text/plain", Body: []byte("rules: " + err.Error())}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	body := w.body.Bytes()
	if len(c.writes) == 0 { // a dry run
		body = c.settleUID(body)
		if w.header.Get("Content-Type") == runtime.ContentTypeJSON && r.Method != http.MethodGet {
			var known []byte
			for _, o := range c.req.Objects {
				known = append(known, o...)
			}
			body = c.settleTimes(body, known)
		}
	}
	return &Answer{Code: max(w.code, http.StatusOK), ContentType: w.header.Get("Content-Type"), RetryAfter: w.header.Get("Retry-After"), Warnings: warnings.texts,
		Body: body, Writes: c.writes, Missing: c.asked(), List: c.list}
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
	info, err := a.infos.NewRequestInfo(r)
	if err != nil {
		return err
	}
	if info.Resource == "services" {
		defer a.services.begin(c)()
	}
	ctx := context.WithValue(context.Background(), callKey{}, c)
	ctx = request.WithRequestInfo(ctx, info)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: c.req.User, Groups: c.req.Groups})
	ctx = audit.WithAuditContext(ctx)
	ctx = warning.WithWarningRecorder(ctx, recorder)
	if !a.serves(r.URL.Path) {
		http.NotFound(w, r)
		return nil
	}
	a.container.ServeHTTP(w, r.WithContext(ctx))
	return nil
}

// serves reports whether a path belongs to the API. Errors about others are no objects.
func (a *api) serves(path string) bool {
	for _, ws := range a.container.RegisteredWebServices() {
		rest, ok := strings.CutPrefix(path, ws.RootPath())
		switch below := strings.HasPrefix(rest, "/"); {
		case !ok:
		case ws.RootPath() == "/api", ws.RootPath() == "/apis":
			if rest == "" || rest == "/" {
				return true
			}
		case rest == "" || below:
			return true
		}
	}
	return false
}

// warnings collects the warnings of one request.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) AddWarning(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// response collects what a handler writes.
type response struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}

func (r *response) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

// documents are the discovery documents, of both forms, and the version.
type documents struct {
	core, named aggregated.ResourceManager
	coreVersion []string
	groups      []metav1.APIGroup
}

func newDocuments() *documents {
	return &documents{core: aggregated.NewResourceManager("api"), named: aggregated.NewResourceManager("apis")}
}

func (d *documents) add(g group, v groupVersion, resources []apidiscoveryv2.APIResourceDiscovery) {
	found := apidiscoveryv2.APIVersionDiscovery{Version: v.name, Resources: resources, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
	if g.name == "" {
		d.core.AddGroupVersion(g.name, found)
		d.coreVersion = append(d.coreVersion, v.name)
		return
	}
	d.named.AddGroupVersion(g.name, found)
	d.named.SetGroupVersionPriority(metav1.GroupVersion{Group: g.name, Version: v.name}, g.priority, v.priority)
	spoken := metav1.GroupVersionForDiscovery{GroupVersion: g.name + "/" + v.name, Version: v.name}
	if n := len(d.groups); n > 0 && d.groups[n-1].Name == g.name {
		d.groups[n-1].Versions = append(d.groups[n-1].Versions, spoken)
		return
	}
	d.groups = append(d.groups, metav1.APIGroup{Name: g.name, Versions: []metav1.GroupVersionForDiscovery{spoken}, PreferredVersion: spoken})
}

func (d *documents) serve(container *restful.Container) {
	addresses := discovery.DefaultAddresses{DefaultAddress: "127.0.0.1"}
	legacy := discovery.NewLegacyRootAPIHandler(addresses, legacyscheme.Codecs, "/api")
	container.Add(aggregated.WrapAggregatedDiscoveryToHandler(legacy, d.core, d.core).GenerateWebService("/api", metav1.APIVersions{}))
	root := discovery.NewRootAPIsHandler(addresses, legacyscheme.Codecs)
	for _, g := range d.groups {
		root.AddGroup(g)
		container.Add(discovery.NewAPIGroupHandler(legacyscheme.Codecs, g).WebService())
	}
	container.Add(aggregated.WrapAggregatedDiscoveryToHandler(root, d.named, d.named).GenerateWebService("/apis", metav1.APIGroupList{}))
	ws := new(restful.WebService).Path("/version").Produces(restful.MIME_JSON)
	ws.Route(ws.GET("/").To(func(req *restful.Request, resp *restful.Response) {
		responsewriters.WriteRawJSON(http.StatusOK, version.Get(), resp.ResponseWriter)
	}))
	container.Add(ws)
}
