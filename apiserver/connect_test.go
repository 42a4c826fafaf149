package apiserver_test

import (
	"encoding/json"
	"io"
	"strings"
)

// connectCases are about what leads to a kubelet, or to the network. There is neither.
func connectCases() []conformanceCase {
	ask := func(s *session, paths ...string) {
		for _, path := range paths {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
				s.do(method, path, "")
			}
		}
	}
	pod := func(s *session, name, spec string) {
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`"},"spec":{`+spec+`"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}],"initContainers":[{"name":"e","image":"i"}]}}`)
	}
	logs := []string{"", "?container=c", "?container=e", "?container=none", "?tailLines=-1", "?container=c&tailLines=x", "?sinceSeconds=0", "?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", "?sinceTime=x", "?limitBytes=0", "?stream=Odd", "?container=c&stream=Stdout&tailLines=1", "?container=c&follow=true&previous=true&timestamps=true", "?follow=x"}
	return []conformanceCase{
		{"connect to what is not there", func(s *session) {
			for _, sub := range []string{"exec", "attach", "portforward", "proxy", "proxy/", "proxy/a/b", "log", "log/log", "log/", "log/y"} {
				ask(s, "~/pods/x/"+sub)
			}
			ask(s, "~/services/x/proxy", "~/services/https:x:80/proxy/a", "/api/v1/nodes/x/proxy", "/api/v1/nodes/x/proxy/metrics")
		}},
		{"connect to a Pod without a Node", func(s *session) {
			pod(s, "p", "")
			ask(s, "~/pods/p/exec?container=c&command=ls", "~/pods/p/exec", "~/pods/p/exec?container=none&command=ls", "~/pods/p/attach?container=c&stdin=true", "~/pods/p/attach", "~/pods/p/portforward?ports=80", "~/pods/p/portforward", "~/pods/p/proxy", "~/pods/p:80/proxy/x", "~/pods/https:p:x/proxy")
		}},
		{"connect to a Pod on a Node that is gone", func(s *session) {
			pod(s, "p", `"nodeName":"gone-NS",`)
			ask(s, "~/pods/p/exec?container=c&command=ls&stdout=true", "~/pods/p/exec?container=none", "~/pods/p/attach?container=c&stdout=true", "~/pods/p/portforward?ports=80", "~/pods/p/log?container=c")
		}},
		{"logs of a Pod without a Node", func(s *session) {
			pod(s, "p", "")
			for _, query := range logs {
				s.get("~/pods/p/log" + query)
				s.get("~/pods/none/log" + query)
			}
			s.do("GET", "~/pods/p/log?container=c", "", "Accept", "text/plain")
			s.do("HEAD", "~/pods/p/log?container=c", "")
		}},
		{"connect to Services", func(s *session) {
			s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"selector":{"a":"b"},"ports":[{"name":"web","port":80}]}}`)
			ask(s, "~/services/s/proxy", "~/services/s:web/proxy/", "~/services/s:80/proxy/", "~/services/s:none/proxy", "~/services/http:s:web/proxy/x?y=z", "~/services/odd:s:web/proxy")
		}},
		{"lists of paths and groups", func(s *session) {
			for _, path := range []string{"/", "/index.html", "/apis", "/apis/"} {
				for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "ODD"} {
					var got struct {
						Kind, APIVersion string
						Paths            []string
						Groups           []struct{ Name string }
					}
					code, _, text := s.send(method, path, "")
					err := json.Unmarshal(text, &got)
					var own []string // and not those of what other cases define
					for _, path := range got.Paths {
						if strings.HasPrefix(path, "/apis/apps") || strings.HasPrefix(path, "/openapi") || !strings.Contains(path, ".") && strings.Count(path, "/") == 1 && path != "/metrics" && path != "/statusz" && path != "/flagz" {
							own = append(own, path)
						}
					}
					s.note("%s %s: %d %v %s %s %q %v", method, path, code, err, got.Kind, got.APIVersion, own, len(got.Groups) > 15)
				}
			}
		}},
		{"frames of a watch are lines", func(s *session) {
			s.post("~/configmaps", oddMap(`"name":"a"`, `"data":{}`))
			for _, accept := range []string{"application/json;pretty=1", "application/json; pretty=1", jsonType} {
				for _, query := range []string{"", "&pretty=true", "&pretty=1"} {
					resp := s.request("GET", s.path("~/configmaps?watch=1&timeoutSeconds=1&resourceVersion=0"+query), "", "Accept", accept, "User-Agent", "Mozilla/5.0")
					text, err := io.ReadAll(resp.Body)

					resp.Body.Close()
					s.note("%s %s: %d %v, %d lines", accept, query, resp.StatusCode, err, strings.Count(string(text), "\n"))
				}
			}
		}},
	}
}
