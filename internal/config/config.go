// Package config loads the agent's settings from files, environment variables and flags. All values
// are validated, and every problem names its place.
package config

import (
	"log/slog"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/policy"
)

// Config is the agent's settings, complete and checked. Paths in it are absolute.
type Config struct {
	Catalogue string  `yaml:"catalogue,omitempty" help:"the vendor's catalogue, or a folder of them"`
	Vendor    string  `yaml:"vendor,omitempty" help:"id of the vendor whose agent to run or to ask; needed only where several run"`
	RPC       RPC     `yaml:"rpc,omitempty"`
	Report    Report  `yaml:"report,omitempty"`
	Sources   Sources `yaml:"sources,omitempty"`
	Engine    Engine  `yaml:"engine,omitempty"`
	Pause     Pause   `yaml:"pause,omitempty"`
	Control   Control `yaml:"control,omitempty"`
	Tray      Tray    `yaml:"tray,omitempty"`
	Log       Log     `yaml:"log,omitempty"`
}

// RPC is how clients are found and talked to.
type RPC struct {
	Clients       policy.Selection   `yaml:"clients,omitempty" help:"which clients to report to: all that run, or the first that connects"`
	Transports    []policy.Transport `yaml:"transports,omitempty" help:"how to talk to a client, best first: ipc, websocket, http"`
	Ports         Ports              `yaml:"ports,omitempty" help:"ports to look for clients on, in this order, as 6463-6473 or 6463,6470"`
	IPCFolders    []string           `yaml:"ipc_folders,omitempty" help:"folders of clients' IPC sockets, instead of the system's"`
	Origin        string             `yaml:"origin,omitempty" help:"origin to send on WebSocket, instead of the catalogue's"`
	OnExit        policy.Exit        `yaml:"on_exit,omitempty" help:"what an orderly shutdown leaves in the client: clear, unmute or leave"`
	ProbeTimeout  time.Duration      `yaml:"probe_timeout,omitempty" help:"how long a port may take to prove that it is a client"`
	AnswerTimeout time.Duration      `yaml:"answer_timeout,omitempty" help:"how long a client may take to answer over IPC and WebSocket"`
	HTTPTimeout   time.Duration      `yaml:"http_timeout,omitempty" help:"how long a client that queues its callers may take to answer"`
	Tokens        int                `yaml:"tokens,omitempty" help:"how many connects and HTTP requests a client lets through at once"`
	TokenEvery    time.Duration      `yaml:"token_every,omitempty" help:"how long a client takes to allow one more"`
	RetryMax      time.Duration      `yaml:"retry_max,omitempty" help:"longest pause between two searches, in the first minutes without a client"`
	ResendEvery   time.Duration      `yaml:"resend_every,omitempty" help:"how often every client is sent its list again; 0 is never"`
}

// Report controls what is reported to the client.
type Report struct {
	Fields     []devices.Field  `yaml:"fields,omitempty" help:"the flags that may be reported"`
	AudioID    devices.IDScheme `yaml:"audio_id,omitempty" help:"which id to report for audio devices, instead of the system's default"`
	VideoID    devices.IDScheme `yaml:"video_id,omitempty" help:"which id to report for cameras, instead of the system's default"`
	IDMaxBytes int              `yaml:"id_max_bytes,omitempty" help:"length in bytes to which ids that are names are cut, as the client does; 0 is never"`
}

// Sources is where endpoints come from.
type Sources struct {
	Audio       bool     `yaml:"audio,omitempty" help:"look for audio devices"`
	Camera      bool     `yaml:"camera,omitempty" help:"look for cameras"`
	HID         bool     `yaml:"hid,omitempty" help:"read the HID devices that the catalogue names"`
	Files       []string `yaml:"files,omitempty" help:"files that describe further devices"`
	PulseServer string   `yaml:"pulse_server,omitempty" help:"address of the sound server on Linux, instead of that of environment and client.conf"`
	Effects     bool     `yaml:"effects,omitempty" help:"Windows: hold a silent stream of each microphone whose catalogue asks for os_effects"`
}

// Engine controls how changes are debounced.
type Engine struct {
	RemovalGrace time.Duration `yaml:"removal_grace,omitempty" help:"how long a device may be gone before its removal is reported"`
	StaleAfter   time.Duration `yaml:"stale_after,omitempty" help:"how long the devices of a failed source are kept"`
}

// Pause controls what clients see while the user has paused reporting.
type Pause struct {
	List devices.PauseList `yaml:"list,omitempty" help:"what clients see while reporting is paused: empty or unmuted"`
}

// Control is where the local API is, for the command line and the vendor's own software.
type Control struct {
	Socket string `yaml:"socket,omitempty" help:"path of the local API's socket (Windows: name of its pipe), instead of the user's default"`
}

// Tray holds options of the tray icon.
type Tray struct {
	NotifyMute bool `yaml:"notify_mute,omitempty" help:"show a notification when a microphone's mute is pressed while a client is connected"`
}

// Log is what is logged, and how.
type Log struct {
	Level  LogLevel  `yaml:"level,omitempty" help:"lowest level that is logged: debug, info, warn or error"`
	Format LogFormat `yaml:"format,omitempty" help:"text or json"`
}

// LogLevel is the lowest level that is logged.
type LogLevel string

// The log levels.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// Enum lists the names that a file may use.
func (LogLevel) Enum() []string {
	return devices.Names([]LogLevel{LogDebug, LogInfo, LogWarn, LogError})
}

// Slog converts the level to log/slog's.
func (l LogLevel) Slog() slog.Level {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(l)) // an unknown name leaves it as it is
	return level
}

// LogFormat is the format of a log line.
type LogFormat string

// The log formats.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Enum lists the names that a file may use.
func (LogFormat) Enum() []string { return devices.Names([]LogFormat{LogText, LogJSON}) }

// Default returns the settings used where nothing is configured.
func Default() *Config {
	ports := make(Ports, 0, 11)
	for p := 6463; p <= 6473; p++ {
		ports = append(ports, p)
	}
	return &Config{
		RPC: RPC{
			Clients: policy.AllClients, Transports: slices.Clone(policy.Transports), Ports: ports, IPCFolders: []string{}, OnExit: policy.ExitClear,
			ProbeTimeout: policy.ProbeTimeout, AnswerTimeout: policy.AnswerTimeout, HTTPTimeout: policy.HTTPTimeout,
			Tokens: policy.Tokens, TokenEvery: policy.TokenEvery, RetryMax: policy.RetryMax,
		},
		Report:  Report{Fields: append([]devices.Field{}, devices.Fields...), IDMaxBytes: 127},
		Sources: Sources{Audio: true, Camera: true, HID: true, Files: []string{}},
		Engine:  Engine{RemovalGrace: time.Second, StaleAfter: 30 * time.Second},
		Pause:   Pause{List: devices.PauseEmpty},
		Log:     Log{Level: LogInfo, Format: LogText},
	}
}
