# check.ps1 looks at what only a real Windows can show of Sidetone's agent: docs/windows.md lists its rules.
#
#   powershell -ExecutionPolicy Bypass -File check.ps1 -Vendor acme -Program C:\path\sidetone.exe
#
#   -Only W4,W7     these rules alone
#   -OtherUser NAME another account of this machine, whose password is asked for (W5)
#   -NoQuestions    what a person would have to do or see is only listed
#
# Windows PowerShell 5.1, nothing to install. The agent of the vendor runs, as the user who calls this. It changes nothing: what it starts
# it ends, what it writes is in a folder of its own below %TEMP%. W6 and W15 copy the program there. W36 has agent and tray end, if a person
# lets it. Exit code 1 if a rule failed.
#Requires -Version 5.1 -PSEdition Desktop
param(
    [Parameter(Mandatory = $true)] [string] $Vendor,
    [Parameter(Mandatory = $true)] [string] $Program,
    [string[]] $Only = @(),
    [string] $OtherUser = '',
    [switch] $NoQuestions
)
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2.0

$Program = (Resolve-Path -LiteralPath $Program).ProviderPath
$me = [Security.Principal.WindowsIdentity]::GetCurrent()
$session = (Get-Process -Id $PID).SessionId
$name = [IO.Path]::GetFileNameWithoutExtension($Program)
$service = Get-Service -Name $name -ErrorAction SilentlyContinue
$pipeName = "sidetone-$Vendor-$($me.User.Value)-$session"
$folder = Join-Path ([IO.Path]::GetTempPath()) ('sidetone-check-' + [Guid]::NewGuid().ToString('N'))
$counts = @{ PASS = 0; FAIL = 0; ASK = 0; SKIP = 0 }
# With powershell -File a list comes as one text.
$wanted = @($Only | ForEach-Object { $_ -split ',' } | Where-Object { $_ })

# The outcome of a rule is one of these. A rule returns the first that it makes.
function Pass([string] $what) { @{ Outcome = 'PASS'; What = $what } }
function Fail([string] $what) { @{ Outcome = 'FAIL'; What = $what } }
function Skip([string] $what) { @{ Outcome = 'SKIP'; What = $what } }

# Ask has a person do something, and say whether what is expected was seen.
function Ask([string] $todo, [string] $question) {
    if ($NoQuestions) { return @{ Outcome = 'ASK'; What = "$todo $question" } }
    Write-Host "      $todo"
    switch -Regex (Read-Host "      $question [y/n, Enter: not tried]") {
        '^[yY]' { return Pass "$question Yes" }
        '^[nN]' { return Fail "$question No" }
    }
    @{ Outcome = 'SKIP'; What = 'not tried' }
}

# Wait-Person has a person do something; false: it is not to be waited for.
function Wait-Person([string] $todo) {
    if ($NoQuestions) { return $false }
    (Read-Host "      $todo Then press Enter, or type n if you cannot") -notmatch '^[nN]'
}

function Test-Rule([string] $number, [string] $title, [scriptblock] $rule) {
    if ($wanted.Count -gt 0 -and $wanted -notcontains $number) { return }
    try {
        $result = @(& $rule) | Where-Object { $_ -is [hashtable] } | Select-Object -First 1
        if ($null -eq $result) { $result = Fail 'this rule came to no end' }
    } catch {
        $result = Fail $_.Exception.Message
    }
    $counts[$result.Outcome]++
    Write-Host ('{0,-4}  {1,-3}  {2}: {3}' -f $result.Outcome, $number, $title, $result.What)
}

# Open-Pipe connects to a pipe. The other end cannot act in this user's name.
function Open-Pipe([string] $name) {
    $pipe = New-Object System.IO.Pipes.NamedPipeClientStream -ArgumentList @(
        '.', $name, [IO.Pipes.PipeDirection]::InOut, [IO.Pipes.PipeOptions]::None,
        [Security.Principal.TokenImpersonationLevel]::Anonymous)
    try { $pipe.Connect(5000) } catch { $pipe.Dispose(); throw }
    $pipe
}

# Get-Agent asks the agent's control API: docs/api.md.
function Get-Agent([string] $path) {
    $pipe = Open-Pipe $pipeName
    try {
        $bytes = [Text.Encoding]::ASCII.GetBytes("GET $path HTTP/1.0`r`n`r`n")
        $pipe.Write($bytes, 0, $bytes.Length)
        $answer = (New-Object System.IO.StreamReader -ArgumentList $pipe).ReadToEnd()
    } finally {
        $pipe.Dispose()
    }
    $head, $text = $answer -split "`r`n`r`n", 2
    if ($head -notmatch '^HTTP/1\.[01] 200 ') { throw "the agent refuses ${path}: $text" }
    $text | ConvertFrom-Json
}

# Get-Optional is the value or the values of a member that JSON may leave out; nothing if it does.
function Get-Optional($object, [string] $name) {
    if ($null -ne $object -and $object.PSObject.Properties[$name]) { $object.$name | Where-Object { $null -ne $_ } }
}

function Get-Codes { Get-Optional (Get-Agent '/v1/status') 'conditions' | ForEach-Object { $_.code } }

