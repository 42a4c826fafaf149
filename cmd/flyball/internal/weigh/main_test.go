package weigh

import (
	"testing"

	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }
