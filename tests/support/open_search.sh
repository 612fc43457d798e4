#!/usr/bin/env bash
# A real single-node OpenSearch for tests, put together from Maven packages.
#
#   open_search.sh            download once, start, print the URL on stdout, stay
#                            in the foreground until SIGTERM / SIGINT
#   open_search.sh fetch      only fill the cache
#
# stdout carries exactly one line, the URL; everything else goes to stderr.
# Needs: bash, Java >= 17 (>= 21 for OpenSearch 3.x), mvn (first run only),
# curl, setpriv (util-linux). As root the server runs as OPENSEARCH_USER.
#
#   OPENSEARCH_CACHE    folder for the server      (default: a temp folder by user)
#   OPENSEARCH_VERSION  2.19.6 | 3.8.0 | ...       (default: 2.19.6)
#   OPENSEARCH_PORT     HTTP port, 0 = a free one  (default: 0)
#   OPENSEARCH_HEAP     Java heap                  (default: 512m)
#   OPENSEARCH_DATA     data folder that is kept   (default: temp, removed at stop)
#   OPENSEARCH_USER     user when started by root  (default: nobody)
#   OPENSEARCH_WAIT     seconds to wait for start  (default: 120)
#   OPENSEARCH_URL_FILE also write the URL there (atomically)
#   OPENSEARCH_PAINLESS 1 = with scripts (1.2 s more at start; default: without)
#   OPENSEARCH_OPTS     more "-Ename=value" node settings
#   OPENSEARCH_JAVA     java program               (default: JAVA_HOME's or PATH's)
set -euo pipefail
umask 022

VERSION=${OPENSEARCH_VERSION:-2.19.6}
CACHE=${OPENSEARCH_CACHE:-${TMPDIR:-/tmp}/resource-api-opensearch-$(id -u)}
HEAP=${OPENSEARCH_HEAP:-512m}
RUN_AS=${OPENSEARCH_USER:-nobody}
WAIT=${OPENSEARCH_WAIT:-120}
JAVA=${OPENSEARCH_JAVA:-${JAVA_HOME:+$JAVA_HOME/bin/}java}
DEPENDENCY_PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

# module name | artifact in org.opensearch.plugin | plugin class
MODULES='transport-netty4|transport-netty4-client|org.opensearch.transport.Netty4Plugin
analysis-common|analysis-common|org.opensearch.analysis.common.CommonAnalysisPlugin
mapper-extras|mapper-extras-client|org.opensearch.index.mapper.MapperExtrasPlugin
reindex|reindex-client|org.opensearch.index.reindex.ReindexPlugin'
[ -z "${OPENSEARCH_PAINLESS:-}" ] ||
  MODULES+=$'\nlang-painless|lang-painless|org.opensearch.painless.PainlessPlugin'

say() { echo "open_search.sh: $*" >&2; }
die() { say "$*"; exit 1; }

case $VERSION in
  2.*) NEED_JAVA=17 ;;
  *) NEED_JAVA=21 ;;
esac
command -v "$JAVA" >/dev/null || die "no java (wanted $NEED_JAVA or later)"
JAVA_MAJOR=$("$JAVA" -XshowSettings:properties -version 2>&1 |
  sed -n 's/^ *java.specification.version = \([0-9]*\).*/\1/p')
[ "${JAVA_MAJOR:-0}" -ge "$NEED_JAVA" ] ||
  die "OpenSearch $VERSION needs Java $NEED_JAVA or later, this is ${JAVA_MAJOR:-unknown}"
case $VERSION in
  2.*) [ "$JAVA_MAJOR" -lt 24 ] || die "OpenSearch 2.x needs a Java below 24 (SecurityManager)" ;;
esac

pom() { # artifactId body
  printf '<project><modelVersion>4.0.0</modelVersion>'
  printf '<groupId>test.opensearch</groupId><artifactId>%s</artifactId><version>1</version>' "$1"
  printf '<packaging>pom</packaging>%s</project>\n' "$2"
}
dependency() { # groupId artifactId
  printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>' \
    "$1" "$2" "$VERSION"
}

