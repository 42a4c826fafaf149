package cert

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSelfSignedIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		get := SelfSigned().GetCertificate
		first, err := get(nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(selfSignedRenew - time.Second)
		if again, _ := get(nil); again != first {
			t.Error("made anew too early")
		}
		time.Sleep(2 * time.Second)
		second, err := get(nil)
		if err != nil || second == first {
			t.Fatalf("not made anew: %v", err)
		}
		leaf := second.Leaf
		if leaf.IsCA || leaf.VerifyHostname("localhost") != nil || time.Now().Before(leaf.NotBefore) || !time.Now().Add(selfSignedRenew).Before(leaf.NotAfter) {
			t.Errorf("valid from %v to %v", leaf.NotBefore, leaf.NotAfter)
		}
	})
}
