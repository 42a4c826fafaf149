package apiserver

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed"
)

// What is read of a queue is what was added, and a reader that is always behind does not let it grow.
func TestQueueReadsWhatWasAdded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var q queue
		var want bytes.Buffer
		most := 0
		for range rapid.IntRange(1, 300).Draw(r, "steps") {
			added := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(r, "added")
			q.add(added)
			want.Write(added)
			got := make([]byte, rapid.IntRange(0, 30).Draw(r, "size"))
			got = got[:q.read(got)]
			if text := want.Next(len(got)); !bytes.Equal(got, text) || q.unread != want.Len() || len(got) == 0 && cap(got) > 0 && want.Len() > 0 {
				r.Fatalf("read %q, want %q; %d unread, want %d", got, text, q.unread, want.Len())
			}
			most = max(most, want.Len())
			if len(q.parts) > 2*most+4 {
				r.Fatalf("%d parts for at most %d bytes", len(q.parts), most)
			}
		}
	})
}