function Get-PipeNames([string] $begin) {
    [IO.Directory]::GetFiles('\\.\pipe\') | ForEach-Object { $_ -replace '^\\\\\.\\pipe\\', '' } | Where-Object { $_ -like "$begin*" }
}

# Get-PipeOwner is the SID that owns a pipe, as the kernel keeps it.
function Get-PipeOwner([string] $name) {
    $pipe = Open-Pipe $name
    try {
        $pipe.GetAccessControl().GetOwner([Security.Principal.SecurityIdentifier]).Value
    } finally {
        $pipe.Dispose()
    }
}

# Get-Resumes counts how often the agent has seen the machine wake.
function Get-Resumes {
    $lanes = Get-Optional (Get-Agent '/v1/timeline') 'lanes' | Where-Object { $_.kind -eq 'agent' }
    @($lanes | ForEach-Object { Get-Optional $_ 'changes' } | Where-Object { $_.to -eq 'resumed' }).Count
}

# Get-Endpoints are those that the agent knows, reported or not.
function Get-Endpoints { Get-Optional (Get-Agent '/v1/devices') 'endpoints' }

# Get-Reported are the devices that the agent reports.
function Get-Reported { Get-Optional (Get-Agent '/v1/status') 'products' | ForEach-Object { Get-Optional $_ 'devices' } }

# Get-Log is the agent's log of this user, by line: docs/service.md says where it is.
function Get-Log {
    $own = if ($name -eq 'sidetone') { "Sidetone\$Vendor" } else { $name }
    $file = Join-Path (Join-Path $env:LOCALAPPDATA $own) 'agent.log'
    # The agent has it open.
    $stream = New-Object System.IO.FileStream -ArgumentList $file, 'Open', 'Read', 'ReadWrite, Delete'
    try { (New-Object System.IO.StreamReader -ArgumentList $stream).ReadToEnd() -split "`n" } finally { $stream.Dispose() }
}

# Get-LogTime is when a line of the log was written.
function Get-LogTime([string] $line) {
    if ($line -match 'time"?[=:]"?([0-9T:.+Z-]+)') { [DateTimeOffset]::Parse($Matches[1]).LocalDateTime }
}

# Get-Writer says who but administrators has more of a file or a folder than some rights; nothing: nobody.
function Get-Writer([string] $path, [int] $rights) {
    $safe = 'S-1-5-32-544', 'S-1-5-18', 'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464'
    $acl = Get-Acl -LiteralPath $path
    $owner = $acl.GetOwner([Security.Principal.SecurityIdentifier]).Value
    if ($safe -notcontains $owner) { return "$path belongs to $owner" }
    foreach ($entry in $acl.GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier])) {
        if ($entry.AccessControlType -eq 'Deny' -or "$($entry.PropagationFlags)" -match 'InheritOnly') { continue }
        if ($safe -contains $entry.IdentityReference.Value) { continue }
        if (([int] $entry.FileSystemRights -band (-bnot $rights)) -ne 0) { return "$($entry.IdentityReference.Value) may change $path" }
    }
}

# Open-RestartManager makes the class by which W36 asks Windows' Restart Manager.
function Open-RestartManager {
    Add-Type -Namespace SidetoneCheck -Name RestartManager -MemberDefinition @'
[StructLayout(LayoutKind.Sequential)]
public struct Unique { public uint Id; public System.Runtime.InteropServices.ComTypes.FILETIME Started; }
[StructLayout(LayoutKind.Sequential, CharSet = CharSet.Unicode)]
public struct Info {
    public Unique Process;
    [MarshalAs(UnmanagedType.ByValTStr, SizeConst = 256)] public string App;
    [MarshalAs(UnmanagedType.ByValTStr, SizeConst = 64)] public string Service;
    public int Type; public uint Status; public uint Session; public int Restartable;
}
[DllImport("rstrtmgr.dll", CharSet = CharSet.Unicode)]
static extern int RmStartSession(out uint session, uint flags, System.Text.StringBuilder key);
[DllImport("rstrtmgr.dll", CharSet = CharSet.Unicode)]
static extern int RmRegisterResources(uint session, uint files, string[] names, uint processes, IntPtr p, uint services, IntPtr s);
[DllImport("rstrtmgr.dll")]
static extern int RmGetList(uint session, out uint needed, ref uint count, [In, Out] Info[] list, out uint reasons);
[DllImport("rstrtmgr.dll")]
static extern int RmShutdown(uint session, uint flags, IntPtr progress);
[DllImport("rstrtmgr.dll")]
static extern int RmEndSession(uint session);

uint session;

static void Must(int code, string what) { if (code != 0) throw new Exception(what + ": error " + code); }

public RestartManager(string[] files) {
    Must(RmStartSession(out session, 0, new System.Text.StringBuilder(64)), "RmStartSession");
    Must(RmRegisterResources(session, (uint)files.Length, files, 0, IntPtr.Zero, 0, IntPtr.Zero), "RmRegisterResources");
}

public Info[] List() {
    uint needed, reasons, count = 64;
    Info[] list = new Info[count];
    Must(RmGetList(session, out needed, ref count, list, out reasons), "RmGetList");
    Array.Resize(ref list, (int)count);
    return list;
}

public int Shutdown() { return RmShutdown(session, 0, IntPtr.Zero); }

public void End() { RmEndSession(session); }
'@
}

# Invoke-Low runs a line of cmd.exe as a program that Windows trusts less, as those in sandboxes are.
function Invoke-Low([string] $line) {
    $cmd = Join-Path $folder 'low.exe'
    Copy-Item -LiteralPath $env:ComSpec -Destination $cmd -Force
    & icacls.exe $cmd /setintegritylevel Low | Out-Null
    (Start-Process -FilePath $cmd -ArgumentList "/d /c $line" -WindowStyle Hidden -Wait -PassThru).ExitCode
}

