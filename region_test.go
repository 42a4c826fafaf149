package flyball_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How requests of a region go wrong.
const (
	forbidden   = "forbidden"
	unserved    = "unserved"    // discovery does not have the kind
	unreachable = "unreachable" // the connection is refused
	hangs       = "hangs"       // no answer
)

// fault is the failure of a part of a region from one time to another.
type fault struct {
	how      string
	from, to time.Time
}

func (f fault) at(t time.Time) bool { return f.how != "" && !t.Before(f.from) && t.Before(f.to) }

// region is an API server as a transport, for virtual time. It serves ConfigMaps, Secrets and Widgets of namespaces.
type region struct {
	mu      sync.Mutex
	version int
	objects map[string]int     // the versions of the objects, by "configmaps/a/main-1"
	faults  map[string][]fault // by part: "", "configmaps" or "configmaps/a"
	streams map[*stream]bool
}

// stream is an open watch.
type stream struct {
	part string // "configmaps/a", or "configmaps/" for all namespaces
	body *io.PipeWriter
	out  chan string
}

var regionKinds = map[string][2]string{
	"configmaps": {"v1", "ConfigMap"}, "secrets": {"v1", "Secret"}, "widgets": {"example.com/v1", "Widget"},
}

func newRegion() *region {
	return &region{version: 10, objects: map[string]int{}, faults: map[string][]fault{}, streams: map[*stream]bool{}}
}

// fails adds a fault of a part. Watches that are open then break.
func (g *region) fails(part string, f fault) {
	g.faults[part] = append(g.faults[part], f)
	if wait := time.Until(f.from); wait > 0 {
		time.AfterFunc(wait, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			for s := range g.streams {
				if part == "" || s.part == part || strings.HasPrefix(s.part, part+"/") || strings.HasPrefix(part, s.part) {
					s.body.CloseWithError(io.ErrUnexpectedEOF)
				}
			}
		})
	}
}

// failing is the fault of a part at a time. A watch of all namespaces has the parts "", the resource, and "resource/".
func (g *region) failing(resource, namespace string, t time.Time) fault {
	for _, part := range []string{"", resource, resource + "/" + namespace} {
		for _, f := range g.faults[part] {
			if f.at(t) {
				return f
			}
		}
	}
	return fault{}
}

