package paths

// stateFolder is that of all agents.
func stateFolder(getenv func(string) string) (string, error) { return AgentsFolder(getenv) }
