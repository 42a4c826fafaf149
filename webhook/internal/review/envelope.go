package review

import (
	"errors"
	"fmt"
	"strings"
)

// maxUID is the longest UID of a review in bytes.
const maxUID = 128

var envelope = []string{"apiVersion", "kind", "request"}

// Parse reads a review of a group, such as "admission.k8s.io/", and kind. request reads the member
// request and sets uid. version is v1 or v1beta1. The refusal has the UID if it was read.
func Parse(body []byte, group, kind string, uid *string, request func(*Reader) error) (version string, no *RefusalError) {
	var apiVersion, got string
	found := false
	err := Read(body, func(r *Reader) error {
		return r.Fields(envelope, func(i int) (err error) {
			switch i {
			case 0:
				apiVersion, err = r.String(group+"v1", group+"v1beta1")
			case 1:
				got, err = r.String(kind)
			default:
				found = !r.Null()
				if found {
					err = request(r)
				}
			}
			return err
		})
	})
	if len(*uid) > maxUID {
		*uid, err = "", fmt.Errorf("the uid has more than %d bytes", maxUID)
	}
	if err != nil {
		return "", Bad(*uid, "the body is no "+kind, err)
	}
	version, ours := strings.CutPrefix(apiVersion, group)
	switch {
	case got != kind || !ours || version != "v1" && version != "v1beta1":
		err = fmt.Errorf("want %sv1 or v1beta1 %s, got apiVersion %q, kind %q", group, kind, Clip(apiVersion), Clip(got))
	case !found:
		err = errors.New("there is no request")
	case *uid == "":
		err = errors.New("the request has no uid")
	default:
		return version, nil
	}
	return "", Unanswerable(*uid, kind, err)
}

// Unanswerable returns the refusal of a review whose request lacks something.
func Unanswerable(uid, kind string, err error) *RefusalError {
	return Bad(uid, "the "+kind+" cannot be answered", err)
}

// Clip bounds text from the caller in logs and answers.
func Clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
