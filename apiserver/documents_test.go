package apiserver_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

const (
	apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"
	flowSchemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
	flowLevels  = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
	acceptAll   = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

// notServed are the resources that DIFFERENCES.md names.
var notServed = []string{"componentstatuses", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "services/proxy", "nodes/proxy"}

// documentCases are about what all servers have at the start. They run before other cases make anything.
var documentCases = []conformanceCase{
	{"all of discovery", func(s *session) {
		s.discover("/api", "", &struct{ ServerAddressByClientCIDRs any }{})
		var groups struct {
			Groups []struct {
				Name     string
				Versions []struct{ GroupVersion string }
			}
		}
		s.discover("/apis", "", &groups)
		s.discover("/api/v1", "", nil)
		for _, g := range groups.Groups {
			s.discover("/apis/"+g.Name, "", nil)
			for _, v := range g.Versions {
				s.discover("/apis/"+v.GroupVersion, "", nil)
			}
		}
		s.discover("/api", acceptAll, nil)
		s.discover("/apis", acceptAll, nil)
		s.discover("/openapi/v3", "", nil)
		for _, path := range []string{"/openapi/v3/version", "/openapi/v3/.well-known/openid-configuration", "/openapi/v3/openid/v1/jwks", "/openapi/v3/apis/apiregistration.k8s.io/v1", "/openapi/v3/apis/apiregistration.k8s.io"} {
			s.get(path)
		}
		for _, accept := range []string{yamlType, protobufType, "text/html", "nonsense", acceptTable} { // of what differs only the head
			for _, path := range []string{"/api", "/apis", "/api/v1"} {
				resp := s.request("GET", path, "", "Accept", accept)
				resp.Body.Close()
				s.note("%s %s: %d %s", path, accept, resp.StatusCode, s.headers(resp.Header))
			}
		}
	}},
	{"who issues tokens", func(s *session) {
		for _, path := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks"} {
			resp := s.request("GET", path, "")
			var v map[string]any
			err := json.NewDecoder(resp.Body).Decode(&v)
			resp.Body.Close()
			if err != nil {
				s.t.Fatal(err)
			}
			if text, ok := v["jwks_uri"].(string); ok {
				v["jwks_uri"] = strings.Replace(text, strings.TrimPrefix(s.on.URL(), "https:"), "//127.0.0.1", 1)
			}
			if keys, ok := v["keys"].([]any); ok && len(keys) == 1 {
				for _, chance := range []string{"kid", "x", "y"} {
					delete(keys[0].(map[string]any), chance)
				}
			}
			s.note("%s: %d %s %v", path, resp.StatusCode, s.headers(resp.Header), v)
			s.do("POST", path, "")
			s.get(path + "/x")
		}
	}},
	{"APIServices at the start", func(s *session) {
		s.do("GET", apiServices, "", "Accept", acceptTable)
		for _, name := range []string{"v1.", "v1.apps", "v1.flowcontrol.apiserver.k8s.io", "v2.autoscaling", "v1.apiregistration.k8s.io", "v1beta1.apps"} {
			s.get(apiServices + "/" + name)
		}
	}},
	{"flows and addresses at the start", func(s *session) {
		for _, path := range []string{flowSchemas, flowLevels, "/apis/networking.k8s.io/v1/ipaddresses"} {
			var list struct {
				Items []struct{ Metadata struct{ Name string } }
			}
			s.until(path+" are complete", func() bool {
				_, _, text := s.send("GET", path, "")
				if err := json.Unmarshal(text, &list); err != nil {
					s.t.Fatal(err)
				}
				return path != flowSchemas || strings.Count(string(text), `"Dangling"`) >= 11
			})
			s.do("GET", path, "", "Accept", acceptTable)
			for _, o := range list.Items {
				s.get(path + "/" + o.Metadata.Name)
			}
		}
	}},
	{"APIServices of definitions", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		const one = apiServices + "/v1.NS.example.com"
		s.await(one, `"Available"`)
		s.get(one)
		s.patch(mergePatch, one, `{"spec":{"groupPriorityMinimum":7}}`)
		s.await(one, `"groupPriorityMinimum":1000`)
		s.get(one)
		s.delete(one, "")
		s.await(one, `"Available"`)
		s.get(one)
		s.patch(mergePatch, one, `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"no"}}}`)
		s.patch(mergePatch, one, `{"spec":{"groupPriorityMinimum":7}}`)
		s.get(one)
		s.patch(mergePatch, one, `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}}}`)
		s.await(one, `"groupPriorityMinimum":1000`)
		s.delete(definitions+"/widgets.NS.example.com", "")
		s.await(one, `"NotFound"`)
		s.get(one)
	}},
	{"APIServices that somebody makes", func(s *session) {
		const one = apiServices + "/v1.NS.example.com"
		spec := func(more string) string {
			return `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.NS.example.com"},"spec":{"group":"NS.example.com","version":"v1","groupPriorityMinimum":100,"versionPriority":10` + more + `}}`
		}
		for _, more := range []string{`,"service":{}`, `,"service":{"name":"x"}`, `,"service":{"name":"x","namespace":"NS","port":0}`, `,"service":{"name":"x","namespace":"NS"},"caBundle":"eA==","insecureSkipTLSVerify":true`, `,"caBundle":"eA=="`, `,"insecureSkipTLSVerify":true`, `,"service":{"name":"x","namespace":"NS"},"insecureSkipTLSVerify":true`} {
			s.post(apiServices+"?dryRun=All", spec(more))
		}
		s.post(apiServices, spec(""))
		s.patch(mergePatch, one+"/status", `{"status":{"conditions":[{"type":"Available","status":"Maybe"}]}}`)
		s.patch(mergePatch, one+"/status", `{"status":{"conditions":[{"type":"Available","status":"False","reason":"R","message":"M"},{"type":"Other","status":"True"}]}}`)
		s.await(one, `"reason":"Local"`)
		s.get(one)
		s.patch(mergePatch, one, `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"}}}`)
		s.get(one)
		s.patch(mergePatch, one, `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}}}`)
		s.await(one, `"NotFound"`)
		s.get(one)
	}},
}

