package health

// reread ends what to do about a mistake in a file that a running agent reads.
const reread = "[; then have the agent read it again (kill -HUP {pid}, or POST /v1/reload), which keeps the old one until then]"

// English has a text for every code. It tells the other languages which arguments there are.
var English = Texts{
	AgentRuns: {Message: "the agent runs as process {pid}, for {age}"},
	AgentNotRunning: {
		"no agent runs for this user, so the client is told nothing",
		"start it with 'sidetone run --catalogue FILE', as the user who runs the client",
	},
	AgentSilent: {
		"the agent of this user does not answer",
		"end it and start it again; if somebody has stopped it (kill -STOP, Ctrl-Z, a debugger), let it go on",
	},
	AgentUnreachable: {
		"the agent could not be asked: {reason}",
		"run this as the user who runs the agent; if that is so already, restart the agent",
	},
	AgentVersion: {
		"the agent that runs (process {pid}) is version {version}, this command is {own}",
		"restart the agent, so that both are of one version",
	},
	AgentNotAsked: {
		"all that follows was read by this command itself, once",
		"start the agent and run this again to see what the vendor's software pushes and what clients have",
	},

	SettingsFine:     {Message: "settings and the catalogue {path} are in order; it has {products|product|products} of {vendor}"},
	SettingsMistake:  {"{mistake}", "correct it, until 'sidetone config check' finds nothing" + reread},
	CatalogueMistake: {"{mistake}", "correct it, until 'sidetone catalogue check {path}' finds nothing" + reread},
	CatalogueMissing: {
		"no catalogue is set, so no device can be recognised",
		"say which devices are yours: --catalogue FILE, SIDETONE_CATALOGUE or 'catalogue:' in the settings file",
	},
	CatalogueOther: {
		"the agent uses another catalogue than the settings here, which name {path}",
		"if that is the one you mean, restart the agent with it",
	},
	CatalogueOtherMistake: {
		"{mistake}",
		"correct it, until 'sidetone catalogue check {path}' finds nothing, or leave it out: the agent has another",
	},
}
