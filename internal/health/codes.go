package health

// All codes. docs/troubleshooting.md lists them with their English texts.
const (
	// The agent itself, as a command sees it.
	AgentRuns        Code = "agent.runs"
	AgentNotRunning  Code = "agent.not_running"
	AgentSilent      Code = "agent.silent"      // it takes requests and does not answer
	AgentUnreachable Code = "agent.unreachable" // it could not be asked, for another reason
	AgentUnreadable  Code = "agent.unreadable"  // something else answers at its address
	AgentVersion     Code = "agent.other_version"
	ServiceStopped   Code = "agent.service_stopped" // it is registered, and does not run
	ServiceBroken    Code = "agent.service_broken"  // its definition names a program that is not there
	ServiceMissing   Code = "agent.service_missing" // nothing starts it at log-in
	AgentNotAsked    Code = "agent.not_asked"       // the command has looked itself
	AgentPaused      Code = "agent.paused"
	TrayHostMissing  Code = "agent.no_tray_host"
	AgentSafeMode    Code = "agent.safe_mode"      // it has crashed too often
	UpdateRefused    Code = "agent.update_refused" // the program on disk does not start
	Unexplained      Code = "agent.unexplained"    // an error that has no code of its own

	// Settings and catalogue.
	SettingsFine          Code = "settings.fine"
	SettingsMistake       Code = "settings.mistake"
	CatalogueMistake      Code = "settings.catalogue_mistake"
	ReloadRefused         Code = "settings.reload_refused"    // the agent goes on with the old ones
	SettingsIgnored       Code = "settings.ignored"           // the administrator's, because anybody may have written them
	VariablesUnknown      Code = "settings.unknown_variables" // of the environment; they may be another program's
	CatalogueMissing      Code = "settings.no_catalogue"
	CatalogueOther        Code = "settings.other_catalogue"         // the agent uses another than is set here
	CatalogueOtherMistake Code = "settings.other_catalogue_mistake" // in the one that is set here

	// Sources: how each of them is.
	SourcesNone      Code = "sources.none"
	SourceWorks      Code = "sources.works"
	SourceStarting   Code = "sources.starting"
	SourceUnreadable Code = "sources.unreadable" // because of one of those below, if the source knows which
	SourceRemark     Code = "sources.remark"     // it works with limits

	// Sources: why one cannot be read, or what it leaves out.
	SourcesNotOpened   Code = "sources.not_opened"
	SoundServerAway    Code = "sources.sound_server_away"
	AudioServiceAway   Code = "sources.audio_service_away"   // Windows
	AudioServiceSilent Code = "sources.audio_service_silent" // Windows: a call has not returned
	CamerasUnreadable  Code = "sources.cameras_unreadable"
	EndpointFileWrong  Code = "sources.endpoint_file_wrong"
	AccessDenied       Code = "sources.access_denied"

	// Sources: what one leaves out.
	SoundCardUnreadable Code = "sources.sound_card_unreadable"
	SoundCardHidden     Code = "sources.sound_card_hidden"   // its node cannot be seen
	EndpointUnreadable  Code = "sources.endpoint_unreadable" // in part
	SoundServerNone     Code = "sources.sound_server_none"   // ALSA lists
	CameraDenied        Code = "sources.camera_denied"       // no permission
	CameraHidden        Code = "sources.camera_hidden"       // its node cannot be seen
	CameraUnreadable    Code = "sources.camera_unreadable"
	HIDLeftOut          Code = "sources.hid_left_out"
	EndpointFileKept    Code = "sources.endpoint_file_kept" // its last good content is

	// Sources: what goes unnoticed.
	FileUnwatched    Code = "sources.file_unwatched"
	PlugsUnheard     Code = "sources.plugs_unheard"
	AccessUnwatched  Code = "sources.access_unwatched"
	DevicesUnwatched Code = "sources.devices_unwatched" // no longer watched
	WatchLimit       Code = "sources.watch_limit"       // Linux: the reason, if the user's limit of watches is reached

	// HID devices.
	HIDWorks      Code = "sources.hid_works"
	HIDNotListed  Code = "sources.hid_not_listed"
	HIDUnreadable Code = "sources.hid_unreadable"
	HIDDenied     Code = "sources.hid_denied" // no permission
	HIDBusy       Code = "sources.hid_busy"   // another program keeps it to itself
	HIDHidden     Code = "sources.hid_hidden" // its node cannot be seen
	HIDFails      Code = "sources.hid_fails"

	// Devices.
	DevicePlugged      Code = "devices.plugged"
	DevicesNone        Code = "devices.none"
	DevicesNoneYet     Code = "devices.none_yet"      // some sources have not answered
	DevicesNoneSeen    Code = "devices.none_seen"     // some sources fail
	DeviceWithheld     Code = "devices.withheld"      // the catalogue knows it and does not report it
	DeviceJackEmpty    Code = "devices.jack_empty"    // the same, since nothing is plugged into its jack
	DeviceNoMicrophone Code = "devices.no_microphone" // the present profile of its sound card has none
	DeviceNotKnown     Code = "devices.not_known"     // it is the vendor's, but not a product of the catalogue
	DevicesOfOneID     Code = "devices.of_one_id"     // the client cannot tell them apart
	DeviceNameLong     Code = "devices.name_long"     // the client may cut it
	DeviceNamedDefault Code = "devices.name_default"  // the client may take it for its entry "Default"

	// Why an endpoint is not reported.
	WithheldUnknown   Code = "devices.why_not_in_catalogue"
	WithheldAway      Code = "devices.why_away" // switched off or out of reach
	WithheldByRule    Code = "devices.why_by_rule"
	WithheldNoRule    Code = "devices.why_no_rule"
	WithheldJackEmpty Code = "devices.why_jack_empty"
	WithheldNoID      Code = "devices.why_no_id"
	WithheldOfSeveral Code = "devices.why_of_several" // virtual, and it is not known of which product
	WithheldVirtual   Code = "devices.why_virtual"
	WithheldModel     Code = "devices.why_model_unknown" // of several products with its hardware ids, nothing tells which one is there

	// Flags of a microphone.
	MuteKnown      Code = "flags.mute_known"
	MuteStale      Code = "flags.mute_stale" // the last word of a source that fails
	MuteUnknown    Code = "flags.mute_unknown"
	MuteNotSent    Code = "flags.mute_not_sent" // the settings leave it out
	MuteSourceless Code = "flags.mute_sourceless"
	MuteInSoftware Code = "flags.mute_in_software"
	FlagsUnknown   Code = "flags.unknown" // others than the mute

	// Flags: why a source of the catalogue does not know one.
	WhyNotSaid           Code = "flags.why_not_said"
	WhyRuleUnknown       Code = "flags.why_rule_unknown"
	WhyOtherUnit         Code = "flags.why_other_unit"
	WhyMicrophoneUnknown Code = "flags.why_microphone_unknown" // of a virtual input: which one it records
	WhyEffectUnknown     Code = "flags.why_effect_unknown"
	WhyMuteUnknown       Code = "flags.why_mute_unknown"
	WhyMuteInSoftware    Code = "flags.why_mute_in_software"
	WhyMixerUnreadable   Code = "flags.why_mixer_unreadable"
	WhyControlValue      Code = "flags.why_control_value"
	WhyControlKind       Code = "flags.why_control_kind"
	WhyControlMissing    Code = "flags.why_control_missing"
	WhySwitchMissing     Code = "flags.why_switch_missing"
	WhySwitchAmbiguous   Code = "flags.why_switch_ambiguous"
	WhyHIDUnreadable     Code = "flags.why_hid_unreadable"
	WhyHIDRemark         Code = "flags.why_hid_remark"
	WhyHIDMuteNotShown   Code = "flags.why_hid_mute_not_shown"
	WhyHIDSwitchNotShown Code = "flags.why_hid_switch_not_shown"
	WhyHIDNotRead        Code = "flags.why_hid_not_read"
	WhyHIDMissing        Code = "flags.why_hid_missing"

	// What keeps a source from reading its value from a HID device.
	HIDControlIllegal Code = "flags.hid_control_illegal"
	HIDAnchorMissing  Code = "flags.hid_anchor_missing"
	HIDMuteLamp       Code = "flags.hid_mute_lamp"
	HIDFeatureMissing Code = "flags.hid_feature_missing"
	HIDChangesUntold  Code = "flags.hid_changes_untold"
	HIDSilent         Code = "flags.hid_silent"

	HIDFirmwareUnknown Code = "flags.hid_firmware_unknown"
	HIDReportShort     Code = "flags.hid_report_short"

	// What the vendor's software pushes.
	PushInForce      Code = "pushes.in_force"
	PushWaits        Code = "pushes.waits"
	PushOtherSerials Code = "pushes.other_serials"
	PushAmbiguous    Code = "pushes.ambiguous"
	PushNoEffect     Code = "pushes.no_effect"

	// Clients: how each of them is, because of one of those below.
	ClientServed      Code = "clients.served"
	ClientBehind      Code = "clients.behind" // it has not accepted the latest list yet
	ClientLate        Code = "clients.late"   // it is told over HTTP
	ClientSlow        Code = "clients.slow"
	ClientConnecting  Code = "clients.connecting"
	ClientUnsupported Code = "clients.unsupported"
	ClientRefuses     Code = "clients.refuses"
	ClientForeign     Code = "clients.foreign"
	ClientWaiting     Code = "clients.waiting"
	ClientsSearched   Code = "clients.searched"  // the search has just begun
	ClientsMissing    Code = "clients.missing"   // no client was found, for another reason than those below
	ClientRemark      Code = "clients.remark"    // something else is where a client might be
	ClientsUnwatched  Code = "clients.unwatched" // nothing tells of new ones

	// Clients: the reasons.
	ClientNotReady    Code = "clients.not_ready"
	ClientBusy        Code = "clients.busy"
	ClientIDRefused   Code = "clients.id_refused"
	OriginRefused     Code = "clients.origin_refused"
	TokenRevoked      Code = "clients.token_revoked"
	VersionRefused    Code = "clients.version_refused"
	EncodingRefused   Code = "clients.encoding_refused"
	NotAuthorized     Code = "clients.not_authorized"
	ListRefused       Code = "clients.list_refused"
	BadData           Code = "clients.bad_data"
	CommandUnknown    Code = "clients.command_unknown"
	NotCertified      Code = "clients.not_certified" // it never answers the command
	NoAnswer          Code = "clients.no_answer"
	Retried           Code = "clients.retried"     // it failed in a way that may pass
	ClientUnanswering Code = "clients.unanswering" // it has answered before
	ClientOverHTTP    Code = "clients.over_http"
	ClientHeldBack    Code = "clients.held_back"
	OwnerUnknown      Code = "clients.owner_unknown"
	OtherOwner        Code = "clients.other_owner"
	ClientElevated    Code = "clients.elevated" // it may be another user's: the system does not tell
	OtherSession      Code = "clients.other_session"

	// Clients: none is there, and what is where one might be.
	ClientsNone       Code = "clients.none"
	NobodyThere       Code = "clients.nobody_there" // at one address
	SocketUnreachable Code = "clients.socket_unreachable"
	PortHeld          Code = "clients.port_held"
	FolderUnreadable  Code = "clients.folder_unreadable"
	SocketLinkBroken  Code = "clients.socket_link_broken"
	SocketIsNone      Code = "clients.socket_is_none"

	// What only the user can check, in the client.
	UserInput        Code = "user.input"
	UserDefaultInput Code = "user.default_input"
	UserInCall       Code = "user.in_call"
)
