package metrics

func HelpMsgWithStability(text, stability string) string { return "[" + stability + "] " + text }
