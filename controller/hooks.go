package controller

// and returns hooks that call first and then h.
func (h Hooks) and(first Hooks) Hooks {
	return Hooks{
		Reconciled: both(first.Reconciled, h.Reconciled),
		Problem:    both(first.Problem, h.Problem),
		Waited:     both(first.Waited, h.Waited),
		Worked:     both(first.Worked, h.Worked),
	}
}

func both[T any](first, second func(T)) func(T) {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return func(v T) {
		first(v)
		second(v)
	}
}
