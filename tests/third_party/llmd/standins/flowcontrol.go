package flowcontrol

import (
	"context"
	"time"

	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/scheduling"
)

type FlowKey struct {
	ID       string
	Priority int
}

type FlowControlRequest interface {
	InferenceRequest() *scheduling.InferenceRequest
}

type QueueItemAccessor interface {
	OriginalRequest() FlowControlRequest
	EnqueueTime() time.Time
}

type FlowQueueAccessor interface {
	Len() int
	Peek() QueueItemAccessor
	PeekHead() QueueItemAccessor // Its name in v0.9.0.
	FlowKey() FlowKey
}

type PriorityBandAccessor interface {
	Priority() int
	IterateQueues(callback func(FlowQueueAccessor) bool)
}

type FairnessPolicy interface {
	NewState(context.Context) any
	Pick(context.Context, PriorityBandAccessor) (FlowQueueAccessor, error)
}
