package core

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// sharded are the toy rules, with shards: "shard" in the query has the field, the first and the last hash.
func sharded(req *rules.Request) (*rules.Answer, error) {
	answer, err := toy(req)
	_, query, _ := strings.Cut(req.URL, "?")
	values, bad := url.ParseQuery(query)
	if text := values.Get("shard"); err == nil && bad == nil && answer.List != nil && text != "" {
		var s rules.Shard
		if _, err := fmt.Sscan(text, &s.Field, &s.First, &s.Last); err != nil {
			return nil, err
		}
		answer.List.Shards, answer.List.ShardSelector = []rules.Shard{s}, text
	}
	return answer, err
}

// Shards that cover all hashes divide a list and the events of a watch: each object, and each of its events, is in the
// shard of its hash.
func TestShardsDivideListsAndEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Options{Rules: sharded, Gates: Gates{ShardedListAndWatch: true}})
		cuts := rapid.SliceOfNDistinct(rapid.Uint64Min(1), 0, 5, rapid.ID).Draw(t, "cuts")
		slices.Sort(cuts)
		of := map[string]*Watch{}
		open := func(query string) { of[query] = step(t, s, "GET", toys+"?watch=1&"+query, nil, 200).Watch }
		open("")
		var ranges [][2]uint64
		for i, first := range append([]uint64{0}, cuts...) {
			last := uint64(math.MaxUint64)
			if i < len(cuts) {
				last = cuts[i] - 1
			}
			ranges = append(ranges, [2]uint64{first, last})
			open(shardQuery("uid", first, last))
		}
		for range rapid.IntRange(1, 30).Draw(t, "writes") {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "name")
			method := rapid.SampledFrom([]string{"POST", "PUT", "DELETE"}).Draw(t, "method")
			req := Request{Method: method, URL: toys + "/" + name, Body: toyBody(name, "x", rapid.StringMatching("[a-z]{3}").Draw(t, "data"))}
			if method == "POST" {
				req.URL = toys
			}
			s.Step(start, req)
		}
		whole := read(t, s.Now(), "").Items
		events := of[""].Poll(s.Now())
		objects, told := 0, 0
		for _, r := range ranges {
			query := shardQuery("uid", r[0], r[1])
			within := func(uid string) bool { h := hashed(uid); return r[0] <= h && h <= r[1] }
			for _, o := range read(t, s.Now(), "?"+query).Items {
				if !within(o.Metadata.UID) {
					t.Fatalf("%s of %s is in %s", o.Metadata.Name, o.Metadata.UID, query)
				}
				objects++
			}
			var want []Event
			for _, e := range events {
				var o object
				if err := json.Unmarshal(e.Object.JSON, &o); err != nil {
					t.Fatal(err)
				}
				if within(o.Metadata.UID) {
					want = append(want, e)
				}
			}
			got := of[query].Poll(s.Now())
			if !slices.Equal(got, want) {
				t.Fatalf("%s has %d events, want %d of all %d", query, len(got), len(want), len(events))
			}
			told += len(got)
		}
		if objects != len(whole) || told != len(events) {
			t.Fatalf("the shards have %d objects and %d events, want %d and %d", objects, told, len(whole), len(events))
		}
	})
}

func shardQuery(field string, first, last uint64) string {
	return "shard=" + url.QueryEscape(fmt.Sprint(field, " ", first, " ", last))
}

func hashed(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// The members of an object are found as encoding/json finds them.
func TestMember(t *testing.T) {
	values := rapid.SampledFrom([]any{"", "a", `q"\`, "}", "{,", 1, -2.5, true, nil, []any{}, []any{"]", 1}, map[string]any{}, map[string]any{"uid": "other", "x": []any{map[string]any{"uid": "z"}}}})
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.MapOf(rapid.SampledFrom([]string{"uid", "a", "metadata", "z", ""}), values).Draw(t, "object")
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"uid", "a", "metadata", "z", "none", ""} {
			value, ok := o[key]
			want, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				want = nil
			}
			got := member(text, key)
			if string(got) != string(want) {
				t.Fatalf("%s in %s: %s, want %s", key, text, got, want)
			}
			if value, _ := value.(string); string(unquoted(got)) != value {
				t.Fatalf("the text of %s is %q, want %q", got, unquoted(got), value)
			}
		}
	})
	if got := member([]byte(`"a"`), "a"); got != nil {
		t.Errorf("a string has a member: %s", got)
	}
}

// Without the gate the parameter is left out, however it is written. Nothing else of a URL changes.
func TestGatesOfURLs(t *testing.T) {
	for url, want := range map[string]string{
		"/a":                                  "/a",
		"/a?":                                 "/a?",
		"/a?b=c&limit=1":                      "/a?b=c&limit=1",
		"/a?shardSelector=x":                  "/a?",
		"/a?b=c&shardSelector=x&d=%zz":        "/a?b=c&d=%zz",
		"/a?shard%53elector=x&b":              "/a?b",
		"/a?shardSelector":                    "/a?",
		"/a?shardSelectors=x&b=shardSelector": "/a?shardSelectors=x&b=shardSelector",
		"/shardSelector=x":                    "/shardSelector=x",
	} {
		if got := (Gates{}).open(url); got != want {
			t.Errorf("%s becomes %s, want %s", url, got, want)
		}
		if got := (Gates{ShardedListAndWatch: true}).open(url); got != url {
			t.Errorf("%s becomes %s with the gate", url, got)
		}
	}
}

func TestParseGates(t *testing.T) {
	for _, on := range []bool{true, false} {
		if g, err := ParseGates(map[string]bool{"ShardedListAndWatch": on}); err != nil || g.ShardedListAndWatch != on {
			t.Errorf("%t: %v, %v", on, g, err)
		}
	}
	if _, err := ParseGates(map[string]bool{"WatchList": true, "AllAlpha": false}); err == nil || !strings.Contains(err.Error(), `"AllAlpha"; it has ShardedListAndWatch`) {
		t.Errorf("unknown gates: %v", err)
	}
}