// put creates or changes an object, and tells the watches.
func (g *region) put(resource, namespace, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := resource + "/" + namespace + "/" + name
	verb := "MODIFIED"
	if g.objects[key] == 0 {
		verb = "ADDED"
	}
	g.version++
	g.objects[key] = g.version
	g.tell(resource, namespace, fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", verb, objectText(key, g.version, true)))
}

// remove deletes an object, and tells the watches.
func (g *region) remove(resource, namespace, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := resource + "/" + namespace + "/" + name
	delete(g.objects, key)
	g.version++
	g.tell(resource, namespace, fmt.Sprintf(`{"type":"DELETED","object":%s}`+"\n", objectText(key, g.version, true)))
}

func (g *region) tell(resource, namespace, line string) {
	for s := range g.streams {
		if s.part == resource+"/" || s.part == resource+"/"+namespace {
			s.out <- line
		}
	}
}

// names are the objects of a kind in a namespace, or in all, as "a/main-1".
func (g *region) names(resource, namespace string) (all []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key := range g.objects {
		if rest, ok := strings.CutPrefix(key, resource+"/"); ok && strings.HasPrefix(rest, namespace) {
			all = append(all, rest)
		}
	}
	slices.Sort(all)
	return all
}

// objectText is an object. All but those of the main kind are owned by the one of the same name in it; see sourcesOf.
func objectText(key string, version int, whole bool) string {
	part := strings.Split(key, "/")
	kind, owner := "", ""
	if k := regionKinds[part[0]]; whole {
		kind = fmt.Sprintf(`"apiVersion":%q,"kind":%q,`, k[0], k[1])
	}
	for resource, k := range regionKinds {
		if resource != part[0] {
			owner += fmt.Sprintf(`,{"apiVersion":%q,"kind":%q,"name":%q,"uid":"u","controller":true}`, k[0], k[1], part[2])
		}
	}
	return fmt.Sprintf(`{%s"metadata":{"namespace":%q,"name":%q,"uid":"u-%s","resourceVersion":"%d","ownerReferences":[%s]}}`,
		kind, part[1], part[2], strings.Join(part, "-"), version, owner[1:])
}

func regionAnswer(code int, body string) (*http.Response, error) {
	kind := "application/json"
	if strings.Contains(body, "APIGroupDiscoveryList") {
		kind += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

func refusal(code int, reason, details string) (*http.Response, error) {
	return regionAnswer(code, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"said by the test","reason":%q,"details":{%s},"code":%d}`, reason, details, code))
}

// RoundTrip implements http.RoundTripper.
func (g *region) RoundTrip(r *http.Request) (*http.Response, error) {
	resource, namespace, name := parts(r.URL.Path)
	f := g.failing(resource, namespace, time.Now())
	switch f.how {
	case unreachable:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case hangs:
		answered := time.NewTimer(time.Until(f.to))
		defer answered.Stop()
		select {
		case <-answered.C:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	case forbidden:
		return refusal(403, "Forbidden", `"kind":"`+resource+`"`)
	case unserved:
		return regionAnswer(404, "404 page not found")
	}
	if r.URL.Path == "/version" {
		return regionAnswer(200, `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`)
	}
	if resource == "" {
		return g.discovery(r.URL.Path)
	}
	q := r.URL.Query()
	switch {
	case name != "":
		g.mu.Lock()
		defer g.mu.Unlock()
		key := resource + "/" + namespace + "/" + name
		if v := g.objects[key]; v != 0 {
			return regionAnswer(200, objectText(key, v, true))
		}
		return refusal(404, "NotFound", fmt.Sprintf(`"name":%q,"kind":%q`, name, resource))
	case q.Get("sendInitialEvents") != "":
		return refusal(400, "BadRequest", "")
	case q.Get("watch") != "":
		return g.watch(r.Context(), resource+"/"+namespace)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var items []string
	for key, v := range g.objects {
		if strings.HasPrefix(key, resource+"/"+namespace) {
			items = append(items, objectText(key, v, false))
		}
	}
	k := regionKinds[resource]
	return regionAnswer(200, fmt.Sprintf(`{"apiVersion":%q,"kind":"%sList","metadata":{"resourceVersion":"%d"},"items":[%s]}`, k[0], k[1], g.version, strings.Join(items, ",")))
}

// CloseIdleConnections is what a transport is asked for at its end.
func (g *region) CloseIdleConnections() {}

// parts are those of the path of a resource; empty for other paths.
func parts(path string) (resource, namespace, name string) {
	all := strings.Split(strings.Trim(path, "/"), "/")
	for i := range all {
		if regionKinds[all[i]][0] == "" {
			continue
		}
		if i > 1 && all[i-2] == "namespaces" {
			namespace = all[i-1]
		}
		if i+1 < len(all) {
			name = all[i+1]
		}
		return all[i], namespace, name
	}
	return "", "", ""
}

func (g *region) discovery(path string) (*http.Response, error) {
	resources := map[string]string{}
	for resource, k := range regionKinds {
		if g.failing(resource, "", time.Now()).how == unserved {
			continue
		}
		group, version := "", k[0]
		if before, after, ok := strings.Cut(k[0], "/"); ok {
			group, version = before, after
		}
		resources[group] += fmt.Sprintf(`,{"resource":%q,"responseKind":{"group":%q,"version":%q,"kind":%q},"scope":"Namespaced","singularResource":"x","verbs":["list","watch"]}`, resource, group, version, k[1])
	}
	items := ""
	switch group := map[string]string{"/api": "", "/apis": "example.com"}[path]; {
	case path != "/api" && path != "/apis":
		return regionAnswer(404, "404 page not found")
	case resources[group] != "":
		items = fmt.Sprintf(`{"metadata":{"name":%q},"versions":[{"version":"v1","freshness":"Current","resources":[%s]}]}`, group, resources[group][1:])
	}
	return regionAnswer(200, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[`+items+`]}`)
}

// watch sends what happens from now on, and a bookmark a minute. The test lets nothing happen between a list and its
// watch.
func (g *region) watch(ctx context.Context, part string) (*http.Response, error) {
	pr, pw := io.Pipe()
	s := &stream{part: part, body: pw, out: make(chan string, 1000)}
	g.mu.Lock()
	g.streams[s] = true
	g.mu.Unlock()
	go func() {
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			delete(g.streams, s)
		}()
		bookmarks := time.NewTicker(time.Minute)
		defer bookmarks.Stop()
		for {
			line := ""
			select {
			case line = <-s.out:
			case <-bookmarks.C:
				resource, _, _ := strings.Cut(part, "/")
				g.mu.Lock()
				line = fmt.Sprintf(`{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d"}}}`+"\n", regionKinds[resource][0], regionKinds[resource][1], g.version)
				g.mu.Unlock()
			case <-ctx.Done():
				pw.CloseWithError(ctx.Err())
				return
			}
			if _, err := io.WriteString(pw, line); err != nil {
				return
			}
		}
	}()
	resp, err := regionAnswer(200, "")
	resp.Body = pr
	return resp, errors.Join(err)
}