// hashes are those of OpenAPI documents, which have all texts of this build in them.
var hashes = regexp.MustCompile(`\?hash=[0-9A-F]+`)

// discover reads a document and leaves out of it what DIFFERENCES.md names. What into points to gets it, too.
func (s *session) discover(path, accept string, into any) {
	s.t.Helper()
	if accept == "" {
		accept = jsonType
	}
	code, _, text := s.send("GET", path, "", "Accept", accept)
	if code != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, code, text)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		s.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatal(err)
		}
	}
	delete(v, "serverAddressByClientCIDRs")
	for _, found := range []any{v["resources"], v} {
		leaveOut(found, "")
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		s.t.Fatal(err)
	}
	s.note("%s %s\n%s", path, accept, hashes.ReplaceAllString(string(out), ""))
}

// leaveOut removes the resources that are not served from a document.
func leaveOut(v any, parent string) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["resource"].(string); ok {
			parent = name
		}
		for key, inner := range v {
			list, ok := inner.([]any)
			if !ok {
				leaveOut(inner, parent)
				continue
			}
			list = slices.DeleteFunc(list, func(one any) bool {
				m, _ := one.(map[string]any)
				name, _ := m["name"].(string)
				if resource, ok := m["resource"].(string); ok {
					name = resource
				}
				if sub, ok := m["subresource"].(string); ok {
					name = parent + "/" + sub
				}
				return slices.ContainsFunc(notServed, func(no string) bool { return strings.TrimSuffix(name, "/") == no })
			})
			v[key] = list
			for _, one := range list {
				leaveOut(one, parent)
			}
		}
	}
}
