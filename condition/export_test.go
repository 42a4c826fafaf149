package condition

// The tests call these directly.
var (
	Set      = set
	Remove   = remove
	Validate = validate
)
