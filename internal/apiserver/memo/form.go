package memo

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// key is the content of a question but for its values.
type key [sha256.Size]byte

// form is a question in two parts: what the answer depends on, and values that only show up in it.
type form struct {
	key    key
	values values
	// at is where the name is in the body; empty if it is no value.
	at span
	// create is whether other objects of the question are only looked at.
	create bool
}

// span is a part of a text.
type span struct{ begin, end int }

func (s span) of(text []byte) []byte { return text[s.begin:s.end] }

// newForm returns the form of a question. There is none for lists, which are long.
//
// The values of a create are the uid, the suffix of a generated name, the time, the version, and the name if the
// kind is one that takes any valid name alike. Those of a read are the time and the version. Other questions have no
// values: they are remembered as they are.
func newForm(req *rules.Request) (*form, bool) {
	if req.Collection != nil {
		return nil, false
	}
	f := &form{}
	bare := *req
	if creates := creates(req); creates || reads(req) {
		if creates {
			if at := nameIn(req); free(req, at) {
				f.at = at
			}
		}
		if values, ok := valuesOf(req, string(f.at.of(req.Body))); ok {
			f.values, f.create = values, creates
			bare.UID, bare.Suffix, bare.Now, bare.Version = "", strings.Repeat("x", len(req.Suffix)), 0, uint64(values.digits())
			bare.Body = with(req.Body, f.at, shape(values[valueName]))
			if creates {
				bare.Objects = changed(req.Objects, shape, shape)
			}
		} else {
			f.at = span{}
		}
	}
	text, err := rules.AppendMessage(make([]byte, 0, 4096), &bare)
	if err != nil {
		return nil, false
	}
	// A question without a value may look like the form of one that has it: a name like the shape of another.
	for _, v := range f.values {
		text = append(text, byte(min(len(v), 1)))
	}
	f.key = sha256.Sum256(text)
	return f, true
}

// creates reports whether a question is about the creation of an object of a kind that is alike, or of a custom
// resource. Rules of others may compare the time: that of a review of a token does. So may policies, which would be
// among the objects of the question.
func creates(req *rules.Request) bool {
	if req.Method != http.MethodPost || len(req.UID) != uidLength || len(req.Impersonate) > 0 {
		return false
	}
	for k, text := range req.Objects {
		if len(text) > 0 && !context(k) {
			return false
		}
	}
	group, resource, item := split(req.URL)
	return !item && (alike[group+"/"+resource] || len(req.Objects[definitionKeys+resource+"."+group]) > 0)
}

// reads reports whether a question is about a read that tells no ages.
func reads(req *rules.Request) bool {
	return req.Method == http.MethodGet && len(req.Impersonate) == 0 && !strings.Contains(req.Accept, "as=Table")
}

// split returns the group and the resource of a path, and whether it goes on behind the resource.
func split(url string) (group, resource string, more bool) {
	path, _, _ := strings.Cut(url, "?")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return "", "", true
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return group, parts[0], len(parts) > 1
}

// alike are kinds whose valid names are all alike. Those of other kinds mean something, or are compared: the name of
// a definition with its group, that of a class with reserved ones, that of an address with its form.
var alike = map[string]bool{
	"/configmaps": true, "/secrets": true, "/pods": true, "/podtemplates": true, "/replicationcontrollers": true, "/persistentvolumeclaims": true,
	"/serviceaccounts": true, "/namespaces": true, "/limitranges": true, "/resourcequotas": true, "/events": true, "events.k8s.io/events": true,
	"apps/deployments": true, "apps/replicasets": true, "apps/statefulsets": true, "apps/daemonsets": true, "apps/controllerrevisions": true,
	"batch/jobs": true, "batch/cronjobs": true, "autoscaling/horizontalpodautoscalers": true, "policy/poddisruptionbudgets": true,
	"networking.k8s.io/networkpolicies": true, "networking.k8s.io/ingresses": true, "coordination.k8s.io/leases": true,
	"discovery.k8s.io/endpointslices": true,
}

// free reports whether the name at a place of the body is a value: one of its kind is like another, and nothing else
// in the question can be compared with it.
func free(req *rules.Request, at span) bool {
	if at == (span{}) || !rotates(string(at.of(req.Body))) {
		return false
	}
	group, resource, _ := split(req.URL)
	if !alike[group+"/"+resource] {
		text := string(req.Objects[definitionKeys+resource+"."+group])
		ruled := strings.Contains(text, `"x-kubernetes-validations"`)
		if text == "" || ruled && strings.Count(text, "metadata") > strings.Count(text, `"metadata":`) { // one may ask for the name
			return false
		}
	}
	name := string(at.of(req.Body))
	if strings.Contains(string(req.Body[:at.begin]), name) || strings.Contains(string(req.Body[at.end:]), name) {
		return false
	}
	if strings.Contains(req.URL, name) || strings.Contains(req.User, name) {
		return false
	}
	for k := range req.Objects {
		if strings.HasSuffix(k, "/"+name) { // it was looked up, and is there
			return false
		}
	}
	return true
}

// Keys of objects of which an answer shows no uid, version or time.
const (
	definitionKeys = "/apiextensions.k8s.io/customresourcedefinitions/"
	namespaceKeys  = "/core/namespaces/"
	classKeys      = "/scheduling.k8s.io/priorityclasses/"
	accountKeys    = "/core/serviceaccounts/"
)

// context reports whether the object of a key is only looked at when another one is created.
func context(k string) bool {
	return strings.HasPrefix(k, namespaceKeys) || strings.HasPrefix(k, definitionKeys) || strings.HasPrefix(k, classKeys) || strings.HasPrefix(k, accountKeys)
}

// changed returns objects with other uids, versions and times where these do not matter.
func changed(objects map[string]json.RawMessage, change, changeTime func(string) string) map[string]json.RawMessage {
	out := maps.Clone(objects)
	for k, text := range out {
		if context(k) && len(text) > 0 {
			out[k] = marked(text, change, changeTime)
		}
	}
	return out
}

// with returns a text with a part of it replaced.
func with(text []byte, at span, by string) []byte {
	if at == (span{}) {
		return text
	}
	out := make([]byte, 0, len(text)-(at.end-at.begin)+len(by))
	return append(append(append(out, text[:at.begin]...), by...), text[at.end:]...)
}
