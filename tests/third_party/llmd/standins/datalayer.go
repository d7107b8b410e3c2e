package datalayer

type EndpointMetadata struct{}
