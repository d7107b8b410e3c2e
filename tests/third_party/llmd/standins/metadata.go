package metadata

const DefaultFairnessID = "default-flow"
