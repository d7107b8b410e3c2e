package requestcontrol

import (
	"context"

	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/datalayer"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/scheduling"
)

type Usage struct{ PromptTokens, CompletionTokens int }

type Response struct {
	EndOfStream bool
	Usage       Usage
}

// PreRequest is a hook that gives an error in later versions, and nothing in earlier ones.
type PreRequest any

type ResponseBodyProcessor interface {
	ResponseBody(context.Context, *scheduling.InferenceRequest, *Response, *datalayer.EndpointMetadata)
}
