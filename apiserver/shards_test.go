package apiserver_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

// Each case is a conversation with an API server in memory that has the feature gate ShardedListAndWatch, and with a
// real one.
func TestShardConformance(t *testing.T) {
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	t.Parallel() // it mostly waits for the real server
	gates := map[string]bool{"ShardedListAndWatch": true}
	real := planetest.Private(t, plane.Options{Bare: true, FeatureGates: gates, Progress: os.Stderr})
	p := newPair(t, real, apiserver.Start(t, apiserver.Options{FeatureGates: gates}))
	// Lists of what is in no namespace have a last page only at these, whatever other cases have made.
	for i, on := range p.servers {
		s := &session{t: t, client: p.clients[i], on: on, url: on.URL()}
		s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"zz"}}`)
		s.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"zz"}}`)
	}
	t.Run("alone", func(t *testing.T) { p.compareEach(t, documentCases) }) // the gate changes no document
	t.Run("together", func(t *testing.T) {
		p.compareTogether(t, slices.Concat(shardCases(), shardErrorCases(), ringCases(), namespaceShardCases()))
	})
}

// hashOf is the hash by which the server selects.
func hashOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// shard is a range of hashes of a field, in the form of a selector. last is the greatest hash in it.
func shard(field string, first, last uint64) string {
	end := fmt.Sprintf("0x%016x", last+1)
	if last == math.MaxUint64 {
		end = "0x10000000000000000"
	}
	return fmt.Sprintf("shardRange(object.metadata.%s, '0x%016x', '%s')", field, first, end)
}

// these is the query that selects some objects, each by a range of its own. The servers choose other uids.
func (s *session) these(objects ...answer) string {
	var ranges []string
	for _, o := range objects {
		h := hashOf(o.Metadata.UID)
		s.names[fmt.Sprintf("0x%016x", h)], s.names[fmt.Sprintf("0x%016x", h+1)] = "hash of "+o.Metadata.Name, "after "+o.Metadata.Name
		ranges = append(ranges, shard("uid", h, h))
	}
	return selector(strings.Join(ranges, " || "))
}

func selector(text string) string { return "shardSelector=" + escape(text) }

// shardKind is a kind of objects to be listed in shards.
type shardKind struct {
	path, apiVersion, kind, rest string
}

var shardKinds = []shardKind{
	{"~/configmaps", "v1", "ConfigMap", ""},
	{"~/events", "v1", "Event", `,"involvedObject":{"namespace":"NS"}`}, // the real server does not cache them
	{widgets, "NS.example.com/v1", "Widget", `,"spec":{"size":1}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1", "ClusterRole", ""},
}

// make creates n objects, every second one red.
func (k shardKind) make(s *session, from, n int) (out []answer) {
	s.t.Helper()
	for i := range n {
		color := []string{"red", "blue"}[i%2]
		out = append(out, s.post(k.path, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"NS-%d","labels":{"case":"NS","color":%q}}%s}`, k.apiVersion, k.kind, from+i, color, k.rest)))
	}
	return out
}

// of returns a path with a query that selects the objects of a case.
func (k shardKind) of(query ...string) string {
	if k.kind == "ClusterRole" && !strings.Contains(strings.Join(query, "&"), "labelSelector") {
		query = append(query, "labelSelector=case%3DNS")
	}
	return k.path + "?" + strings.Join(query, "&")
}

// pages lists to the end.
func (k shardKind) pages(s *session, accept string, query ...string) {
	s.t.Helper()
	list := s.do("GET", k.of(query...), "", "Accept", accept)
	for range 20 {
		if list.Metadata.Continue == "" {
			return
		}
		rest := slices.DeleteFunc(slices.Clone(query), func(q string) bool { return strings.HasPrefix(q, "resourceVersion") })
		list = s.do("GET", k.of(append(rest, "continue="+list.Metadata.Continue)...), "", "Accept", accept)
	}
	s.t.Errorf("%s has no end", k.path)
}

