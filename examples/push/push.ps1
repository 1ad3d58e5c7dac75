# push.ps1 tells Sidetone's agent whether the headset itself has muted its microphone.
# Windows, PowerShell 5.1 or later. Usage: .\push.ps1 PRODUCT true|false
param(
    [Parameter(Mandatory)] [string] $Product,
    [Parameter(Mandatory)] [ValidateSet('true', 'false', IgnoreCase = $false)] [string] $Muted
)
$ErrorActionPreference = 'Stop'

function Stop-Push([string] $Why) {
    [Console]::Error.WriteLine("push: $Why")
    exit 1
}

# A lease: say it again every 30 s, before ttl_ms runs out, and at once after a failure or on a new "instance" of the status.
$body = '{"owner": "acme-suite", "ttl_ms": 60000, "state": {"hardware_mute": ' + $Muted + '}}'
$request = "PUT /v1/states/$([Uri]::EscapeDataString($Product)) HTTP/1.0`r`n" +
    "Content-Type: application/json`r`nContent-Length: $($body.Length)`r`n`r`n$body"

$vendor = 'acme' # vendor.id in your catalogue
$sid = [Security.Principal.WindowsIdentity]::GetCurrent().User.Value
$name = "sidetone-$vendor-$sid-$((Get-Process -Id $PID).SessionId)"
$pipe = New-Object System.IO.Pipes.NamedPipeClientStream -ArgumentList @(
    '.', $name, [IO.Pipes.PipeDirection]::InOut, [IO.Pipes.PipeOptions]::None,
    [Security.Principal.TokenImpersonationLevel]::Anonymous)
try {
    $pipe.Connect(5000)
} catch {
    Stop-Push "no agent runs (start it with 'sidetone run'): \\.\pipe\$name"
}
try {
    $bytes = [Text.Encoding]::ASCII.GetBytes($request)
    $pipe.Write($bytes, 0, $bytes.Length)
    # HTTP/1.0: the answer ends where the connection does.
    $answer = (New-Object System.IO.StreamReader -ArgumentList $pipe).ReadToEnd()
} catch {
    Stop-Push "no answer: $($_.Exception.Message)"
} finally {
    $pipe.Dispose()
}

$head, $text = $answer -split "`r`n`r`n", 2
if ($head -notmatch '^HTTP/1\.[01] 200 ') { Stop-Push "the agent refuses: $text" }
$text
