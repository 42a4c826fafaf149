package apiserver_test

import (
	"fmt"
	"strings"
)

// boundPodCases are about what the Node of a Pod decides: labels, and how much the Pod may ask for.
var boundPodCases = []conformanceCase{
	{"Pods have the labels of their Node", func(s *session) {
		s.node("zoned", `"topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r","kubernetes.io/os":"linux","other":"x"`)
		s.node("plain", `"other":"x"`)
		for i, node := range []string{"NS-zoned", "NS-plain", "none"} {
			s.post("~/pods", podOn(fmt.Sprint("made", i), node, `"labels":{"topology.kubernetes.io/zone":"mine"}`))
			s.post("~/pods", podOn(fmt.Sprint("bound", i), "", `"labels":{"topology.kubernetes.io/region":"mine"}`))
			binding := `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"bound%d","labels":{"topology.kubernetes.io/zone":"mine","given":"y"}},"target":{"kind":"Node","name":%q}}`
			s.post(fmt.Sprintf("~/pods/bound%d/binding", i), fmt.Sprintf(binding, i, node))
			s.get(fmt.Sprint("~/pods/bound", i))
		}
		s.post("~/pods", podOn("late", "", ""))
		s.post("~/pods/late/binding", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"late"},"target":{"kind":"Pod","name":"NS-zoned"}}`)
		s.patch(applyPatch, "~/pods/applied?fieldManager=f", podOn("applied", "NS-zoned", ""))
		s.patch(applyPatch, "~/pods/applied?fieldManager=f", podOn("applied", "NS-zoned", `"labels":{"topology.kubernetes.io/zone":"mine"}`))
		s.patch(mergePatch, "~/pods/applied", `{"metadata":{"labels":null}}`)
	}},
	{"Pods are not resized beyond their Node", func(s *session) {
		s.node("small", `"topology.kubernetes.io/zone":"z","kubernetes.io/os":"linux"`)
		s.node("odd", `"topology.kubernetes.io/zone":"z","kubernetes.io/os":"windows"`)
		for i, node := range []string{"NS-small", "NS-odd", "none", ""} {
			path := fmt.Sprintf("~/pods/p%d/resize", i)
			s.post("~/pods", podOn(fmt.Sprint("p", i), node, ""))
			for _, requests := range []string{`{"cpu":"1"}`, `{"cpu":"2"}`, `{"cpu":"5"}`, `{"memory":"1G"}`, `{"cpu":"4","memory":"2Gi"}`} {
				s.patch(strategic, path, `{"spec":{"containers":[{"name":"c","resources":{"requests":`+requests+`}}]}}`)
			}
			s.patch(strategic, path, `{"metadata":{"labels":{"a":"b"}}}`)
			s.patch(strategic, fmt.Sprint("~/pods/p", i), `{"spec":{"containers":[{"name":"c","image":"j"}]}}`)
		}
	}},
	{"Pods are not changed as their Node cannot", func(s *session) {
		s.node("zoned", `"topology.kubernetes.io/zone":"z"`)
		for i, node := range []string{"NS-zoned", "none", ""} {
			pod := `"initContainers":[{"name":"i","image":"i","resources":{"requests":{"cpu":"1"}}}],"resources":{"requests":{"cpu":"2"}},`
			s.post("~/pods", strings.Replace(podOn(fmt.Sprint("p", i), node, ""), `"spec":{`, `"spec":{`+pod, 1))
			path := fmt.Sprintf("~/pods/p%d/resize", i)
			s.patch(strategic, path, `{"spec":{"initContainers":[{"name":"i","resources":{"requests":{"cpu":"2"}}}]}}`)
			s.patch(strategic, path, `{"spec":{"resources":{"requests":{"cpu":"3"}}}}`)
		}
	}},
}

// node makes the Node NS-NAME with room for 4 CPUs, and waits until the plugins of the server know all of it.
func (s *session) node(name, labels string) {
	s.t.Helper()
	send := func(method, path, body string, header ...string) (int, string) {
		s.t.Helper()
		code, _, text := s.send(method, s.path(path), strings.ReplaceAll(body, "NS", s.ns), header...)
		return code, string(text)
	}
	code, text := send("POST", "/api/v1/nodes", fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"NS-%s","labels":{%s}},
		"status":{"allocatable":{"cpu":"4","memory":"1Gi","pods":"10"},"capacity":{"cpu":"4","memory":"1Gi","pods":"10"}}}`, name, labels))
	if code != 201 {
		s.t.Fatalf("no Node: %s", text)
	}
	if !strings.Contains(labels, "zone") {
		return
	}
	s.until("Pods have the zone of NS-"+name, func() bool {
		_, text := send("POST", "~/pods?dryRun=All", podOn("asks", "NS-"+name, ""))
		return strings.Contains(text, "topology.kubernetes.io/zone")
	})
}

// podOn is a Pod on a Node, with more metadata.
func podOn(name, node, metadata string) string {
	if metadata != "" {
		metadata = "," + metadata
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q%s},"spec":{"nodeName":%q,"containers":[{"name":"c","image":"i"}]}}`, name, metadata, node)
}