# The server's home: lib/, modules/<name>/. Built beside and moved into place,
# so an interrupted run leaves nothing half-made, and two runs don't collide.
fetch() {
  HOME_DIR=$CACHE/opensearch-$VERSION${OPENSEARCH_PAINLESS:+-painless}
  [ -f "$HOME_DIR/.complete" ] && return 0
  command -v mvn >/dev/null || die "no mvn, and $HOME_DIR is not filled"
  mkdir -p "$CACHE"
  local work name artifact class jar
  work=$(mktemp -d "$CACHE/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  say "assembling OpenSearch $VERSION in $HOME_DIR"
  mkdir -p "$work/p/server" "$work/home"/{bin,lib,modules,plugins,extensions}
  local server
  server=$(dependency org.opensearch opensearch; dependency org.opensearch opensearch-plugin-classloader)
  # 3.x starts without its Java agent, not without the agent's bootstrap classes.
  case $VERSION in 2.*) ;; *) server+=$(dependency org.opensearch opensearch-agent-bootstrap) ;; esac
  pom server "<dependencies>$server</dependencies>" >"$work/p/server/pom.xml"
  local children='<module>server</module>'
  while IFS='|' read -r name artifact class; do
    mkdir -p "$work/p/$name"
    pom "$name" "<dependencies>$(dependency org.opensearch.plugin "$artifact")</dependencies>" \
      >"$work/p/$name/pom.xml"
    children+="<module>$name</module>"
  done <<<"$MODULES"
  pom all "<modules>$children</modules>" >"$work/p/pom.xml"
  # One mvn call; each child's jars land in out/<child>. mvn's own settings choose the mirror.
  (cd "$work/p" && mvn -B -q -ntp ${OPENSEARCH_MVN_ARGS:-} "$DEPENDENCY_PLUGIN:copy-dependencies" \
    -DincludeScope=runtime "-DoutputDirectory=$work/out/\${project.artifactId}" >&2) ||
    die "mvn could not get the packages"
  mv "$work/out/server"/*.jar "$work/home/lib/"
  # The server needs log4j-core to start, yet its package marks it optional.
  jar=$(basename "$work/home/lib"/log4j-api-*.jar .jar)
  mvn -B -q -ntp ${OPENSEARCH_MVN_ARGS:-} "$DEPENDENCY_PLUGIN:copy" \
    "-Dartifact=org.apache.logging.log4j:log4j-core:${jar#log4j-api-}" \
    "-DoutputDirectory=$work/home/lib" >&2 || die "mvn could not get log4j-core"
  while IFS='|' read -r name artifact class; do
    case $VERSION in 2.*) ;; *) class=${class%Plugin}ModulePlugin ;; esac # renamed in 3.x
    mkdir -p "$work/home/modules/$name"
    for jar in "$work/out/$name"/*.jar; do
      # A jar in both places is "jar hell": the server refuses to start.
      [ -e "$work/home/lib/${jar##*/}" ] || mv "$jar" "$work/home/modules/$name/"
    done
    # The packages carry neither descriptor nor policy; both are ours.
    cat >"$work/home/modules/$name/plugin-descriptor.properties" <<DESCRIPTOR
name=$name
description=$name
version=$VERSION
opensearch.version=$VERSION
java.version=11
classname=$class
has.native.controller=false
DESCRIPTOR
    echo 'grant { permission java.security.AllPermission; };' \
      >"$work/home/modules/$name/plugin-security.policy"
  done <<<"$MODULES"
  chmod -R a+rX "$work/home"
  : >"$work/home/.complete"
  if [ ! -e "$HOME_DIR/.complete" ]; then
    rm -rf "$HOME_DIR"
    mv -T "$work/home" "$HOME_DIR" 2>/dev/null || [ -e "$HOME_DIR/.complete" ] ||
      die "could not fill $HOME_DIR"
  fi
  rm -rf "$work"
  trap - EXIT
}

fetch
[ "${1:-}" = fetch ] && { say "ready: $HOME_DIR"; exit 0; }

# The server refuses root: drop to another user. setpriv execs, so no process is
# in between and signals reach java; it also ends java should this script be killed.
PRIV=(setpriv --pdeathsig KILL)
RUN_DIR=$(mktemp -d "${TMPDIR:-/tmp}/opensearch-run.XXXXXX")
PID=
cleanup() {
  trap '' TERM INT HUP
  if [ -n "$PID" ] && kill -0 "$PID" 2>/dev/null; then
    kill -TERM "$PID" 2>/dev/null || true
    for _ in $(seq 100); do kill -0 "$PID" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$PID" 2>/dev/null || true
    wait "$PID" 2>/dev/null || true
  fi
  [ -z "${OPENSEARCH_URL_FILE:-}" ] || rm -f "$OPENSEARCH_URL_FILE"
  rm -rf "$RUN_DIR"
}
trap cleanup EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
trap 'exit 129' HUP

