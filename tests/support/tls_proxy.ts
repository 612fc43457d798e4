import { findProgram, runOrThrow } from "./debian_packages.ts";
import { proxyForTests } from "./proxies.ts";
import { freePort, untilListening } from "./ports.ts";

/** An nginx before an HTTP server, with TLS and a password. */
export interface TlsProxy extends AsyncDisposable {
  readonly url: string;
  /** The certificate of its authority, in PEM. */
  readonly ca: string;
}

/** The user and the password that it asks for. */
export const tlsProxyUser = { username: "admin", password: "secret word" };

/** Why there can be none, or null. */
export async function tlsProxyMissing(folder: string): Promise<string | null> {
  if (await findProgram(["openssl"]) === null) return "there is no openssl";
  const nginx = await proxyForTests("nginx", folder);
  return "missing" in nginx ? nginx.missing : null;
}

/** Starts one in a folder of its own. */
export async function startTlsProxy(upstream: string, folder: string): Promise<TlsProxy> {
  const nginx = await proxyForTests("nginx", folder);
  if ("missing" in nginx) throw new Error(nginx.missing);
  await makeCertificates(folder);
  const port = freePort();
  await Deno.writeTextFile(`${folder}/nginx.conf`, configuration(folder, port, upstream));
  // The one below does not run as root, and reads the passwords.
  await Deno.chmod(folder, 0o755);
  const process = new Deno.Command(nginx.path, {
    args: ["-p", folder, "-e", "stderr", "-c", `${folder}/nginx.conf`],
    env: { ...nginx.env },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  await untilListening(port);
  return {
    url: `https://localhost:${port}`,
    ca: await Deno.readTextFile(`${folder}/ca.pem`),
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

/**
 * Makes `leaf.pem` and `leaf.key` for localhost, and the `ca.pem` of the authority that has signed
 * the certificate.
 */
export async function makeCertificates(folder: string): Promise<void> {
  const { username, password } = tlsProxyUser;
  await Deno.writeTextFile(
    `${folder}/leaf.ext`,
    "basicConstraints=critical,CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n",
  );
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const commands = [
    ["req", "-x509", ...key, "-days", "30", "-subj", "/CN=test authority"]
      .concat(["-addext", "keyUsage=critical,keyCertSign", "-keyout", "ca.key", "-out", "ca.pem"]),
    ["req", ...key, "-subj", "/CN=localhost", "-keyout", "leaf.key", "-out", "leaf.csr"],
    ["x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
      .concat(["-days", "30", "-extfile", "leaf.ext", "-out", "leaf.pem"]),
  ];
  for (const args of commands) await runOrThrow("openssl", args, { cwd: folder });
  const { stdout } = await new Deno.Command("openssl", { args: ["passwd", "-apr1", password] })
    .output();
  const hash = new TextDecoder().decode(stdout);
  await Deno.writeTextFile(`${folder}/htpasswd`, `${username}:${hash}`, { mode: 0o644 });
}

function configuration(folder: string, port: number, upstream: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
  return `daemon off; master_process off;
pid ${folder}/nginx.pid;
error_log stderr warn;
events { worker_connections 256; }
http {
  access_log off; ${temporary}
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${folder}/leaf.pem;
    ssl_certificate_key ${folder}/leaf.key;
    auth_basic "search";
    auth_basic_user_file ${folder}/htpasswd;
    location / {
      proxy_pass ${upstream};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Authorization "";
    }
  }
}
`;
}
