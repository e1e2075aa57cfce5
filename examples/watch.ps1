# Watches the scheduled events of this VM: prepares, approves, recovers, and goes on watching.
# Usage: watch.ps1 [-Vm NAME]     the endpoint is asked for the VM's name when it is left out
param([string]$Vm = $env:NOTBEFORE_VM)

$service = "http://169.254.169.254/metadata"
$events = "$service/scheduledevents?api-version=2020-07-01"
$headers = @{ Metadata = "true" }
# The endpoint is on the VM's own link: no proxy of the machine or of the environment is used for it.
$none = New-Object System.Net.WebProxy
if ($PSVersionTable.PSVersion.Major -gt 5) { [System.Net.Http.HttpClient]::DefaultProxy = $none }
else { [System.Net.WebRequest]::DefaultWebProxy = $none }
# The first answer enables the service, which may take two minutes; later ones are quick.
$limit = 120
$ErrorActionPreference = "Stop" # a redirect is an error like any other

# What the VM does about an event. Put your own here: leave the load balancer, hand over, save.
function Invoke-Prepare($one) { Write-Host "preparing: $($one.EventType) of $($one.EventId), not before $($one.NotBefore)" }
function Invoke-Recover($id) { Write-Host "recovering: $id is over" }

function Approve-Event($id) {
    $approval = @{ StartRequests = @(@{ EventId = $id }) } | ConvertTo-Json -Compress
    Invoke-RestMethod -Method Post -Uri $events -Headers $headers -ContentType "application/json" -Body $approval -TimeoutSec $limit -MaximumRedirection 0 | Out-Null
    Write-Host "approved: $id"
}

while (-not $Vm) {
    try {
        $Vm = (Invoke-RestMethod -Method Get -Uri "$service/instance?api-version=2021-02-01" -Headers $headers -TimeoutSec $limit -MaximumRedirection 0).compute.name
    } catch { Write-Warning $_.Exception.Message }
    if (-not $Vm) { Start-Sleep -Seconds 1 }
}
Write-Host "watching as $Vm"

$prepared = @{}
$approved = @{}
while ($true) {
    try {
        $document = Invoke-RestMethod -Method Get -Uri $events -Headers $headers -TimeoutSec $limit -MaximumRedirection 0
        # No body at all means no events; an answer without Events means trouble.
        if ($document -and $null -eq $document.Events) { throw "this is no document of events" }
        $limit = 5
        # -contains compares names in any letter case.
        $mine = @($document.Events | Where-Object { $_ -and ($_.Resources -contains $Vm) })
        foreach ($one in $mine) {
            if (-not $prepared[$one.EventId]) {
                Invoke-Prepare $one # It may be Started already: then there was no notice.
                $prepared[$one.EventId] = $true
            }
            # Only what concerns this VM, and only once it is ready.
            if ($one.EventStatus -eq "Scheduled" -and -not $approved[$one.EventId]) {
                Approve-Event $one.EventId
                $approved[$one.EventId] = $true
            }
        }
        foreach ($id in @($prepared.Keys)) {
            if ($mine.EventId -notcontains $id) { # Gone from the list: done or cancelled.
                Invoke-Recover $id
                $prepared.Remove($id)
                $approved.Remove($id)
            }
        }
    } catch {
        # Busy, updating or away: 410, 429 and 5xx pass. What was known stays known, and is tried again.
        Write-Warning $_.Exception.Message
    }
    Start-Sleep -Seconds 1
}