DATA=${OPENSEARCH_DATA:-$RUN_DIR/data}
mkdir -p "$DATA" "$RUN_DIR/config" "$RUN_DIR/logs" "$RUN_DIR/tmp"
cat >"$RUN_DIR/config/opensearch.yml" <<YML
cluster.name: test
node.name: test
path.data: "$DATA"
path.logs: "$RUN_DIR/logs"
network.host: 127.0.0.1
http.port: ${OPENSEARCH_PORT:-0}
transport.port: 0
discovery.type: single-node
node.portsfile: true
node.store.allow_mmap: false
cluster.routing.allocation.disk.threshold_enabled: false
YML
cat >"$RUN_DIR/config/log4j2.properties" <<'LOG'
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = ${sys:test.log.level:-info}
rootLogger.appenderRef.console.ref = console
LOG

if [ "$(id -u)" = 0 ]; then
  uid=$(id -u "$RUN_AS") gid=$(id -g "$RUN_AS")
  PRIV+=(--reuid "$uid" --regid "$gid" --clear-groups)
  chown -R "$uid:$gid" "$RUN_DIR" "$DATA"
  # A cache under /root can't be read by that user: take a copy.
  if ! "${PRIV[@]}" test -r "$HOME_DIR/.complete"; then
    cp -r "$HOME_DIR" "$RUN_DIR/home"
    HOME_DIR=$RUN_DIR/home
  fi
fi

JVM=("-Xms$HEAP" "-Xmx$HEAP" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto
  -XX:-UsePerfData -Dfile.encoding=UTF-8 -Djava.awt.headless=true
  "-Djava.io.tmpdir=$RUN_DIR/tmp" "-Djna.tmpdir=$RUN_DIR/tmp" -Djna.nosys=true
  -Dio.netty.noUnsafe=true -Dio.netty.noKeySetOptimization=true
  -Dio.netty.recycler.maxCapacityPerThread=0 -Dio.netty.allocator.numDirectArenas=0
  -Dlog4j.shutdownHookEnabled=false -Dlog4j2.disable.jmx=true
  -Dopensearch.distribution.type=tar
  "-Dopensearch.path.home=$HOME_DIR" "-Dopensearch.path.conf=$RUN_DIR/config")
case $VERSION in
  2.*) JVM+=(-Djava.locale.providers=SPI,COMPAT)
       [ "$JAVA_MAJOR" -lt 18 ] || JVM+=(-Djava.security.manager=allow) ;;
  *) JVM+=(-Djava.locale.providers=SPI,CLDR --add-modules=jdk.incubator.vector) ;;
esac

LOG=$RUN_DIR/logs/server.log
# shellcheck disable=SC2086
(cd "$RUN_DIR" && exec "${PRIV[@]}" env -u JAVA_TOOL_OPTIONS "$JAVA" "${JVM[@]}" \
  ${OPENSEARCH_JVM:-} -cp "$HOME_DIR/lib/*" \
  org.opensearch.bootstrap.OpenSearch ${OPENSEARCH_OPTS:-}) </dev/null >"$LOG" 2>&1 &
PID=$!

URL=
for ((i = 0; i < WAIT * 10; i++)); do
  kill -0 "$PID" 2>/dev/null || { tail -n 60 "$LOG" >&2; die "the server ended while starting"; }
  if [ -z "$URL" ] && [ -s "$RUN_DIR/logs/http.ports" ]; then
    URL=http://$(head -n 1 "$RUN_DIR/logs/http.ports")
  fi
  if [ -n "$URL" ] && curl -fsS --noproxy '*' -m 5 -o /dev/null \
    "$URL/_cluster/health?wait_for_status=yellow&timeout=4s" 2>/dev/null; then
    break
  fi
  sleep 0.1
done
((i < WAIT * 10)) || { tail -n 60 "$LOG" >&2; die "not ready within $WAIT s"; }

if [ -n "${OPENSEARCH_URL_FILE:-}" ]; then
  echo "$URL" >"$OPENSEARCH_URL_FILE.$$" && mv "$OPENSEARCH_URL_FILE.$$" "$OPENSEARCH_URL_FILE"
fi
say "pid $PID, log $LOG"
echo "$URL"
set +e
wait "$PID"
RC=$?
PID=
tail -n 20 "$RUN_DIR/logs/server.log" >&2
die "the server ended by itself ($RC)"
