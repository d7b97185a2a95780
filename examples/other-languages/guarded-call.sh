#!/bin/sh
# A tool call that fires once, from a shell and with nothing but curl: a nightly job, say, that two hosts may start.
# Run it against a server, twice: sh guarded-call.sh http://127.0.0.1:7070
set -eu

url=${1:-http://127.0.0.1:7070}
# The day is in the arguments, so that tomorrow's report is another call.
day=${2:-$(date -u +%F)}

# Fresh for every claim. curl repeats a request whose answer was lost, and by its claim id it finds its own claim again.
claim_id=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

post() {
  curl --silent --show-error --max-time 60 --retry 5 --retry-connrefused \
    --header 'content-type: application/json' --data "$2" "$url$1"
}

# The value of a member, out of an answer whose texts hold no quotes.
member() {
  printf '%s' "$1" | sed -n "s/.*\"$2\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

sent_at=$(date +%s)
answer=$(post /v1/tool-calls/claim "{
  \"tool\": \"send_report\", \"args\": { \"day\": \"$day\" }, \"key\": \"$day\",
  \"pending_ttl\": 600, \"completed_ttl\": 604800, \"claim_id\": \"$claim_id\", \"owner\": \"$(uname -n)\" }")

case $answer in
*'"claimed":false'*)
  echo "already done: $(member "$answer" result)"
  exit 0
  ;;
*'"claimed":true'*) ;;
*)
  # In flight elsewhere, in doubt, failed: the code says which, and nothing is fired here.
  echo "not now: $(member "$answer" code)"
  exit 1
  ;;
esac

key=$(member "$answer" key)
valid_for=$(member "$answer" valid_for)

# The last look before the effect, counted from before the request was sent.
if [ $(($(date +%s) - sent_at)) -ge "${valid_for%.*}" ]; then
  echo "the claim may have lapsed"
  exit 1
fi

# The effect goes here. Give the service the key, too: curl --header "Idempotency-Key: $key" ...
echo "sending the report of $day, attempt $(member "$answer" attempt)"

done=$(post "/v1/tool-calls/$key/complete" "{ \"claim_id\": \"$claim_id\", \"result\": \"report of $day\" }")
echo "done: $(member "$done" result)"
