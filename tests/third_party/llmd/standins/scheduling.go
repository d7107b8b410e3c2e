package scheduling

type InferenceRequest struct {
	RequestID, FairnessID string
	attributes            map[any]any
}

func (r *InferenceRequest) PutAttribute(key, value any) {
	if r.attributes == nil {
		r.attributes = map[any]any{}
	}
	r.attributes[key] = value
}

func ReadRequestAttribute[T any](r *InferenceRequest, key any) (T, bool) {
	value, ok := r.attributes[key].(T)
	return value, ok
}

type SchedulingResult struct{}
