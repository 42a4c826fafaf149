package apiserver_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// session is one conversation with a server. It writes down the answers, without values of chance and of the clock.
type session struct {
	t      testing.TB
	client *http.Client
	on     server
	url    string
	real   bool   // whether the server is the real one
	ns     string // a namespace of its own
	// again is the time between two looks at what comes after an answer, as from caches of the real server and from
	// controllers. It is 0 if nothing comes: what the server in memory has answered is so.
	again time.Duration

	verbatim bool // answers are written down unchanged
	// loose leaves out versions. The handlers of some kinds set times, so a write that repeats the last one has a new
	// version if it comes in another second.
	loose    bool
	patience int // watches last this many seconds for each second that the case says; 0: as it says
	out      []string
	versions []string // resource versions in the order of their appearance
	uids     []string
	names    map[string]string // generated names
	bases    []string          // of names that are generated: errors have such a name, too
	markers  int               // policies that tell whether others are known
}

// answer has the parts of an answer that a case may use for its next request.
type answer struct {
	Metadata struct {
		Name, UID, ResourceVersion, Continue string
	}
	Items []json.RawMessage
	raw   string
}

const (
	jsonType      = "application/json"
	mergePatch    = "application/merge-patch+json"
	jsonPatch     = "application/json-patch+json"
	strategic     = "application/strategic-merge-patch+json"
	applyPatch    = "application/apply-patch+yaml"
	acceptTable   = "application/json;as=Table;g=meta.k8s.io;v=v1"
	acceptPartial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

func escape(text string) string { return url.QueryEscape(text) }

// path replaces "~" at the beginning by the path of the session's namespace in the core group.
func (s *session) path(p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok {
		p = "/api/v1/namespaces/NS" + rest
	}
	p, token, paged := strings.Cut(p, "continue=") // a token may have any letters
	p = strings.ReplaceAll(p, "NS", s.ns)
	if paged {
		p += "continue=" + token
	}
	return p
}

// do sends a request and writes down the answer.
func (s *session) do(method, path, body string, header ...string) answer {
	s.t.Helper()
	path = s.path(path)
	resp := s.request(method, path, strings.ReplaceAll(body, "NS", s.ns), header...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode == http.StatusConflict {
		// The real server warns of an apply that it has tried on what its cache has, and not of one that it refuses.
		resp.Header.Del("Warning")
	}
	head := fmt.Sprintf("%s %s: %d %s", method, s.hide(path), resp.StatusCode, s.headers(resp.Header))
	if text = s.json(text, resp.Header.Get("Content-Type")); bytes.Contains(text, []byte("X509SHA256=")) {
		text = credential.ReplaceAll(text, nil)
	}
	var a answer
	if json.Unmarshal(text, &a) != nil { // it is plain text
		text = checks.ReplaceAll(text, nil)
		s.note("%s %q", head, text)
		return a
	}
	if uid := a.Metadata.UID; uid != "" && strings.Contains(path, "dryRun=All") && !slices.Contains(s.uids, uid) {
		text = bytes.ReplaceAll(text, []byte(uid), []byte("a uid of nothing")) // DIFFERENCES.md
	}
	a.raw = string(text)
	s.note("%s\n%s", head, s.normal(text))
	return a
}

func (s *session) post(path, body string) answer { s.t.Helper(); return s.do("POST", path, body) }
func (s *session) get(path string) answer        { s.t.Helper(); return s.do("GET", path, "") }
func (s *session) put(path, body string) answer  { s.t.Helper(); return s.do("PUT", path, body) }
func (s *session) patch(kind, path, body string) answer {
	s.t.Helper()
	return s.do("PATCH", path, body, "Content-Type", kind)
}
func (s *session) delete(path, body string) answer { s.t.Helper(); return s.do("DELETE", path, body) }

// short is the time of a watch that tells what has happened, and ends.
var short = regexp.MustCompile(`\btimeoutSeconds=1(&|$)`)

func (s *session) request(method, path, body string, header ...string) *http.Response {
	s.t.Helper()
	if s.patience > 1 {
		path = short.ReplaceAllString(path, fmt.Sprintf("timeoutSeconds=%d$1", s.patience))
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "conformance/1")
	req.Header.Set("Accept", jsonType)
	if body != "" {
		req.Header.Set("Content-Type", jsonType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func (s *session) send(method, path, body string, header ...string) (code int, warnings []string, text []byte) {
	s.t.Helper()
	resp := s.request(method, path, body, header...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Values("Warning"), text
}

// await repeats a read until the answer has a text. It writes nothing down.
func (s *session) await(path, text string) {
	s.t.Helper()
	s.until(s.path(path)+" has "+text, func() bool {
		_, _, body := s.send("GET", s.path(path), "")
		return strings.Contains(string(body), s.path(text))
	})
}

// until waits until something is so.
func (s *session) until(what string, so func() bool) {
	s.t.Helper()
	if !s.looks(so) {
		s.t.Fatalf("it never came to this: %s", what)
	}
}

// soon is the time between two looks at a real server, and at one that is compared with it.
const soon = 20 * time.Millisecond

// mostLooks bounds how often looks looks: for a minute on a quiet machine. On a busy one a look takes longer, as does
// what the test waits for.
const mostLooks = 3000

// looks waits until something is so. It reports whether it came to that. Nothing announces what a server knows.
func (s *session) looks(so func() bool) bool {
	if s.again == 0 {
		return so()
	}
	for range mostLooks {
		if so() {
			return true
		}
		time.Sleep(s.again)
	}
	return false
}

func (s *session) note(format string, args ...any) {
	s.out = append(s.out, fmt.Sprintf(format, args...))
}

// normal returns an answer as indented JSON, without what chance and the clock decide.
func (s *session) normal(text []byte) string {
	if s.verbatim {
		return string(text)
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(folded(text)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return fmt.Sprintf("%q: %v", text, err)
	}
	s.walk(v)
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		s.t.Fatal(err)
	}
	return s.hide(string(out))
}

func (s *session) walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			s.walk(x)
		}
	case map[string]any:
		if text, ok := v["message"].(string); ok && strings.HasPrefix(text, "failed to create typed patch object") {
			v["message"], _, _ = strings.Cut(text, "):") // which errors follow depends on the order of a map, on both servers
		} else if ok && strings.HasSuffix(text, ": field not declared in schema") {
			v["message"] = undeclared.ReplaceAllString(text, "${1}a field") // one of them, as above
		}
		if text, ok := v["resourceVersion"].(string); ok {
			if _, object := v["uid"]; object && !s.loose {
				v["resourceVersion"] = "version " + ordinal(&s.versions, text)
			} else { // that of a list or a bookmark: others write to the real server, too
				v["resourceVersion"] = "a version"
			}
		}
		if _, ok := v["nodePort"]; ok {
			v["nodePort"] = "a port"
		}
		if ip, ok := v["clusterIP"].(string); ok && strings.HasPrefix(ip, "10.") {
			v["clusterIP"], v["clusterIPs"] = "an address", "addresses"
		}
		if extra, ok := v["extra"].(map[string]any); ok { // DIFFERENCES.md
			if delete(extra, "authentication.kubernetes.io/credential-id"); len(extra) == 0 {
				delete(v, "extra")
			}
		}
		if text, ok := v["uid"].(string); ok && len(text) > 8 { // a short one may be anywhere
			ordinal(&s.uids, text)
		}
		// Schemas of custom resources are maps: the real server finds errors in any order.
		if causes, ok := v["causes"].([]any); ok && len(causes) > 1 {
			slices.SortFunc(causes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		// The real server has bindings in any order.
		for _, key := range []string{"resourceRules", "nonResourceRules"} {
			if rules, ok := v[key].([]any); ok {
				slices.SortFunc(rules, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
		}
		// Managed fields are sorted by time first, in seconds.
		if managed, ok := v["managedFields"].([]any); ok {
			key := func(entry any) string {
				m, _ := entry.(map[string]any)
				return fmt.Sprint(m["manager"], m["operation"], m["subresource"], m["apiVersion"])
			}
			slices.SortStableFunc(managed, func(a, b any) int { return strings.Compare(key(a), key(b)) })
		}
		if text, ok := v["message"].(string); ok && strings.Contains(text, " is invalid: [") {
			letters := strings.Split(s.hide(text), "") // what hides needs the order
			slices.Sort(letters)
			v["message"] = "these letters: " + strings.Join(letters, "")
		}
		if text, ok := v["continue"].(string); ok {
			raw, err := base64.RawURLEncoding.DecodeString(text)
			v["continue"] = fmt.Sprintf("%s %v", regexp.MustCompile(`"rv":\d+`).ReplaceAllString(string(raw), `"rv":N`), err)
		}
		name, _ := v["name"].(string)
		if base, ok := v["generateName"].(string); ok && strings.HasPrefix(name, base) && len(name) == len(base)+5 {
			s.names[name] = base + "?????"
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			s.walk(v[key])
		}
	}
}

// ordinal returns the place of a text in a list of texts. A new one comes to the end.
func ordinal(all *[]string, text string) string {
	i := slices.Index(*all, text)
	if i < 0 {
		i = len(*all)
		*all = append(*all, text)
	}
	return fmt.Sprint(i)
}

var (
	timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	checks    = regexp.MustCompile(`\[\+\](p[^i]|[^p])[^\n]* ok\n`) // of the health of what is not here; "ping" is
	anyUUID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	suffix    = regexp.MustCompile(`(Not Valid|g-)[bcdfghjklmnpqrstvwxz2456789]{5}\b`) // of a generated name
	inText    = regexp.MustCompile(`(current: |ResourceVersion in precondition: |ResourceVersion in object meta: |in the precondition \(|resource version: \d+ \(|in record \(|resourceVersion\\+":\\+")\d+`)
	address   = regexp.MustCompile(`10\.(0|99)\.\d+\.\d+`)                 // of a Service, one of a range that a case makes
	cells     = regexp.MustCompile(`"((\d+[smh])+|10\.(0|99)\.\d+\.\d+)"`) // an age, an address
	nodePort  = regexp.MustCompile(`(nodePort\\+":|"\d+:)3\d{4}\b`)        // in JSON, in a table
	fingers   = regexp.MustCompile(`X509SHA256=[0-9a-f]{64}`)              // of a certificate
	// The real server knows an administrator by a certificate, the one in memory by nothing.
	credential = regexp.MustCompile(`,\\*"extra\\*":\{\\*"authentication\.kubernetes\.io/credential-id\\*":\[\\*"X509SHA256=[0-9a-f]{64}\\*"\]\}`)
	program    = regexp.MustCompile(`controlplane-[0-9a-f]{16}`) // as a field manager
	managers   = regexp.MustCompile(`managedFields\\+":\[.*?\]`) // of an object in an error: in the order of their seconds
	undeclared = regexp.MustCompile(`(failed to convert [a-z ]+: )\S+`)
	inPath     = regexp.MustCompile(`(resourceVersion|continue)=[^&]+`)
)

// folded replaces runs of one letter in a large text by the letter and their length: ten patterns are looked for in it.
func folded(text []byte) []byte {
	const large, long = 1 << 16, 1000
	if len(text) < large {
		return text
	}
	var out []byte
	for i := 0; i < len(text); {
		j := i + 1
		for j < len(text) && text[j] == text[i] {
			j++
		}
		if run := text[i:j]; len(run) < long {
			out = append(out, run...)
		} else {
			out = fmt.Appendf(out, "%c×%d", run[0], len(run))
		}
		i = j
	}
	return out
}

// hide replaces what chance and the clock decide in a text.
func (s *session) hide(text string) string {
	if s.verbatim {
		return text
	}
	text = withoutTime.replace(string(folded([]byte(text)))) // first: the digits of a name or a uid may be in it
	for name, short := range s.names {
		text = strings.ReplaceAll(text, name, short)
	}
	for _, base := range s.bases {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(base)+`[bcdfghjklmnpqrstvwxz2456789]{5}\b`).ReplaceAllString(text, base+"?????")
	}
	for i, uid := range s.uids {
		text = strings.ReplaceAll(text, uid, fmt.Sprintf("uid %d", i))
	}
	return withoutChance.replace(text)
}
