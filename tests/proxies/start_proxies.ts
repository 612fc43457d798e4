/** Starts proxies with the files of the documents, and with configurations as many people have them. */
import { untilListening } from "../support/ports.ts";
import type { ProxyName, ProxyProgram } from "../support/proxies.ts";

const documents = new URL("../../docs/proxies/", import.meta.url).pathname;

/**
 * The configuration of a proxy: the file in `docs/proxies`, this file as the documents change it for
 * an inner proxy of two, or a short configuration as tutorials show it.
 */
export type Setting = "documented" | "inner" | "usual";

export interface ProxyPorts {
  /** The port for HTTP/1.1 without TLS. */
  readonly plain: number;
  /** The port for TLS with HTTP/1.1 and HTTP/2. Usual configurations do not have it. */
  readonly tls: number;
  readonly service: number;
  /** The service with `mountedAt: "/v1"`. */
  readonly mounted: number;
}

interface ProxyStart {
  readonly program: Exclude<ProxyProgram, { readonly missing: string }>;
  /** Contains `leaf.pem`, `leaf.key` and `both.pem` for TLS. */
  readonly folder: string;
  readonly ports: ProxyPorts;
}

type Start = readonly [file: string, text: string, args: (path: string) => readonly string[]];

const starts: Readonly<
  Record<ProxyName, (setting: Setting, start: ProxyStart) => Promise<Start>>
> = { nginx: nginxStart, caddy: caddyStart, haproxy: haproxyStart, apache: apacheStart };

/** The changes for the inner proxy of two, as docs/configuration/proxies.md says. */
const innerLines: Readonly<Record<ProxyName, Readonly<Record<string, string>>>> = {
  nginx: { "X-Forwarded-For $remote_addr": "X-Forwarded-For $proxy_add_x_forwarded_for" },
  caddy: {
    "\thandle {\n\t\treverse_proxy":
      "\thandle {\n\t\treverse_proxy {\n\t\t\ttrusted_proxies 127.0.0.1/32\n\t\t\tto",
    "\t}\n}\n\n:": "\t\t}\n\t}\n}\n\n:",
  },
  haproxy: { "http-request set-header X-Forwarded-For %[src]": "option forwardfor" },
  apache: { "    RequestHeader unset X-Forwarded-For\n": "" },
};

/** Starts a proxy, and resolves when it listens. */
export async function startProxy(
  name: ProxyName,
  setting: Setting,
  start: ProxyStart,
): Promise<AsyncDisposable> {
  const { program, folder, ports } = start;
  const [file, text, args] = await starts[name](setting, start);
  const config = setting === "inner" ? replaceEach(text, innerLines[name]) : text;
  await Deno.writeTextFile(`${folder}/${file}`, config);
  const log = await Deno.open(`${folder}/${name}.log`, { write: true, create: true });
  const process = new Deno.Command(program.path, {
    args: [...args(`${folder}/${file}`)],
    env: { ...program.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    ...{ stdin: "null", stdout: "null", stderr: "piped" },
  }).spawn();
  const logging = process.stderr.pipeTo(log.writable);
  const failing = process.status.then(async ({ code }) => {
    await logging;
    const printed = await Deno.readTextFile(`${folder}/${name}.log`);
    throw new Error(`${name} ended with exit code ${code}: ${printed}`);
  });
  failing.catch(() => {});
  const open = setting === "usual" ? [ports.plain] : [ports.plain, ports.tls];
  const waiting = new AbortController();
  const listening = open.map((port) => untilListening(port, waiting.signal));
  await Promise.race([failing, Promise.all(listening)]).finally(() => waiting.abort());
  return {
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await failing.catch(() => {});
    },
  };
}

async function nginxStart(
  setting: Setting,
  { folder, ports: { plain, tls, service, mounted } }: ProxyStart,
): Promise<Start> {
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ");
  const usual = `events {} http {
  gzip on; gzip_proxied any; gzip_types *;
  server { listen 8080; location / { proxy_pass http://127.0.0.1:8000; } }
}`;
  const text = setting === "usual"
    ? replaceEach(usual, { "127.0.0.1:8000": `127.0.0.1:${service}` })
    : replaceEach(await documented("nginx.conf"), {
      "server 127.0.0.1:8000;": `server 127.0.0.1:${service};`,
      "listen 443": `listen 127.0.0.1:${tls}`,
      "/etc/ssl/certs/service.pem": `${folder}/leaf.pem`,
      "/etc/ssl/private/service.key": `${folder}/leaf.key`,
      "http://service$below_v1": `http://127.0.0.1:${mounted}$below_v1`,
      "client_header_timeout 10s;": "client_header_timeout 1s;",
    });
  const user = Deno.uid() === 0 ? "user root; " : "";
  return [
    "nginx.conf",
    replaceEach(text, {
      "listen 8080;": `listen 127.0.0.1:${plain};`,
      "http {": `http { access_log off; ${folders}`,
    }),
    (path) => [
      ...["-p", folder, "-e", "stderr", "-c", path],
      ...["-g", `daemon off; pid ${folder}/nginx.pid; ${user}`],
    ],
  ];
}

