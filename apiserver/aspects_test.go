package apiserver_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/internal/tier"
)

// kindTalk is a conversation about one kind.
type kindTalk struct {
	*session
	kindOf
	path              string // of the collection
	apiVersion, short string
}

// aspects are the conversations about each kind.
var aspects = []struct {
	name string
	run  func(*kindTalk)
}{
	{"life", (*kindTalk).life},
	{"creates", (*kindTalk).creates},
	{"mutants", (*kindTalk).mutants},
	{"changes", (*kindTalk).changes},
	{"updates", (*kindTalk).updates},
	{"patches", (*kindTalk).patches},
	{"apply", (*kindTalk).applies},
	{"status", (*kindTalk).statuses},
	{"forms", (*kindTalk).forms},
	{"lists", (*kindTalk).lists},
	{"watches", (*kindTalk).watches},
	{"dry runs", (*kindTalk).dryRuns},
	{"deletions", (*kindTalk).deletions},
}

// few leaves every eighth case outside of the audit, for cases that are much alike.
func few[T any](all []T) (out []T) {
	if tier.InAudit() {
		return all
	}
	for i := 0; i < len(all); i += 8 {
		out = append(out, all[i])
	}
	return out
}

// kindCases returns a case for each kind and aspect.
func kindCases() []conformanceCase {
	var cases []conformanceCase
	for _, a := range aspects {
		for _, k := range kinds {
			apiVersion, short, _ := strings.Cut(k.kind, " ")
			if a.name == "status" && short == "APIService" {
				continue // the real server writes it, too; see documentCases
			}
			cases = append(cases, conformanceCase{a.name + " of " + apiVersion + " " + short, func(s *session) {
				s.loose = short == "Job" || short == "ReplicationController"
				a.run(&kindTalk{s, k, k.path, apiVersion, short})
			}})
		}
	}
	return cases
}

// casesOf returns the cases of an aspect.
func casesOf(aspect string) []conformanceCase {
	return slices.DeleteFunc(kindCases(), func(c conformanceCase) bool { return !strings.HasPrefix(c.name, aspect+" of ") })
}

// namespaced reports whether objects of the kind are in a namespace.
func (k *kindTalk) namespaced() bool {
	return strings.HasPrefix(k.path, "~") || strings.Contains(k.path, "/NS/")
}

// name returns a name that no other case has.
func (k *kindTalk) name(letter string) string {
	switch {
	case k.short == "IPAddress": // it is an address
		var n int
		if _, err := fmt.Sscanf(k.ns, "c-%d", &n); err != nil {
			k.t.Fatal(err)
		}
		return fmt.Sprintf("10.%d.%d.%d", 100+n/256, n%256, letter[0])
	case k.short == "APIService": // it is a version and a group
		return "v1.NS-" + letter
	case k.namespaced():
		return letter
	}
	return "NS-" + letter
}

// one returns the path of an object.
func (k *kindTalk) one(letter string) string { return k.path + "/" + k.name(letter) }

// chosen returns the path of the collection with options, and a selector that leaves out objects of other cases.
func (k *kindTalk) chosen(options ...string) string {
	if !k.namespaced() {
		options = append(options, "labelSelector=case%3DNS")
	}
	if len(options) == 0 {
		return k.path
	}
	return k.path + "?" + strings.Join(options, "&")
}

// body returns an object with additional fields of its metadata.
func (k *kindTalk) body(letter string, metadata ...string) string {
	metadata = append([]string{fmt.Sprintf(`"name":%q`, k.name(letter)), `"labels":{"case":"NS"}`}, metadata...)
	return k.object(strings.Join(metadata, ","), k.rest)
}

// versionAndGroup matches the name of an APIService, whose group is in its spec, too.
var versionAndGroup = regexp.MustCompile(`"name":"v1\.(NS-[a-z]+)"`)

// object returns an object made of its metadata and its other fields, both as text.
func (k *kindTalk) object(metadata, rest string) string {
	if rest != "" {
		rest = "," + rest
	}
	if m := versionAndGroup.FindStringSubmatch(metadata); m != nil {
		rest = strings.ReplaceAll(rest, "GROUP", m[1])
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s}%s}`, k.apiVersion, k.short, metadata, rest)
}

// make creates an object.
func (k *kindTalk) make(letter string, metadata ...string) answer {
	return k.post(k.path, k.body(letter, metadata...))
}

// life creates, reads, changes and deletes one object.
func (k *kindTalk) life() {
	one, body := k.one("x"), k.body("x")
	k.post(k.path+"?fieldValidation=Strict", body)
	k.post(k.path, k.object(`"name":"`+k.name("y")+`"`, ""))
	k.do("GET", one, "", "Accept", acceptTable)
	got := k.get(one)
	k.put(one, got.raw)
	k.put(one, body)
	k.patch(mergePatch, one, `{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}`)
	k.patch(mergePatch, one, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p"}]}}`)
	if k.status != "" {
		k.patch(mergePatch, one+"/status", `{"status":`+k.status+`}`)
		k.patch(mergePatch, one, `{"status":`+k.status+`}`)
		k.get(one + "/status")
	}
	k.patch(applyPatch, one+"?fieldManager=m&force=true", body)
	k.delete(one, "")
	k.get(one)
}

