package plugin

import (
	"context"
	"encoding/json"

	"github.com/prometheus/client_golang/prometheus"
)

type TypedName struct{ Type, Name string }

type DataKey struct{ name, owner string }

func NewDataKey(name, owner string) DataKey { return DataKey{name, owner} }

type Plugin interface{ TypedName() TypedName }

type Handle interface {
	Context() context.Context
	Metrics() prometheus.Registerer
}

type StateDumper interface {
	DumpState() (json.RawMessage, error)
}
