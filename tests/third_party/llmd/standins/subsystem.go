package metrics

const LLMDRouterEndpointPickerSubsystem = "llm_d_epp"