// shardCases list, watch and delete shards, chosen by chance.
func shardCases() (cases []conformanceCase) {
	for n := range 48 {
		k := shardKinds[n%len(shardKinds)]
		cases = append(cases, conformanceCase{fmt.Sprintf("shard %d, of %ss", n, k.kind), func(s *session) {
			r := rand.New(rand.NewPCG(5866, uint64(n)))
			if k.kind == "Widget" {
				define(s, "widgets", "Widget", widgetVersion)
			}
			all := k.make(s, 0, 3+r.IntN(8))
			var chosen []answer
			for _, o := range all {
				if r.IntN(2) == 0 {
					chosen = append(chosen, o)
				}
			}
			chosen = append(chosen, all[r.IntN(len(all))])
			shard := s.these(chosen...)
			first, last := all[0].Metadata.ResourceVersion, all[len(all)-1].Metadata.ResourceVersion
			accept := []string{jsonType, jsonType, acceptTable, acceptPartial, protobufType, yamlType}
			if k.kind == "Widget" {
				accept[4] = jsonType
			}
			for range 8 {
				query := []string{shard}
				if r.IntN(2) == 0 {
					query = append(query, fmt.Sprintf("limit=%d", 1+r.IntN(4)))
				}
				switch r.IntN(6) {
				case 0:
					query = append(query, "labelSelector="+escape("case=NS,color=red"))
				case 1:
					query = append(query, "fieldSelector="+escape("metadata.name="+chosen[r.IntN(len(chosen))].Metadata.Name))
				case 2:
					query = append(query, "fieldSelector="+escape("metadata.name!="+all[r.IntN(len(all))].Metadata.Name))
				}
				switch r.IntN(6) {
				case 0:
					query = append(query, "resourceVersionMatch=Exact&resourceVersion="+last)
				case 1:
					query = append(query, "resourceVersionMatch=NotOlderThan&resourceVersion="+first)
				case 2:
					query = append(query, "resourceVersion="+last)
				case 3:
					if k.kind != "Widget" { // the real server may have no cache of a new kind yet
						query = append(query, "resourceVersion=0")
					}
				}
				k.pages(s, accept[r.IntN(len(accept))], query...)
			}
			// Another page may be of another shard.
			if page := s.get(k.of("limit=1", shard)); page.Metadata.Continue != "" {
				s.get(k.of("limit=1", s.these(all[len(all)-1]), "continue="+page.Metadata.Continue))
				s.get(k.of("limit=2", "continue="+page.Metadata.Continue))
			}
			gone := all[r.IntN(len(all))].Metadata.Name
			for range 6 {
				one := k.path + "/" + all[r.IntN(len(all))].Metadata.Name
				s.patch(mergePatch, one, fmt.Sprintf(`{"metadata":{"labels":{"color":%q}}}`, []string{"red", "blue", "green"}[r.IntN(3)]))
			}
			s.delete(k.path+"/"+gone, "")
			k.make(s, 20, 2)
			var opened []*events
			for _, query := range []string{"resourceVersion=" + first, "resourceVersion=" + last, "resourceVersion=0", "", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"} {
				if query == "" && k.kind != "ClusterRole" {
					query = "resourceVersion=" + last + "&labelSelector=" + escape("case=NS,color=red")
				}
				opened = append(opened, s.watch(k.of("watch=1&timeoutSeconds=1", shard, query)))
			}
			opened = append(opened, s.watch(k.of("watch=1&timeoutSeconds=1", shard, "resourceVersion="+first, "fieldSelector="+escape("metadata.name="+gone))))
			for _, w := range opened {
				w.all()
			}
			if r.IntN(2) == 0 {
				shard += "&labelSelector=" + escape("case=NS,color=red")
			}
			s.do("DELETE", k.of("dryRun=All", shard), "")
			s.do("DELETE", k.of(shard), "")
			s.get(k.of())
		}})
	}
	return append(cases, conformanceCase{"protobuf has the selector", func(s *session) {
		all := shardKinds[0].make(s, 0, 3)
		query := s.these(all[1])
		text := shard("uid", hashOf(all[1].Metadata.UID), hashOf(all[1].Metadata.UID))
		for _, path := range []string{"", "&limit=1", "&pretty=true", "&limit=1&labelSelector=color"} {
			for _, accept := range []string{protobufType, acceptPartial, protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", protobufType + ";as=Table;g=meta.k8s.io;v=v1"} {
				_, _, list := s.send("GET", s.path("~/configmaps?"+query+path), "", "Accept", accept)
				at := strings.Index(string(list), text)
				s.note("%s %s: %q", path, accept, string(list[max(0, at-4):max(0, at)]))
			}
		}
	}}, conformanceCase{"other paths of a watch", func(s *session) {
		all := shardKinds[0].make(s, 0, 3)
		from := "resourceVersion=" + all[0].Metadata.ResourceVersion
		s.delete("~/configmaps/NS-1", "")
		for _, o := range all[:2] {
			query := "?timeoutSeconds=1&" + from + "&" + s.these(o)
			for _, path := range []string{"/api/v1/watch/namespaces/NS/configmaps", "/api/v1/watch/namespaces/NS/configmaps/NS-1", "/api/v1/watch/configmaps", "~/configmaps/NS-1"} {
				s.watch(path + query + "&watch=true").all()
			}
			for _, accept := range []string{acceptTable, acceptPartial, protobufType} {
				s.watch("~/configmaps"+query+"&watch=true", "Accept", accept).all()
			}
		}
	}})
}