// creates tries to create objects, valid and not.
func (k *kindTalk) creates() {
	k.make("a")
	k.make("a")
	named := func(text string) string { return k.object(`"name":`+text, k.rest) }
	bodies := []string{
		`{}`, `[]`, `null`, `"x"`, `{`, "", k.object("", k.rest),
		named(`"Not Valid"`), named(`"` + strings.Repeat("a", 254) + `"`), named(`"` + strings.Repeat("a", 64) + `"`), named(`"a.b"`), named(`"a_b"`), named(`"a:b"`), named(`"a/b"`), named(`"%41"`), named(`7`), named(`null`), named(`".."`),
		k.body("b", `"namespace":"other"`), k.body("b", `"resourceVersion":"1"`), k.body("b", `"uid":"some"`), k.body("b", `"generation":5`), k.body("b", `"creationTimestamp":"2020-01-01T00:00:00Z"`), k.body("b", `"deletionTimestamp":"2020-01-01T00:00:00Z"`), k.body("b", `"selfLink":"x"`),
		k.body("b", `"labels":{"not valid":"x"}`), k.body("b", `"labels":{"a":"not valid"}`), k.body("b", `"annotations":{"not valid":"x"}`), k.body("b", `"finalizers":["nonsense"]`), k.body("b", `"finalizers":["a/b","a/b","orphan"]`), k.body("b", `"ownerReferences":[{"name":"x"}]`), k.body("b", `"managedFields":[{"manager":"x"}]`),
		k.body("b", `"unknown":1`), k.object(`"name":"`+k.name("b")+`"`, k.rest+`,"unknown":{"x":1}`), k.object(`"name":"`+k.name("b")+`","name":"`+k.name("b")+`"`, k.rest),
		strings.Replace(k.body("b"), k.short, "Nothing", 1), strings.Replace(k.body("b"), `"`+k.apiVersion+`"`, `"v7"`, 1), strings.Replace(k.body("b"), `"`+k.apiVersion+`"`, `""`, 1), strings.Replace(k.body("b"), `"kind":"`+k.short+`",`, ``, 1),
		k.object(`"generateName":"`+k.name("g")+`-"`, k.rest), k.object(`"generateName":"Not Valid"`, k.rest),
	}
	for _, body := range bodies {
		k.post(k.path+"?dryRun=All", body)
	}
	for _, v := range []string{"Strict", "Warn", "Ignore"} {
		k.post(k.path+"?dryRun=All&fieldValidation="+v, k.object(`"name":"`+k.name("c")+`","odd":1`, k.rest+`,"unknown":{"x":1}`))
	}
	if k.namespaced() {
		k.post(strings.Replace(k.session.path(k.path), "/"+k.ns+"/", "/missing/", 1), k.body("a"))
		k.post(strings.Replace(k.session.path(k.path), "/namespaces/"+k.ns+"/", "/", 1), k.body("a"))
	}
	k.post(k.one("a"), k.body("a"))
	k.put(k.path, k.body("a"))
	k.patch(mergePatch, k.path, `{}`)
	k.post(k.one("a")+"/status", k.body("a"))
	k.get(k.one("a") + "/nothing")
	k.get(k.one("a") + "/status/nothing")
}

// mutants tries to create objects with one field changed.
func (k *kindTalk) mutants() {
	for _, body := range mutants(k.t, k.body("m"), false) {
		k.post(k.path+"?dryRun=All", body)
	}
}

// changes updates one field at a time.
func (k *kindTalk) changes() {
	k.make("m")
	got := k.get(k.one("m"))
	for _, body := range mutants(k.t, got.raw, true) {
		k.put(k.one("m")+"?dryRun=All", body)
	}
}

