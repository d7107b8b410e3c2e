package metrics

const ALPHA = "ALPHA"
