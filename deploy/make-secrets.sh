#!/bin/sh
# Writes the secrets that compose.cluster.yaml and the Kubernetes manifests read, one file each,
# into a folder (deploy/secrets unless another is named). What is there is kept.
set -eu

folder=${1:-$(dirname "$0")/secrets}

chance() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

mkdir -p "$folder"
if [ -e "$folder/database_url" ]; then
  echo "$folder has secrets already; remove it to make new ones" >&2
  exit 1
fi
chmod 700 "$folder" # the files themselves are read by the users inside the containers

database=$(chance)
bus=$(chance)
access=$(chance)
secret=$(chance)
printf '%s' "$database" > "$folder/postgres_password"
printf '%s' "postgresql://feedmill:$database@postgres:5432/feedmill" > "$folder/database_url"
printf '%s\n' "authorization { user: \"feedmill\", password: \"$bus\" }" > "$folder/nats_authorization"
printf '%s' "nats://feedmill:$bus@nats:4222" > "$folder/bus_url"
printf '%s' "$access" > "$folder/s3_access_key_id"
printf '%s' "$secret" > "$folder/s3_secret_access_key"
cat > "$folder/s3_identities" <<JSON
{"identities": [{"name": "feedmill", "actions": ["Admin"],
  "credentials": [{"accessKey": "$access", "secretKey": "$secret"}]}]}
JSON
chmod 644 "$folder"/*
