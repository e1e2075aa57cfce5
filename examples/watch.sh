#!/usr/bin/env bash
# Watches the scheduled events of this VM with curl and jq: prepares, approves, recovers, and goes on watching.
# Usage: watch.sh [VM]     the VM's name; the endpoint is asked for it when left out
set -uo pipefail

service="http://169.254.169.254/metadata"
events="$service/scheduledevents?api-version=2020-07-01"
limit=120 # seconds: the first answer enables the service, which may take two minutes; later ones are quick

# Every request: the header, no proxy, a time limit, and a failure for a redirect as for any status of 400 and more.
ask() {
  curl --silent --show-error --fail --location --max-redirs 0 --noproxy '*' --max-time "$limit" --header 'Metadata: true' "$@"
}

# What the VM does about an event. Put your own here: leave the load balancer, hand over, save.
prepare() { echo "preparing: $2 of $1, not before ${3:-now}"; }
recover() { echo "recovering: $1 is over"; }

approve() {
  ask --output /dev/null --data "{\"StartRequests\":[{\"EventId\":\"$1\"}]}" "$events" && echo "approved: $1"
}

me=${1:-${NOTBEFORE_VM:-}}
until me=${me:-$(ask "$service/instance?api-version=2021-02-01" | jq --raw-output '.compute.name // empty')} && [ -n "$me" ]; do
  sleep 1
done
echo "watching as $me"

declare -A prepared=() approved=()
while true; do
  if ! document=$(ask "$events"); then
    sleep 1 # Busy, updating or away: 410, 429 and 5xx pass. What was known stays known.
    continue
  fi
  limit=5
  # Names are compared in any letter case. No body at all means no events; JSON without Events means trouble.
  mine=$(jq --raw-output --arg me "$me" '.Events[] | select(any(.Resources[]; ascii_downcase == ($me | ascii_downcase)))
    | [.EventId, .EventType, .EventStatus, .NotBefore] | join("|")' <<<"$document") || { sleep 1; continue; }

  declare -A current=()
  while IFS='|' read -r id type status not_before; do
    [ -n "$id" ] || continue
    current[$id]=1
    if [ -z "${prepared[$id]:-}" ]; then
      prepare "$id" "$type" "$not_before" # It may be Started already: then there was no notice.
      prepared[$id]=1
    fi
    # Only what concerns this VM, and only once it is ready. A refused approval is tried again: the event may be gone by then.
    if [ "$status" = Scheduled ] && [ -z "${approved[$id]:-}" ] && approve "$id"; then
      approved[$id]=1
    fi
  done <<<"$mine"

  for id in "${!prepared[@]}"; do
    if [ -z "${current[$id]:-}" ]; then # Gone from the list: done or cancelled.
      recover "$id"
      unset "prepared[$id]" "approved[$id]"
    fi
  done
  unset current
  sleep 1
done
