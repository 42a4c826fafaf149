package condition

import "k8s.io/apimachinery/pkg/api/meta"

// The tests call these directly.
var (
	Set      = set
	Remove   = meta.RemoveStatusCondition
	Validate = validate
)
