package apiserver_test

import (
	"fmt"
	"strings"
)

// readCases are lists and watches in all combinations of their options.
func readCases() []conformanceCase {
	var cases []conformanceCase
	add := func(name string, run func(*session)) { cases = append(cases, conformanceCase{name, run}) }
	versions := []string{"", "0", "FIRST", "LAST", "x", "-1", "999999999"}
	for _, resource := range []string{"configmaps", "events", "widgets"} {
		path, kind := "~/"+resource, "ConfigMap"
		if resource == "events" {
			kind = "Event"
		}
		// prepare makes three objects, and returns the versions of the first and the last one.
		prepare := func(s *session) (first, last string) {
			if resource == "widgets" {
				define(s, "widgets", "Widget", widgetVersion)
				for i := range 3 {
					a := s.post(widgets, widget(fmt.Sprintf("m%d", i), `{"size":1}`))
					if first == "" {
						first = a.Metadata.ResourceVersion
					}
					last = a.Metadata.ResourceVersion
				}
				return first, last
			}
			for i := range 3 {
				a := s.post(path, fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":"m%d"},"involvedObject":{"namespace":"NS"}}`, kind, i))
				if first == "" {
					first = a.Metadata.ResourceVersion
				}
				last = a.Metadata.ResourceVersion
			}
			return first, last
		}
		if resource == "widgets" {
			path = widgets
		}
		for _, match := range []string{"", "Exact", "NotOlderThan", "Nonsense"} {
			for _, limit := range []string{"", "limit=2", "limit=0", "limit=5"} {
				add(fmt.Sprintf("list %s with match %q and %q", resource, match, limit), func(s *session) {
					first, last := prepare(s)
					for _, version := range versions {
						if version == "999999999" && match != "Exact" && resource != "events" {
							continue // it waits for three seconds: DIFFERENCES.md
						}
						if version == "0" && resource == "widgets" && limit == "limit=2" {
							continue // the real server has no cache of a new kind yet, or has one
						}
						version = strings.NewReplacer("FIRST", first, "LAST", last).Replace(version)
						a := s.get(path + "?resourceVersion=" + version + "&resourceVersionMatch=" + match + "&" + limit)
						if a.Metadata.Continue == "" {
							continue
						}
						next := "&continue=" + a.Metadata.Continue
						s.get(path + "?" + limit + next)
						s.get(path + "?" + limit + "&resourceVersion=" + first + next)
						s.get(path + "?" + limit + "&resourceVersion=0" + next)
						s.get(path + "?" + limit + "&resourceVersionMatch=Exact" + next)
					}
				})
			}
		}
		for _, initial := range []string{"", "true", "false", "x"} {
			for _, match := range []string{"", "NotOlderThan", "Exact"} {
				for _, bookmarks := range []string{"", "true"} {
					add(fmt.Sprintf("watch %s with initial events %q, match %q, bookmarks %q", resource, initial, match, bookmarks), func(s *session) {
						first, last := prepare(s)
						var opened []*events // all at once: each lasts for a second
						for _, version := range versions {
							if version == "999999999" {
								continue
							}
							version = strings.NewReplacer("FIRST", first, "LAST", last).Replace(version)
							query := "?watch=1&timeoutSeconds=1&resourceVersion=" + version
							if initial != "" {
								query += "&sendInitialEvents=" + initial
							}
							if match != "" {
								query += "&resourceVersionMatch=" + match
							}
							if bookmarks != "" {
								query += "&allowWatchBookmarks=" + bookmarks
							}
							opened = append(opened, s.watch(path+query))
						}
						for _, w := range opened {
							w.all()
						}
					})
				}
			}
		}
	}
	for _, accept := range []string{jsonType, kubectlTable, acceptPartial, protobufType} {
		add("streaming list as "+accept, func(s *session) {
			for _, path := range []string{"~/configmaps", "~/services", "~/pods", "/apis/apps/v1/namespaces/NS/deployments", "/api/v1/nodes", "/api/v1/configmaps"} {
				query := "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
				if !strings.Contains(s.path(path), s.ns) {
					query += "&labelSelector=case%3DNS"
				}
				s.watch(path+query, "Accept", accept).next(1)
			}
		})
	}
	// What a field selector can ask for, by kind.
	for _, k := range kinds {
		apiVersion, short, _ := strings.Cut(k.kind, " ")
		add("field selectors of "+apiVersion+" "+short, func(s *session) {
			t := &kindTalk{s, k, k.path, apiVersion, short}
			t.make("a")
			if k.status != "" {
				s.patch(mergePatch, t.one("a")+"/status", `{"status":`+k.status+`}`)
			}
			for _, f := range []string{"spec.nodeName=", "spec.nodeName=n", "spec.restartPolicy=Always", "spec.schedulerName=default-scheduler", "spec.serviceAccountName=", "spec.hostNetwork=false", "status.phase=Running", "status.phase!=Running", "status.podIP=", "status.nominatedNodeName=", "status.replicas=0", "status.replicas=1", "status.successful=0", "type=Opaque", "type!=Opaque", "spec.clusterIP=None", "spec.type=ClusterIP", "spec.unschedulable=false", "status.phase=Active", "spec.signerName=example.com/x", "involvedObject.kind=Pod", "involvedObject.namespace=NS", "involvedObject.name=p", "involvedObject.uid=", "involvedObject.apiVersion=", "involvedObject.resourceVersion=", "involvedObject.fieldPath=", "reason=R", "reportingComponent=", "reportingComponent=c.example/x", "reportingController=c.example/x", "source=", "regarding.kind=Pod", "spec.driver=d.example.com", "spec.parentRef=x", "spec.holderIdentity=h", "metadata.name=a,metadata.namespace=NS", "metadata.labels=x"} {
				s.get(t.chosen("fieldSelector=" + escape(strings.ReplaceAll(f, "NS", s.ns))))
			}
		})
	}
	return cases
}
