package apiserver_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// runsEnv is the environment variable with the number of runs of TestOneSeedOneTrace. It is 10,000 with
// FLYBALL_LONG=1, and a few without.
const runsEnv = "FLYBALL_RUNS"

// One seed is one trace, byte for byte: of the answers, of what a watch shows, and of all that is stored. The second
// time several runs go on at once, in another order, and rules remember.
func TestOneSeedOneTrace(t *testing.T) {
	runs := 150
	if os.Getenv("FLYBALL_LONG") != "" {
		runs = 10_000
	}
	if text := os.Getenv(runsEnv); text != "" {
		if _, err := fmt.Sscan(text, &runs); err != nil {
			t.Fatalf("%s: %v", runsEnv, err)
		}
	}
	begin, ask := apiserver.Beginning(t)
	states := func(seed uint64) *core.State {
		s := core.New(core.Options{Rules: ask, Seed: fmt.Sprint(seed), Nobody: core.Administrator})
		s.Begin(time.Unix(1_800_000_000, 0), begin)
		return s
	}
	first := make([][32]byte, runs)
	kept := make([][]string, min(runs, 200)) // to say what differs
	different := map[[32]byte]bool{}
	for seed := range runs {
		lines := trace(states(uint64(seed)), uint64(seed))
		if seed < len(kept) {
			kept[seed] = lines
		}
		first[seed] = sha256.Sum256([]byte(strings.Join(lines, "\n")))
		different[first[seed]] = true
	}
	if len(different) != runs {
		t.Errorf("%d seeds have %d traces", runs, len(different))
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for seed := range next {
				lines := trace(states(uint64(seed)), uint64(seed))
				if sha256.Sum256([]byte(strings.Join(lines, "\n"))) == first[seed] {
					continue
				}
				for i := range lines {
					if seed < len(kept) && (i >= len(kept[seed]) || lines[i] != kept[seed][i]) {
						t.Errorf("seed %d, line %d:\n%s\nfirst\n%s", seed, i, lines[i], kept[seed][min(i, len(kept[seed])-1)])
						break
					}
				}
				t.Errorf("seed %d has another trace the second time", seed)
			}
		})
	}
	for seed := range runs {
		next <- runs - 1 - seed
	}
	close(next)
	wg.Wait()
}

// tracedKinds are what runs make objects of.
var tracedKinds = []struct{ path, kind, rest string }{
	{"/api/v1/namespaces/default/configmaps", "v1 ConfigMap", `"data":{"a":"b"}`},
	{"/api/v1/namespaces/default/secrets", "v1 Secret", `"stringData":{"a":"b"}`},
	{"/api/v1/namespaces/default/pods", "v1 Pod", podBody},
	{"/api/v1/namespaces/default/services", "v1 Service", `"spec":{"type":"NodePort","ports":[{"port":80}]}`},
	{"/api/v1/namespaces", "v1 Namespace", `"spec":{}`},
	{"/apis/apps/v1/namespaces/default/deployments", "apps/v1 Deployment", `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + podBody + `}}`},
	{"/apis/batch/v1/namespaces/default/jobs", "batch/v1 Job", `"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}`},
}

// trace makes some random requests of a seed, and returns all that can be seen of them.
func trace(s *core.State, seed uint64) (lines []string) {
	r := rand.New(rand.NewPCG(seed, 7))
	now := time.Unix(1_800_000_000, 0)
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	ask := func(method, path, contentType, body string) []byte {
		now = now.Add(time.Duration(r.Int64N(int64(20 * time.Minute))))
		req := core.Request{Method: method, URL: path, ContentType: contentType, UserAgent: "trace/1", User: "u", Groups: []string{"system:masters"},
			Accept: pick("application/json", "application/json", "application/vnd.kubernetes.protobuf,application/json"), Body: []byte(body)}
		a := s.Step(now, req)
		lines = append(lines, fmt.Sprintf("%s %s %s: %d %q %q %q", method, path, body, a.Code, a.ContentType, a.Warnings, a.Body))
		return a.Body
	}
	watch := s.Step(now, core.Request{Method: "GET", URL: "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=1", Accept: "application/json"}).Watch
	kinds := []int{r.IntN(len(tracedKinds)), 0}
	for range 12 {
		k := tracedKinds[kinds[r.IntN(2)]]
		apiVersion, kind, _ := strings.Cut(k.kind, " ")
		name := pick("a", "bc", "d-e")
		object := func(meta string) string {
			return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s},%s}`, apiVersion, kind, meta, k.rest)
		}
		one := k.path + "/" + name
		switch r.IntN(10) {
		case 0, 1, 2:
			ask("POST", k.path, jsonType, object(fmt.Sprintf(`"name":%q`, name)))
		case 3:
			ask("POST", k.path+pick("", "?dryRun=All"), jsonType, object(`"generateName":"made-"`))
		case 4:
			ask("GET", k.path+pick("", "?limit=2", "?labelSelector=x%3Dy"), "", "")
		case 5:
			if got := s.Read(now, core.Request{Method: "GET", URL: one, Accept: "application/json"}); got.Code == 200 {
				var o map[string]any
				if json.Unmarshal(got.Body, &o) == nil {
					o["metadata"].(map[string]any)["labels"] = map[string]string{"x": pick("y", "z")}
					text, _ := json.Marshal(o)
					ask("PUT", one, jsonType, string(text))
				}
			}
		case 6:
			ask("PATCH", one, mergePatch, fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, r.IntN(3)))
		case 7:
			ask("PATCH", one+"?fieldManager=m&force=true", applyPatch, object(fmt.Sprintf(`"name":%q`, name)))
		case 8:
			ask("DELETE", pick(one, one, k.path), jsonType, pick("", `{"gracePeriodSeconds":0}`, `{"propagationPolicy":"Orphan"}`))
		case 9:
			ask("GET", one, "", "")
		}
	}
	for _, e := range watch.Poll(s.Now()) {
		a, err := watch.Encode(s.Now(), now, e, nil)
		lines = append(lines, fmt.Sprintf("%s %s %v", e.Type, a.Body, err))
	}
	for o := range s.Now().All("/") {
		lines = append(lines, fmt.Sprintf("%s %d %s", o.Key, o.Version, o.JSON))
	}
	return slices.Clip(lines)
}