// shardErrorCases have selectors that are odd or wrong.
func shardErrorCases() (cases []conformanceCase) {
	const low, high = "'0x0000000000000000'", "'0x8000000000000000'"
	call := func(args ...string) string { return "shardRange(" + strings.Join(args, ", ") + ")" }
	const uid, namespace = "object.metadata.uid", "object.metadata.namespace"
	for n, text := range []string{
		"", " ", "x", "true", "1", "'a'", "shardRange", call(), call(uid), call(uid, low), call(uid, low, high, high), call(uid, "0", "1"), call(uid, "low", "high"), call(uid, low, "1u"), call(uid, "b'a'", high),
		call(uid, "''", high), call(uid, "'0x'", high), call(uid, "'0000000000000000'", high), call(uid, "'0x0'", high), call(uid, low, "'0x80'"), call(uid, low, "'0x000000000000000001'"), call(uid, low, "'0x10000000000000001'"),
		call(uid, low, "'0x00000000000000001'"), call(uid, "'0x10000000000000000'", "'0x10000000000000000'"), call(uid, low, "'0xA000000000000000'"), call(uid, low, "'0x800000000000000g'"), call(uid, low, "'0X8000000000000000'"),
		call(uid, high, high), call(uid, high, low), call(uid, low, "'0xé00000000000000'"), call("object.metadata.name", low, high), call("metadata.uid", low, high), call("uid", low, high), call("object", low, high),
		call("object.metadata['uid']", low, high), call("object.metadata.labels.a", low, high), call("'object.metadata.uid'", low, high), call("object.metadata.?uid", low, high), call("f().uid", low, high), call("has(object.metadata.uid)", low, high),
		call(uid, low, high) + " || " + call(namespace, low, high), call(uid, low, high) + " && " + call(uid, low, high), "!" + call(uid, low, high), call(uid, low, high) + " == true", "true ? " + call(uid, low, high) + " : false",
		call(uid, low, high) + " || true", call(uid, low, high) + " ||", "|| " + call(uid, low, high), "shardRange(", ")", "shardRange(object.metadata.uid, '0x0000", "a b", "[1]", "{}", "has(object.metadata.uid)", "object.metadata.uid", "f(1)", "cel.bind(x, 1, x)", "\"", "\x00", "ü", "/",
		call(uid, low, high), " \n\t" + call(uid, low, high) + " ", "(" + call(uid, low, high) + ")", call(uid, low, high) + "||" + call(uid, low, high), call(uid, strings.ReplaceAll(low, "'", `"`), strings.ReplaceAll(high, "'", `"""`)), call(uid, "r"+low, high),
		"object." + call(uid, low, high), "x.y." + call(uid, low, high), "." + call(uid, low, high), call("."+uid, low, high), call(uid, low, high) + " // all", call(uid, low, "'0x10000000000000000'"), call(namespace, low, "'0x10000000000000000'"), call(uid, `'\x30x0000000000000000'`, high),
		call(uid, low, high) + " || (" + call(uid, high, "'0x10000000000000000'") + " || " + call(uid, low, high) + ")", strings.Repeat("(", 300) + call(uid, low, high) + strings.Repeat(")", 300), strings.Repeat(call(uid, low, high)+" || ", 60) + call(uid, low, high),
		strings.Repeat("!", 30) + "x", strings.Repeat("a.", 300) + "b",
	} {
		cases = append(cases, conformanceCase{fmt.Sprintf("selector %d, %.60q", n, text), func(s *session) {
			query := "?shardSelector=" + escape(text)
			s.get("~/secrets" + query) // there are none
			s.get("~/secrets" + query + "&limit=1&labelSelector=a&fieldSelector=type%3Da")
			s.watch("~/secrets" + query + "&watch=1&timeoutSeconds=1").all()
			s.delete("~/secrets"+query, "")
			s.do("GET", "~/events"+query, "", "Accept", acceptTable)
			s.do("GET", definitions+query+"&labelSelector=a", "", "Accept", yamlType)
			s.do("GET", apiServices+query+"&labelSelector=a", "", "Accept", protobufType)
		}})
	}
	return append(cases, conformanceCase{"errors beside a selector", func(s *session) {
		bad, good := selector("x"), selector(call(uid, low, high))
		for _, query := range []string{"labelSelector=%3D", "fieldSelector=x%3Dy", "limit=x", "limit=-1", "continue=x", "resourceVersion=x", "resourceVersionMatch=x", "resourceVersionMatch=Exact", "limit=1&resourceVersionMatch=Exact&resourceVersion=0", "watch=1&sendInitialEvents=true", "watch=1&resourceVersion=x&timeoutSeconds=1", good, bad} {
			for _, selector := range []string{bad, good} {
				if strings.HasPrefix(query, "watch") {
					s.watch("~/secrets?" + selector + "&" + query).all()
					continue
				}
				s.get("~/secrets?" + selector + "&" + query)
				s.delete("~/secrets?"+query+"&"+selector, "")
			}
		}
	}}, conformanceCase{"a selector where it means nothing", func(s *session) {
		s.post("~/secrets?shardSelector=x", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`)
		s.get("~/secrets/a?shardSelector=x")
		s.patch(mergePatch, "~/secrets/a?shardSelector=x", `{"metadata":{"labels":{"a":"b"}}}`)
		s.get("~/secrets?shardselector=x")
		s.get("~/secrets?ShardSelector=x")
		s.get("~/secrets?shard%53elector=x")
		s.reached("/version?shardSelector=x")
		s.delete("~/secrets?labelSelector=c", `{"kind":"DeleteOptions","apiVersion":"v1","shardSelector":"x"}`)
		s.delete("~/secrets/a?shardSelector=x", "")
	}}, conformanceCase{"selectors of custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.post(widgets, widget("a", `{"size":1}`))
		for _, text := range []string{"x", call(uid, low), call(uid, low, "'0x10000000000000000'"), call(namespace, low, "'0x10000000000000000'")} {
			for _, accept := range []string{jsonType, acceptTable, acceptPartial, yamlType} {
				s.do("GET", widgets+"?"+selector(text), "", "Accept", accept)
			}
			s.watch(widgets + "?watch=1&timeoutSeconds=1&" + selector(text)).all()
			s.delete(widgets+"?dryRun=All&"+selector(text), "")
		}
	}})
}

// noShardCases have shard selectors on servers without the feature gate: these ignore them.
var noShardCases = []conformanceCase{{"shard selectors are ignored", func(s *session) {
	all := shardKinds[0].make(s, 0, 3)
	for _, query := range []string{"shardSelector=x", "shard%53elector=x", "shardSelector=", "shardSelector", s.these(all[0]), "limit=2&" + s.these(all[0]) + "&labelSelector=color"} {
		for _, accept := range []string{jsonType, acceptTable, protobufType} {
			s.do("GET", "~/configmaps?"+query, "", "Accept", accept)
		}
		s.watch("~/configmaps?watch=1&" + query + "&resourceVersion=" + all[0].Metadata.ResourceVersion).next(2)
		s.do("DELETE", "~/configmaps?dryRun=All&"+query, "")
	}
}}}

// cuts returns ranges that cover all hashes, each once.
func cuts(r *rand.Rand) (ranges [][2]uint64) {
	at := []uint64{0}
	for range r.IntN(5) {
		at = append(at, r.Uint64())
	}
	slices.Sort(at)
	at = slices.Compact(at)
	for i, first := range at {
		last := uint64(math.MaxUint64)
		if i+1 < len(at) {
			last = at[i+1] - 1
		}
		ranges = append(ranges, [2]uint64{first, last})
	}
	return ranges
}

// ringCases cut all hashes into shards. Each object, and each event of an object, must be in one shard: that of its hash.
func ringCases() (cases []conformanceCase) {
	for n := range 16 {
		k := shardKinds[n%len(shardKinds)]
		cases = append(cases, conformanceCase{fmt.Sprintf("ring %d, of %ss", n, k.kind), func(s *session) {
			r := rand.New(rand.NewPCG(64, uint64(n)))
			if k.kind == "Widget" {
				define(s, "widgets", "Widget", widgetVersion)
			}
			ranges := cuts(r)
			all := k.make(s, 0, 12)
			s.await(k.of(), all[11].Metadata.UID)
			from := "watch=1&labelSelector=case%3DNS&resourceVersion=" + all[0].Metadata.ResourceVersion
			live := from + "&timeoutSeconds=600" // each is read as far as it must come
			whole := s.watch(k.of(live))
			var parts []*events
			for _, part := range ranges {
				parts = append(parts, s.watch(k.of(live, selector(shard("uid", part[0], part[1])))))
			}
			for range 10 {
				s.patch(mergePatch, k.path+"/"+all[r.IntN(12)].Metadata.Name, fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, r.IntN(99)))
			}
			s.delete(k.path+"/"+all[r.IntN(12)].Metadata.Name, "")
			wantList, wantEvents := s.items(k.of()), whole.texts(func(got []string) bool {
				return strings.HasPrefix(got[len(got)-1], `{"type":"DELETED"`)
			})
			s.note("%d objects, %d shards", len(wantList), len(ranges))
			for i, part := range ranges {
				in := selector(shard("uid", part[0], part[1]))
				out := func(text string) bool { h := hashOf(uidIn(text)); return h < part[0] || part[1] < h }
				objects, told := slices.DeleteFunc(slices.Clone(wantList), out), slices.DeleteFunc(slices.Clone(wantEvents), out)
				for what, pair := range map[string][2][]string{
					"objects":         {objects, s.items(k.of(in))},
					"events":          {told, parts[i].first(len(told))},
					"events, read on": {told, s.whole(k.of(from, in), len(told))},
				} {
					if !slices.Equal(pair[1], pair[0]) {
						s.t.Errorf("the real server: %t: shard %d of %v has other %s:\ngot  %s\nwant %s", s.real, i, ranges, what, pair[1], pair[0])
					}
				}
			}
			if len(wantEvents) < 20 {
				s.t.Errorf("only %d events", len(wantEvents))
			}
		}})
	}
	return cases
}

// items returns the objects of a list, as they come.
func (s *session) items(path string) (out []string) {
	s.t.Helper()
	_, _, text := s.send("GET", s.path(path), "")
	var list answer
	if err := json.Unmarshal(text, &list); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	for _, item := range list.Items {
		out = append(out, string(item))
	}
	return out
}

// texts returns events until there are enough, or until the end of the watch. enough is asked after each.
func (e *events) texts(enough func(got []string) bool) (out []string) {
	for {
		text, err := e.read()
		if err != nil {
			return out
		}
		if out = append(out, string(text)); enough(out) {
			return out
		}
	}
}

// first returns n events.
func (e *events) first(n int) []string {
	if n == 0 {
		return nil
	}
	return e.texts(func(got []string) bool { return len(got) == n })
}

// whole returns all events until the end of a watch of what has happened. On a busy machine its time may end before it
// has told n events: it is opened again for longer.
func (s *session) whole(path string, n int) (out []string) {
	s.t.Helper()
	noted := len(s.out)
	defer func() { s.out = s.out[:noted] }() // how often it was opened is chance
	for seconds := 1; seconds < 100; seconds *= 4 {
		w := s.watch(fmt.Sprintf("%s&timeoutSeconds=%d", path, seconds))
		if out = w.texts(func([]string) bool { return false }); len(out) >= n {
			break
		}
	}
	return out
}

// uidIn returns the uid of an object, or of that of an event.
func uidIn(text string) string {
	var o struct {
		Metadata struct{ UID string }
		Object   struct {
			Metadata struct{ UID string }
		}
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err.Error()
	}
	return o.Metadata.UID + o.Object.Metadata.UID
}

// namespaceShardCases have ranges of namespaces, whose names are the same on both servers.
func namespaceShardCases() (cases []conformanceCase) {
	for n := range 12 {
		cases = append(cases, conformanceCase{fmt.Sprintf("namespaces in shards %d", n), func(s *session) {
			r := rand.New(rand.NewPCG(7, uint64(n)))
			for i := range 5 {
				s.send("POST", "/api/v1/namespaces", s.path(fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NS-%d"}}`, i)))
				s.send("POST", s.path(fmt.Sprintf("/api/v1/namespaces/NS-%d/configmaps", i)), s.path(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"case":"NS"}}}`))
			}
			last := s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"case":"NS"}}}`)
			s.loose = true
			for _, part := range cuts(r) {
				query := selector(shard("namespace", part[0], part[1])) + "&labelSelector=case%3DNS"
				s.get("/api/v1/configmaps?" + query)
				s.get("/api/v1/configmaps?limit=2&" + query)
				s.get("~/configmaps?" + query)
				s.watch("/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion=0&" + query).next(0)
				s.do("GET", "/api/v1/configmaps?limit=1&resourceVersionMatch=Exact&resourceVersion="+last.Metadata.ResourceVersion+"&"+query, "", "Accept", acceptTable)
				s.get("/apis/rbac.authorization.k8s.io/v1/clusterroles?" + query) // in no namespace
				s.get("/api/v1/namespaces?fieldSelector=" + escape("metadata.name=NS") + "&" + selector(shard("namespace", part[0], part[1])))
			}
		}})
	}
	return cases
}
