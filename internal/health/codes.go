package health

// All that can be said. English has the text of each, docs/troubleshooting.md lists them.
const (
	// The agent itself, as a command sees it.
	AgentRuns        Code = "agent.runs"
	AgentNotRunning  Code = "agent.not_running"
	AgentSilent      Code = "agent.silent"      // it takes requests and does not answer
	AgentUnreachable Code = "agent.unreachable" // it could not be asked, for another reason
	AgentVersion     Code = "agent.other_version"
	AgentNotAsked    Code = "agent.not_asked" // the command has looked itself

	// Settings and catalogue.
	SettingsFine          Code = "settings.fine"
	SettingsMistake       Code = "settings.mistake"
	CatalogueMistake      Code = "settings.catalogue_mistake"
	CatalogueMissing      Code = "settings.no_catalogue"
	CatalogueOther        Code = "settings.other_catalogue"         // the agent uses another than is set here
	CatalogueOtherMistake Code = "settings.other_catalogue_mistake" // in the one that is set here
)
