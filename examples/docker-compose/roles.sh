#!/bin/sh
# Run once by the image of Postgres. "spool queue migrate" grants the rights.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set worker="$WORKER_PASSWORD" --set user="$USER_PASSWORD" <<'SQL'
create role spool_worker login password :'worker';
create role spool_user login password :'user';
revoke all on database spool from public;
grant connect on database spool to spool_worker, spool_user;
SQL