async function caddyStart(
  setting: Setting,
  { folder, ports: { plain, tls, service, mounted } }: ProxyStart,
): Promise<Start> {
  const usual = "{\n\tservers {\n\t}\n}\n:8080 {\n\tencode gzip zstd\n" +
    "\treverse_proxy 127.0.0.1:8000\n}\n";
  const text = setting === "usual" ? usual : replaceEach(await documented("Caddyfile"), {
    "\thandle_path /v1/* {\n\t\treverse_proxy 127.0.0.1:8000":
      `\thandle_path /v1/* {\n\t\treverse_proxy 127.0.0.1:${mounted}`,
    "service.example {": `https://localhost:${tls} {\n\ttls ${folder}/leaf.pem ${folder}/leaf.key`,
    "read_header 10s": "read_header 1s",
  });
  return [
    "Caddyfile",
    replaceEach(text, {
      "reverse_proxy 127.0.0.1:8000": `reverse_proxy 127.0.0.1:${service}`,
      ":8080 {": `:${plain} {`,
      "\tservers {": "\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n\tservers {",
    }),
    (path) => ["run", "--config", path, "--adapter", "caddyfile"],
  ];
}

async function haproxyStart(
  setting: Setting,
  { folder, ports: { plain, tls, service, mounted } }: ProxyStart,
): Promise<Start> {
  const usual = `defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
frontend public
    bind :8080
    option forwardfor
    compression algo gzip
    default_backend service
backend service
    server one 127.0.0.1:8000
`;
  const text = setting === "usual" ? usual : replaceEach(await documented("haproxy.cfg"), {
    "\\1\n    server one 127.0.0.1:8000": `\\1\n    server one 127.0.0.1:${mounted}`,
    "bind :443": `bind 127.0.0.1:${tls}`,
    "/etc/ssl/private/service.pem": `${folder}/both.pem`,
    "timeout http-request 10s": "timeout http-request 1s",
  });
  return [
    "haproxy.cfg",
    replaceEach(text, {
      "bind :8080": `bind 127.0.0.1:${plain}`,
      "one 127.0.0.1:8000": `one 127.0.0.1:${service}`,
    }),
    (path) => ["-db", "-f", path],
  ];
}

async function apacheStart(
  setting: Setting,
  { program: { root }, folder, ports: { plain, tls, service, mounted } }: ProxyStart,
): Promise<Start> {
  const usual = `Listen 8080
<VirtualHost *:8080>
    SetOutputFilter DEFLATE
    ProxyPass / http://127.0.0.1:8000/
    ProxyPassReverse / http://127.0.0.1:8000/
</VirtualHost>
`;
  const text = setting === "usual"
    ? usual
    : replaceEach(withTlsHost(await documented("apache.conf")), {
      "/v1/ http://127.0.0.1:8000/": `/v1/ http://127.0.0.1:${mounted}/`,
      "Listen 443": `Listen 127.0.0.1:${tls}`,
      "<VirtualHost *:443>": `<VirtualHost 127.0.0.1:${tls}>`,
      "/etc/ssl/certs/service.pem": `${folder}/leaf.pem`,
      "/etc/ssl/private/service.key": `${folder}/leaf.key`,
      "header=10": "header=1",
    });
  const modules = ["mpm_event", "authz_core", "proxy", "proxy_http", "headers", "deflate"]
    .concat(["filter", "reqtimeout", "http2", "ssl"])
    .map((name) => [name, `${root}/usr/lib/apache2/modules/mod_${name}.so`] as const);
  // Debian's own file loads the modules, and names the user.
  const own = [
    ...["ServerName localhost", `PidFile ${folder}/apache.pid`, "ErrorLog /dev/stderr"],
    ...[`DefaultRuntimeDir ${folder}`, "User nobody", "Group nogroup", "StartServers 1"],
    ...modules.map(([name, path]) =>
      `<IfModule !${name}_module>\nLoadModule ${name}_module ${path}\n</IfModule>`
    ),
  ];
  return [
    "apache.conf",
    `${own.join("\n")}\n` + replaceEach(text, {
      "http://127.0.0.1:8000/": `http://127.0.0.1:${service}/`,
      "Listen 8080": `Listen 127.0.0.1:${plain}`,
      "<VirtualHost *:8080>": `<VirtualHost 127.0.0.1:${plain}>`,
    }),
    (path) => ["-DFOREGROUND", "-d", folder, "-f", path],
  ];
}

/** Reads a file of the documents, with the lines for TLS and for a service below a path. */
async function documented(name: string): Promise<string> {
  const text = await Deno.readTextFile(documents + name);
  return name === "apache.conf" ? text : text.replaceAll("#+ ", "");
}

/** Adds the lines of TLS to a copy of the virtual host. */
function withTlsHost(text: string): string {
  const host = text.slice(text.indexOf("<VirtualHost"));
  const below = (one: string) => one.replace("#+ ProxyPass", "ProxyPass");
  return `${below(text)}\nListen 443\n${host.replace("*:8080", "*:443").replaceAll("#+ ", "")}`;
}

function replaceEach(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((replaced, [from, to]) => {
    if (!replaced.includes(from)) throw new Error(`The configuration has no longer: ${from}`);
    return replaced.replaceAll(from, to);
  }, text);
}