New-Item -ItemType Directory -Path $folder | Out-Null
try {
    Write-Host "Sidetone's agent of $Vendor, $($me.Name), session $session, $([Environment]::OSVersion.VersionString)"

    Test-Rule 'W1' 'Windows 10 1809 or later' {
        $build = [Environment]::OSVersion.Version.Build
        if ($build -ge 17763) { Pass "build $build" } else { Fail "build $build is older than 17763" }
    }

    Test-Rule 'W2' 'the program says who it is' {
        $info = [Diagnostics.FileVersionInfo]::GetVersionInfo($Program)
        if (-not $info.ProductName -or -not $info.FileVersion) { return Fail 'it has no product name or version' }
        Pass "$($info.ProductName) $($info.FileVersion); signature: $((Get-AuthenticodeSignature -LiteralPath $Program).Status)"
    }

    Test-Rule 'W3' 'the agent answers over its pipe' {
        $status = Get-Agent '/v1/status'
        Pass "version $($status.version), process $($status.pid), conditions: $((Get-Codes) -join ', ')"
    }

    Test-Rule 'W4' 'the pipe''s access list names this user alone, and refuses the network' {
        $pipe = Open-Pipe $pipeName
        try { $acl = $pipe.GetAccessControl() } finally { $pipe.Dispose() }
        $sids = @($acl.GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier]) |
                Where-Object { $_.AccessControlType -eq 'Allow' } | ForEach-Object { $_.IdentityReference.Value })
        $denied = @($acl.GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier]) |
                Where-Object { $_.AccessControlType -eq 'Deny' } | ForEach-Object { $_.IdentityReference.Value })
        $strangers = @($sids | Where-Object { $_ -ne $me.User.Value })
        if ($strangers.Count -gt 0) { return Fail "it lets in $($strangers -join ', ')" }
        if ($denied -notcontains 'S-1-5-2') { return Fail 'it does not refuse the network (S-1-5-2)' }
        Pass "$($sids -join ', ')"
    }

    Test-Rule 'W5' 'another user is refused at the pipe' {
        if (-not $OtherUser) { return Skip 'name another account of this machine with -OtherUser' }
        if ($NoQuestions) { return Skip 'its password would have to be asked for' }
        $try = "try { `$p = New-Object IO.Pipes.NamedPipeClientStream '.', '$pipeName', 'InOut'; `$p.Connect(3000); exit 10 } " +
            "catch [UnauthorizedAccessException] { exit 20 } catch { exit 30 }"
        $encoded = [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes($try))
        $process = Start-Process -FilePath "$PSHOME\powershell.exe" -ArgumentList "-NoProfile -EncodedCommand $encoded" `
            -Credential (Get-Credential -UserName $OtherUser -Message 'the other user') -WorkingDirectory $env:SystemRoot -WindowStyle Hidden -PassThru
        # Without it PowerShell 5.1 forgets the exit code.
        $null = $process.Handle
        $process.WaitForExit()
        switch ($process.ExitCode) {
            10 { Fail "$OtherUser was let in" }
            20 { Pass 'access denied' }
            default { Fail "the attempt ended with $($process.ExitCode), and not with access denied" }
        }
    }

    Test-Rule 'W6' 'a program of low integrity is refused at the pipe' {
        $redirect = "(echo GET / HTTP/1.0) >\\.\pipe\$pipeName"
        & $env:ComSpec /d /c "$redirect 2>nul"
        if ($LASTEXITCODE -ne 0) { return Skip 'an ordinary program could not write to the pipe in this way either' }
        # The level of a file counts only for who is not elevated.
        if ((Invoke-Low '%SystemRoot%\System32\whoami.exe /groups | %SystemRoot%\System32\find.exe "S-1-16-4096" >nul') -ne 0) {
            return Skip 'no program of low integrity could be started: run this script as an ordinary user, not as administrator'
        }
        if ((Invoke-Low $redirect) -eq 0) { Fail 'it was let in' } else { Pass 'refused' }
    }

    Test-Rule 'W7' 'the client''s pipe is this user''s' {
        $names = @(Get-PipeNames 'discord-ipc-')
        if ($names.Count -eq 0) { return Skip 'no client runs' }
        foreach ($name in $names) {
            $owner = Get-PipeOwner $name
            if ($owner -eq 'S-1-5-32-544') { return Pass "$name belongs to the administrators: the client runs as administrator; see W9" }
            if ($owner -ne $me.User.Value) { return Fail "$name belongs to $owner" }
        }
        Pass ($names -join ', ')
    }

    Test-Rule 'W8' 'a refused connect takes its time, and the agent waits for none' {
        $listener = New-Object System.Net.Sockets.TcpListener -ArgumentList ([Net.IPAddress]::Loopback), 0
        $listener.Start()
        $port = $listener.LocalEndpoint.Port
        $listener.Stop()
        $watch = [Diagnostics.Stopwatch]::StartNew()
        try { (New-Object System.Net.Sockets.TcpClient).Connect('127.0.0.1', $port) } catch { $null = $_ }
        $refused = $watch.ElapsedMilliseconds
        $watch = [Diagnostics.Stopwatch]::StartNew()
        $null = Get-Agent '/v1/status'
        if ($watch.ElapsedMilliseconds -gt 1000) { return Fail "a status took $($watch.ElapsedMilliseconds) ms" }
        Pass "a refusal took $refused ms here (docs/windows.md: 2 s), a status $($watch.ElapsedMilliseconds) ms"
    }

    Test-Rule 'W9' 'a client that runs as administrator is told of' {
        if (-not (Wait-Person 'End the client, start it as administrator, and wait for 10 s.')) { return Skip 'not tried' }
        $codes = @(Get-Codes)
        $null = Wait-Person "Conditions: $($codes -join ', '). End the client, and start it as before."
        if ($codes -contains 'clients.elevated') { return Pass 'clients.elevated' }
        Ask 'No condition speaks of it.' 'Did the client get the list all the same?'
    }

    Test-Rule 'W10' 'locking the session changes nothing' {
        $before = @(Get-Codes)
        if (-not (Wait-Person 'Lock the session (Windows key and L), wait for 10 s, unlock it.')) { return Skip 'not tried' }
        $new = @(Get-Codes | Where-Object { $before -notcontains $_ })
        if ($new.Count -gt 0) { Fail "new conditions: $($new -join ', ')" } else { Pass 'no new condition' }
    }

    Test-Rule 'W11' 'sleep is noticed, modern standby too' {
        $kinds = @(& powercfg.exe /a | Where-Object { $_ -match 'S0|S3' } | ForEach-Object { $_.Trim() }) -join '; '
        $before = Get-Resumes
        if (-not (Wait-Person 'Put the machine to sleep for two minutes, and wake it.')) { return Skip "not tried; powercfg: $kinds" }
        if ((Get-Resumes) -gt $before) { Pass $kinds } else { Fail "the timeline has no new 'resumed'; powercfg: $kinds" }
    }

    Test-Rule 'W12' 'the agent does not use the microphone' {
        # Windows 10 1903 and later keep there which program has used it, and since when: LastUsedTimeStop is 0 while it does. Recent builds
        # of Windows 11 have a database that only the system reads.
        $store = 'HKCU:\Software\Microsoft\Windows\CurrentVersion\CapabilityAccessManager\ConsentStore\microphone\NonPackaged'
        $stops = @{}
        Get-ChildItem -LiteralPath $store -ErrorAction SilentlyContinue | ForEach-Object {
            $stop = $_.GetValue('LastUsedTimeStop')
            if ($null -ne $stop) { $stops[$_.PSChildName] = $stop }
        }
        if ($stops.Count -eq 0) {
            return Ask 'Open Settings, Privacy, Microphone: the list of desktop apps there.' 'Is the agent missing there, or not in use now?'
        }
        $stop = $stops[$Program -replace '\\', '#']
        if ($null -eq $stop) { return Pass 'Windows has never seen it use the microphone' }
        if ($stop -ne 0) { return Pass 'Windows does not see it use the microphone now' }
        Ask 'Windows says that the agent uses the microphone now.' 'Does the catalogue ask for os_effects of a microphone that is plugged in?'
    }

    Test-Rule 'W13' 'effects of Windows are told of' {
        if ([Environment]::OSVersion.Version.Build -lt 22000) { return Skip 'Windows 10 has no such list' }
        $with = @(Get-Endpoints | Where-Object { $null -ne (Get-Optional $_ 'effects') })
        if ($with.Count -eq 0) { return Skip 'no endpoint has any: does the catalogue ask for os_effects?' }
        Ask "$($with[0].name): $($with[0].effects | ConvertTo-Json -Compress)." 'Does the endpoint''s page in the sound settings say the same?'
    }

    Test-Rule 'W14' 'it runs where memory integrity (HVCI) is on' {
        try { $guard = Get-CimInstance -Namespace root\Microsoft\Windows\DeviceGuard -ClassName Win32_DeviceGuard }
        catch { return Skip "it cannot be read whether it is on: $($_.Exception.Message)" }
        if (@($guard.SecurityServicesRunning) -notcontains 2) { return Skip 'it is off on this machine' }
        $null = Get-Agent '/v1/status'
        Pass 'on, and the agent answers'
    }

    Test-Rule 'W15' 'a planted DLL is not loaded' {
        $copy = Join-Path $folder 'planted.exe'
        Copy-Item -LiteralPath $Program -Destination $copy
        # They are Windows' own: which of two is loaded shows in where it lies. Those that the program names in its file are KnownDLLs, which
        # Windows looks for nowhere else.
        $names = 'avrt', 'hid', 'propsys', 'version', 'mmdevapi', 'audioses', 'wtsapi32', 'powrprof', 'iphlpapi', 'userenv', 'devobj', 'profapi',
            'cryptbase', 'winmm', 'setupapi', 'cfgmgr32', 'mswsock', 'dnsapi'
        foreach ($name in $names) {
            Copy-Item -LiteralPath (Join-Path ([Environment]::SystemDirectory) "$name.dll") -Destination $folder -ErrorAction SilentlyContinue
        }
        $catalogue = Join-Path $folder 'catalogue.yaml'
        Set-Content -LiteralPath $catalogue -Encoding ASCII -Value @(
            'schema: 1', 'vendor: {id: sidetone-check, name: Check, url: "https://check.invalid", client_id: "123456789012345679"}', 'products:',
            '  - {id: none, name: None, url: "https://check.invalid", priority: 1, links: [{kind: usb, vid: "ffff", pids: ["ffff"]}],',
            '     endpoints: [{type: audioinput}]}')
        # It finds no client: what it would say of itself there is made up.
        $arguments = "run --catalogue `"$catalogue`" --rpc-transports ipc --rpc-ipc-folders \\.\pipe\sidetone-check"
        $process = Start-Process -FilePath $copy -ArgumentList $arguments -WorkingDirectory $folder -WindowStyle Hidden -PassThru
        try {
            Start-Sleep -Seconds 5
            if ($process.HasExited) { return Fail 'the copy of the program has ended, perhaps because it loaded one' }
            $loaded = @($process.Modules | Where-Object { $_.FileName -like "$folder\*.dll" } | ForEach-Object { $_.ModuleName })
            $all = $process.Modules.Count
        } finally {
            if (-not $process.HasExited) { $process.Kill(); $process.WaitForExit() }
        }
        if ($loaded.Count -gt 0) { Fail "it loaded $($loaded -join ', ')" } else { Pass "none of $all modules" }
    }

    Test-Rule 'W16' 'sound over remote desktop is not reported' {
        if ("$env:SESSIONNAME" -notlike 'RDP-*') { return Skip 'this session is not a remote one' }
        $ids = @(Get-Reported | ForEach-Object { $_.id })
        $remote = @(Get-Endpoints | Where-Object { (Get-Optional $_ 'virtual') -and $ids -contains $_.id })
        if ($remote.Count -gt 0) { Fail "reported: $($remote[0].name)" } else { Pass "$($ids.Count) devices reported, none of them remote" }
    }

    Test-Rule 'W17' 'each session has an agent of its own' {
        $names = @(Get-PipeNames "sidetone-$Vendor-")
        if ($names.Count -lt 2) { return Skip 'the agent runs in one session: log in with a second one, over remote desktop on a server' }
        $sessions = @($names | ForEach-Object { ($_ -split '-')[-1] } | Sort-Object -Unique)
        if ($sessions.Count -ne $names.Count) { Fail "two agents in one session: $($names -join ', ')" } else { Pass "sessions $($sessions -join ', ')" }
    }

    Test-Rule 'W18' 'a Bluetooth headset is one product' {
        $bluetooth = @(Get-Endpoints | Where-Object { (Get-Optional $_ 'bus') -eq 'bluetooth' })
        if ($bluetooth.Count -lt 2) { return Skip 'no Bluetooth headset with microphone and speaker is connected' }
        $groups = @($bluetooth | Group-Object -Property container)
        Ask (($groups | ForEach-Object { "$($_.Name): $(($_.Group | ForEach-Object { $_.name }) -join ', ')." }) -join ' ') 'Is each line one headset?'
    }

    Test-Rule 'W19' 'a button that mutes is seen' {
        if (-not (Wait-Person 'Mute the headset with its own button.')) { return Skip 'not tried' }
        $flags = @(Get-Reported | ForEach-Object { Get-Optional $_ 'flags' } | ForEach-Object { Get-Optional $_ 'hardware_mute' })
        if ($flags.Count -eq 0) { return Skip 'the agent reports no hardware mute' }
        Ask "hardware_mute: $(($flags | ConvertTo-Json -Compress -Depth 3))." 'Is that right?'
    }

    Test-Rule 'W20' 'it starts at log-in, and again after its end by force' {
        $keys = @('HKCU:', 'HKLM:' | ForEach-Object { Get-ItemProperty -LiteralPath "$_\Software\Microsoft\Windows\CurrentVersion\Run" })
        if (-not @($keys | ForEach-Object { Get-Optional $_ $name }).Count) { return Skip "no Run key has $name" }
        Ask "End sidetone's process in the task manager, and wait 5 seconds. Then log off and on." 'Does the agent answer after both, without a window?'
    }

    Test-Rule 'W21' 'a task starts it at log-in, on battery, too' {
        $tasks = @(Get-ScheduledTask -TaskPath '\' | Where-Object { $_.TaskName -eq $name -or $_.TaskName -eq "$name-$($me.User.Value)" })
        if ($tasks.Count -eq 0) { return Skip "no task is called $name" }
        foreach ($task in $tasks) {
            $set = $task.Settings
            if ($set.DisallowStartIfOnBatteries -or $set.StopIfGoingOnBatteries) { return Fail 'it does not run on battery' }
            if ("$($set.MultipleInstances)" -ne 'Parallel') { return Fail "the second session gets none: $($set.MultipleInstances)" }
            if ($set.ExecutionTimeLimit -and $set.ExecutionTimeLimit -ne 'PT0S') { return Fail "it ends after $($set.ExecutionTimeLimit)" }
        }
        Ask 'Log off and on, on battery where there is one.' 'Does the agent answer, without a window?'
    }

    Test-Rule 'W22' 'the log-off empties the client''s list' {
        $todo = 'End the client, start fakeserver with --state FILE, wait until its list is there, log off and on. It is ended with the session, too.'
        Ask $todo 'Has FILE an empty list of devices?'
    }

    Test-Rule 'W23' 'the service''s programs can be changed by administrators alone' {
        if (-not $service) { return Skip 'the service is not installed' }
        $above = Split-Path -Parent $Program
        # What users may have: reading and starting, and further above also making files of other names.
        $reading, $making = 0xA01200A9, 0xE01201BF
        $writers = @($Program, (Join-Path $above "$name-service.exe"), $above | ForEach-Object { Get-Writer $_ $reading })
        for ($path = Split-Path -Parent $above; $path; $path = Split-Path -Parent $path) { $writers += @(Get-Writer $path $making) }
        if ($writers.Count -gt 0) { return Fail "$($writers[0]), and the service was registered" }
        Pass "$above, and all above it"
    }

    Test-Rule 'W24' 'the service has no more privileges than it needs' {
        if (-not $service) { return Skip 'the service is not installed' }
        $has = @(& sc.exe qprivs $name | Select-String -Pattern 'Se\w+Privilege' -AllMatches | ForEach-Object { $_.Matches } | ForEach-Object { $_.Value })
        $more = @($has | Where-Object { 'SeTcbPrivilege', 'SeImpersonatePrivilege', 'SeAssignPrimaryTokenPrivilege', 'SeIncreaseQuotaPrivilege', 'SeChangeNotifyPrivilege' -notcontains $_ })
        if ($has.Count -eq 0 -or $more.Count -gt 0) { return Fail "it has $($has -join ', ')" }
        Pass ($has -join ', ')
    }

    Test-Rule 'W25' 'the service has one agent in each session' {
        if (-not $service) { return Skip 'the service is not installed' }
        $twice = @(Get-Process -Name $name | Group-Object SessionId | Where-Object { $_.Count -gt 2 })
        if ($twice.Count -gt 0) { return Fail "session $($twice[0].Name) has $($twice[0].Count) processes" }
        foreach ($process in @(Get-CimInstance Win32_Process -Filter "Name='$name.exe' AND SessionId=$session")) {
            $sid = (Invoke-CimMethod -InputObject $process -MethodName GetOwnerSid).Sid
            if ($sid -ne $me.User.Value) { return Fail "process $($process.ProcessId) of this session is that of $sid" }
        }
        Ask 'Switch to another user, look with tasklist, and log that user off.' 'Did that session have an agent, and none is left of it?'
    }

    Test-Rule 'W26' 'Windows restarts a service that was killed' {
        if (-not $service) { return Skip 'the service is not installed' }
        Ask "As administrator: taskkill /f /im $name-service.exe, and wait 5 seconds." 'Do service and agent run again?'
    }

    Test-Rule 'W27' 'the icon is sharp at every resolution' {
        if (-not (Wait-Person 'Start the tray, set the scale of the screen to 100 %, then to 150 % and 200 %.')) { return Skip 'not tried' }
        Ask 'The icon beside the clock.' 'Was it sharp, and of the size of the others, each time?'
    }

    Test-Rule 'W28' 'the icon follows the colour of the taskbar' {
        if (-not (Wait-Person 'Under Settings, Personalisation, Colours, set the mode of Windows to Light, then to Dark.')) { return Skip 'not tried' }
        Ask 'The icon beside the clock.' 'Was it dark on the light taskbar and light on the dark one, at once?'
    }

    Test-Rule 'W29' 'the icon is back when the Explorer has restarted' {
        if (-not (Wait-Person 'In the task manager, restart the Windows Explorer.')) { return Skip 'not tried' }
        Ask 'The icon beside the clock.' 'Is it there, with its picture, and does its menu open?'
    }

    Test-Rule 'W30' 'a mute is notified as a toast, without a sound' {
        if (-not (Wait-Person 'Set tray.notify_mute, connect a client, and mute the headset; then do so in times of quiet.')) { return Skip 'not tried' }
        Ask 'The notification.' 'Was there one the first time, without a sound, and none in times of quiet?'
    }

    Test-Rule 'W31' 'a menu that is open follows a mute' {
        if (-not (Wait-Person 'Open the menu of the icon, and mute the headset meanwhile.')) { return Skip 'not tried' }
        Ask 'The row of the microphone.' 'Has it changed, without the menu closing?'
    }

    Test-Rule 'W32' 'names of either direction are shown as they are' {
        if (-not (Wait-Person 'Give the headset an Arabic or Hebrew name in the settings of sound, and open the menu.')) { return Skip 'not tried' }
        Ask 'The rows with its name.' 'Are they free of boxes, and is what follows the name behind it?'
    }

    Test-Rule 'W33' 'the icon comes at log-in' {
        if (-not (Wait-Person 'Choose Start at login in the menu of the icon, log out and in.')) { return Skip 'not tried' }
        Ask 'The icon beside the clock.' 'Is it there, and was no console to be seen?'
    }

    Test-Rule 'W34' 'an upgrade by the package asks for no restart, and costs no list' {
        $todo = 'While agent and client run: start /wait msiexec /i NEWER.msi /qn, then echo %ERRORLEVEL%.'
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        Ask 'The exit code, and the devices in the client.' 'Was it 0, and were the devices there all the time?'
    }

    Test-Rule 'W35' 'a removal by the system ends the agents of all users, and empties the lists' {
        $todo = 'With two users logged in: remove the package as the system, as Intune does.'
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        Ask 'The processes, folders and clients of both.' 'Is nothing of the agent left, and no device in a client?'
    }

    Test-Rule 'W36' 'the Restart Manager finds agent and host, and ends both without force' {
        Open-RestartManager
        $programs = @($Program, (Join-Path (Split-Path -Parent $Program) "${name}w.exe") | Where-Object { Test-Path -LiteralPath $_ })
        $manager = New-Object SidetoneCheck.RestartManager -ArgumentList (, [string[]] $programs)
        try {
            $found = @($manager.List())
            # 0 and 1000: what it ends by force alone, and what it does not end.
            $forced = @($found | Where-Object { $_.Type -eq 0 -or $_.Type -eq 1000 } | ForEach-Object { "$($_.App) ($($_.Process.Id))" })
            if ($found.Count -eq 0) { return Fail 'it finds none' }
            if ($forced.Count -gt 0) { return Fail "it would need force for $($forced -join ', ')" }
            $types = ($found | ForEach-Object { "$($_.App): type $($_.Type)" }) -join '; '
            if (-not (Wait-Person 'It is to end agent, host and tray now: start them again afterwards.')) { return Skip "found, but not ended: $types" }
            $code = $manager.Shutdown()
            $left = @($found | Where-Object { Get-Process -Id $_.Process.Id -ErrorAction SilentlyContinue })
            if ($code -ne 0 -or $left.Count -gt 0) { return Fail "error $code, and $($left.Count) of them are left" }
        } finally { $manager.End() }
        Start-Sleep -Seconds 5
        if (@(Get-Process -Name $name -ErrorAction SilentlyContinue | Where-Object { $_.SessionId -eq $session }).Count -gt 0) {
            return Fail 'an agent was started again'
        }
        Pass $types
    }

    Test-Rule 'W37' 'at a log-off the agent ends by itself, and none is started before the next log-on' {
        $log = @(Get-Log)
        $last = -1
        for ($i = 0; $i -lt $log.Count; $i++) { if ($log[$i] -like '*Windows has this process end*true*') { $last = $i } }
        if ($last -lt 0) { return Skip 'the log has no log-off: log off and on, and ask for this rule again' }
        $ended = Get-LogTime $log[$last]
        $on = @(Get-Process -Name explorer | Where-Object { $_.SessionId -eq $session } | ForEach-Object { $_.StartTime } | Sort-Object)[0]
        if ($on -lt $ended) { return Fail "the session has gone on since $ended" }
        $after = @($log[$last..($log.Count - 1)])
        if (-not @($after | Where-Object { $_ -like '*has stopped*' }).Count) { return Fail "it was ended before clients had been told, $ended" }
        $early = @($after | Where-Object { $_ -match '\w runs"' -and (Get-LogTime $_) -lt $on.AddMinutes(-1) })
        if ($early.Count -gt 0) { return Fail "started again in the session that ended: $($early[0])" }
        if ($service) {
            $refused = @(Get-EventLog -LogName Application -Source $name -After $ended -Before $on -ErrorAction SilentlyContinue |
                    Where-Object { $_.Message -like '*cannot be started*' })
            if ($refused.Count -gt 0) { return Fail "the event log: $($refused[0].Message)" }
        }
        Pass "$ended"
    }

    Test-Rule 'W38' 'the service leaves an agent alone over modern standby' {
        if (-not $service) { return Skip 'the service is not installed' }
        if (-not @(& powercfg.exe /a | Select-String -SimpleMatch 'S0').Count) { return Skip 'this machine has no modern standby' }
        $before = (Get-Agent '/v1/status').pid
        if (-not (Wait-Person 'Put the machine to sleep for 15 minutes, and wake it.')) { return Skip 'not tried' }
        $now = (Get-Agent '/v1/status').pid
        if ($now -eq $before) { Pass "process $now" } else { Fail "process $before became $now" }
    }

    Test-Rule 'W39' 'an agent that hangs is started again' {
        $said = @()
        foreach ($way in 'put the machine to sleep, wake it', 'lock the session, unlock it') {
            $before = (Get-Agent '/v1/status').pid
            if (-not (Wait-Person "In the Resource Monitor, tab CPU, suspend process $before, $way, and wait for 7 minutes.")) { return Skip 'not tried' }
            $now = (Get-Agent '/v1/status').pid
            if ($now -eq $before) { return Fail "$($way): it was not" }
            $said += "$($way): process $before became $now"
        }
        Pass ($said -join '; ')
    }

    Test-Rule 'W40' 'the agent of a new account has the folders of that account' {
        if (-not (Wait-Person 'Make a new account, log it on for the first time, and log it off after a minute.')) { return Skip 'not tried' }
        Ask 'Its profile, and C:\Windows\System32\config\systemprofile.' 'Is agent.log below AppData\Local of the first, and not of the second?'
    }

    Test-Rule 'W41' 'a stop of the service empties the lists of all sessions' {
        if (-not $service) { return Skip 'the service is not installed' }
        if (-not (Wait-Person "With a client in each of two sessions, as administrator: sc.exe stop $name.")) { return Skip 'not tried' }
        Ask "tasklist /fi `"imagename eq $name.exe`", and both clients." 'Is no agent left, and no device in a client?'
    }

    Test-Rule 'W42' 'what looks after the agent writes to the event log, in words' {
        if (-not (Test-Path -LiteralPath "HKLM:\SYSTEM\CurrentControlSet\Services\EventLog\Application\$name")) { return Skip "no source $name is registered" }
        $lines = @(Get-EventLog -LogName Application -Source $name -Newest 20 -ErrorAction SilentlyContinue)
        if ($lines.Count -eq 0) { return Skip "there are none: end $name.exe by force, and ask for this rule again" }
        # Windows puts a sentence of its own before the text where it knows nothing of the source.
        $mute = @($lines | Where-Object { $_.Message -notlike 'msg=*' })
        if ($mute.Count -gt 0) { return Fail "$($mute[0].Message)" }
        Pass "$($lines[0].TimeGenerated): $($lines[0].Message.Trim())"
    }

    Test-Rule 'W43' 'a tray that runs as administrator hears the Explorer' {
        $todo = 'End the tray, start it as administrator, restart the Windows Explorer in the task manager, and click the icon.'
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        Ask 'The icon beside the clock.' 'Was it back, and did the click open its menu?'
    }

    Test-Rule 'W44' 'a crash leaves a dump where LocalDumps and GOTRACEBACK=wer ask for it' {
        $key = "HKLM:\SOFTWARE\Microsoft\Windows\Windows Error Reporting\LocalDumps\$name.exe"
        if (-not (Test-Path -LiteralPath $key) -or "$env:GOTRACEBACK" -ne 'wer') { return Skip 'they are not set: docs/service.md' }
        $dumps = (Get-Item -LiteralPath $key).GetValue('DumpFolder', "$env:LOCALAPPDATA\CrashDumps")
        $count = { @(Get-ChildItem -Path "$dumps\$name.exe.*.dmp" -ErrorAction SilentlyContinue).Count }
        $before = & $count
        $todo = "Let process $((Get-Agent '/v1/status').pid) fail, as with cdb.exe -p PID -c `"r rip=1; qd`"."
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        if ((& $count) -gt $before) { Pass $dumps } else { Fail "there is no new one in $dumps" }
    }

    Test-Rule 'W45' 'Windows does not start again a host that has ended' {
        $tasks = @(Get-ScheduledTask -TaskPath '\' | Where-Object { $_.TaskName -eq $name -or $_.TaskName -eq "$name-$($me.User.Value)" })
        if ($tasks.Count -eq 0) { return Skip "no task is called $name" }
        $todo = "End the process ${name}w.exe host by force, wait for 2 minutes. The same with wrong settings, after a log-off and a log-on (78)."
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        Ask "The command lines of ${name}w.exe in the task manager, and agent.log." 'Was no host started by itself, either time?'
    }

    Test-Rule 'W46' 'an installer reaches the agents of all sessions, also elevated ones' {
        $todo = 'With two users, one of whom has started the agent as administrator: upgrade the package as the system.'
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        Ask 'agent.log of both.' 'Did each hand over to the new program?'
    }

    Test-Rule 'W47' 'an installation that fails leaves all as it was' {
        $todo = 'Install a newer package with /l*v LOG, and end msiexec''s server as it writes files; once more with a task registered.'
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        Ask 'LOG, the programs, the task, and what runs.' 'Were the old programs and the task put back, and does the agent run?'
    }

    Test-Rule 'W48' 'a shut-down that is called off leaves host and tray, and the agent is back after a minute' {
        $before = (Get-Agent '/v1/status').pid
        $others = @(Get-Process -Name "${name}w" -ErrorAction SilentlyContinue | Where-Object { $_.SessionId -eq $session })
        $todo = 'Leave a document unsaved in a program that asks about it, as Word or paint.net, shut down, and choose Cancel.'
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        Start-Sleep -Seconds 75
        $lost = @($others | Where-Object { $_.HasExited } | ForEach-Object { "$($_.ProcessName) ($($_.Id))" })
        if ($lost.Count -gt 0) { return Fail "Windows has ended $($lost -join ', ')" }
        $now = (Get-Agent '/v1/status').pid
        if (-not $now) { return Fail 'there is no agent' }
        if ($now -eq $before) { Pass "Windows has not told process $before of it" } else { Pass "process $before became $now" }
    }

    Test-Rule 'W49' 'a service that refuses to start stays down' {
        if (-not $service) { return Skip 'the service is not installed' }
        $folder = Split-Path -Parent $Program
        $todo = "As administrator: sc.exe stop $name; icacls `"$folder`" /grant *S-1-5-32-545:M; sc.exe start $name; wait for a minute."
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        $refused = @(Get-EventLog -LogName Application -Source $name -Newest 5 -ErrorAction SilentlyContinue |
                Where-Object { $_.Message -like '*the service does not start*' -and $_.TimeGenerated -gt (Get-Date).AddMinutes(-5) })
        $state = (Get-Service -Name $name).Status
        [void](Wait-Person "As administrator: icacls `"$folder`" /remove:g *S-1-5-32-545; sc.exe start $name.")
        if ($refused.Count -eq 1 -and $state -eq 'Stopped') { Pass $refused[0].Message.Trim() } else { Fail "$state, refused $($refused.Count) times" }
    }

    Test-Rule 'W50' 'an upgrade by the package leaves one product, and what both versions have is never away' {
        $above = (Split-Path -Parent $Program).TrimEnd('\')
        $products = @(Get-ItemProperty -Path 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Uninstall\*' |
                Where-Object { "$(Get-Optional $_ 'InstallLocation')".TrimEnd('\') -eq $above })
        if ($products.Count -eq 0) { return Skip 'no package has installed it' }
        if ($products.Count -gt 1) { return Fail "$($products.Count) products are in $above" }
        $todo = 'Upgrade by a package that has one catalogue less and one more, with /l*v LOG.'
        if (-not (Wait-Person $todo)) { return Skip 'not tried' }
        Ask 'The folder catalogue, and RemoveExistingProducts in LOG.' 'Is the one gone, the other there, and were no programs removed?'
    }

    Test-Rule 'W51' 'privileges and restarts of the package''s service are there after a repair' {
        if (-not $service) { return Skip 'the service is not installed' }
        if (-not (Wait-Person 'As administrator: msiexec /fa PRODUCT-CODE /qn.')) { return Skip 'not tried' }
        $privileges = @(& sc.exe qprivs $name | Select-String -Pattern 'Se\w+Privilege' -AllMatches | ForEach-Object { $_.Matches })
        if ($privileges.Count -ne 5) { return Fail "it has $($privileges.Count) privileges; 0 is all of the system's" }
        $restarts = @(& sc.exe qfailure $name | Select-String -Pattern '= 1000 |= 30000 |= 300000 ')
        if ($restarts.Count -ne 3) { return Fail "it is restarted after $($restarts.Count) failures of 3" }
        Pass "$($privileges.Count) privileges, $($restarts.Count) restarts"
    }
} finally {
    Remove-Item -LiteralPath $folder -Recurse -Force -ErrorAction SilentlyContinue
}

Write-Host ('{0} passed, {1} failed, {2} to be asked, {3} skipped' -f $counts.PASS, $counts.FAIL, $counts.ASK, $counts.SKIP)
if ($counts.FAIL -gt 0) { exit 1 }