// updates updates objects with versions and names that fit or not.
func (k *kindTalk) updates() {
	one := k.one("a")
	k.put(one, k.body("a")) // some kinds are created so
	k.delete(one, `{"gracePeriodSeconds":0}`)
	first := k.make("a")
	k.put(one, k.body("a"))
	k.put(one, first.raw)
	k.patch(mergePatch, one, `{"metadata":{"annotations":{"n":"1"}}}`)
	k.put(one, first.raw)
	for _, m := range []string{`"resourceVersion":"x"`, `"resourceVersion":"0"`, `"resourceVersion":"1"`, `"uid":"11111111-2222-3333-4444-555555555555"`, `"namespace":"other"`, `"creationTimestamp":"2020-01-01T00:00:00Z"`, `"generation":9`, `"deletionTimestamp":"2020-01-01T00:00:00Z"`, `"labels":{"a":"b"}`, `"finalizers":["a/b"]`, `"finalizers":["nonsense"]`, `"managedFields":[]`, `"annotations":{"x":"y"}`, `"generateName":"z"`} {
		k.put(one+"?dryRun=All", k.body("a", m))
	}
	k.put(one, k.body("b"))
	k.put(one, strings.Replace(k.body("a"), k.short, "Nothing", 1))
	k.put(one, `{}`)
	k.put(k.one("none"), k.body("none", `"uid":"11111111-2222-3333-4444-555555555555"`))
	k.put(k.one("none"), k.body("none", `"resourceVersion":"5"`))
	k.put(one+"?fieldManager=other&fieldValidation=Strict", k.object(`"name":"`+k.name("a")+`","odd":1`, k.rest))
	k.do("PUT", one, "apiVersion: "+k.apiVersion+"\nkind: "+k.short+"\nmetadata: {name: "+k.name("a")+", labels: {y: z}}\n", "Content-Type", yamlType)
	k.get(one)
}

// patches patches objects by all patch types.
func (k *kindTalk) patches() {
	k.make("a")
	one := k.one("a")
	field, _, _ := strings.Cut(strings.TrimPrefix(k.rest, `"`), `"`)
	for _, body := range []string{`{"metadata":{"labels":{"l":"1"}}}`, `{"metadata":{"labels":{"l":null}}}`, `{"metadata":{"annotations":{"a":"b"},"finalizers":["a/b"]}}`, `{"metadata":{"finalizers":["a/b","a/c"]}}`, `{"metadata":{"finalizers":null}}`, `{"metadata":{"name":"other"}}`,
		`{"metadata":{"labels":{"l":7}}}`, `{"metadata":{"labels":null}}`, `{"unknown":1}`, `{"` + field + `":null}`, `{"` + field + `":"x"}`, `{"` + field + `":{"unknown":1}}`, `{"kind":"Other"}`, `{"apiVersion":"v7"}`, `[]`, `{`, `null`, `7`} {
		k.patch(mergePatch, one, body)
		k.patch(strategic, one+"?dryRun=All", body)
	}
	for _, body := range []string{`[{"op":"add","path":"/metadata/labels","value":{"l":"1"}}]`, `[{"op":"replace","path":"/metadata/labels/l","value":"2"}]`, `[{"op":"move","from":"/metadata/labels/l","path":"/metadata/labels/m"}]`, `[{"op":"copy","from":"/metadata/labels/m","path":"/metadata/labels/n"}]`, `[{"op":"remove","path":"/metadata/labels/n"}]`,
		`[{"op":"remove","path":"/metadata/labels/nothing"}]`, `[{"op":"test","path":"/metadata/labels/m","value":"2"}]`, `[{"op":"test","path":"/metadata/labels/m","value":"3"}]`, `[{"op":"remove","path":"/` + field + `"}]`, `[{"op":"replace","path":"/metadata/name","value":"z"}]`, `[]`, `{}`, `[{"op":"odd"}]`, `[{"path":"/x"}]`, `[7]`, `[`} {
		k.patch(jsonPatch, one, body)
	}
	k.patch(strategic, one, `{"metadata":{"labels":{"$patch":"replace","only":"this"}}}`)
	k.patch(strategic, one, `{"metadata":{"finalizers":["a/d"]}}`)
	k.patch(strategic, one, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["a/d"]}}`)
	k.patch(mergePatch, one+"?fieldValidation=Strict", `{"unknown":1}`)
	k.patch(mergePatch, one+"?force=true", `{}`)
	k.patch("text/plain", one, `{}`)
	k.patch("application/json", one, `{}`)
	k.patch(mergePatch+"; charset=utf-8", one, `{"metadata":{"labels":{"c":"d"}}}`)
	k.patch(mergePatch, k.one("none"), `{}`)
	k.patch(strategic, one+"?fieldManager=other", `{"metadata":{"annotations":{"w":"o"}}}`)
	k.get(one)
}
