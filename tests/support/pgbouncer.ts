import { canInstallOnDebian, findProgram, installOnDebian } from "./debian_packages.ts";
import { freePort, untilListening } from "./ports.ts";
import { serverOwner } from "./postgres_programs.ts";

/** A pgbouncer in transaction mode in front of a Postgres. */
export interface Pgbouncer extends AsyncDisposable {
  /** The URL of the target through the pooler. */
  readonly url: string;
  /** Kills it, and starts it again on its port. */
  killAndStart(): Promise<void>;
}

const names = ["pgbouncer"];

/** Returns the path of the program, installed if that is possible, or the reason for its absence. */
export async function pgbouncerForTests(): Promise<
  { readonly path: string } | { readonly missing: string }
> {
  const path = await findProgram(names) ??
    (await canInstallOnDebian() && await installOnDebian(names) ? await findProgram(names) : null);
  return path === null ? { missing: "no pgbouncer, and it could not be installed" } : { path };
}

/** Starts a pooler with few connections to the server, so that sessions change their clients. */
export async function startPgbouncer(
  path: string,
  target: string,
  role = "postgres",
): Promise<Pgbouncer> {
  const { host, port: targetPort } = new URL(target);
  const folder = await Deno.makeTempDir({ prefix: "resource-api-pgbouncer-" });
  await Deno.chmod(folder, 0o755);
  const port = freePort();
  const settings = [
    ...["[databases]", `* = host=127.0.0.1 port=${targetPort} user=${role}`, "[pgbouncer]"],
    ...["listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir =", "auth_type = any"],
    ...["pool_mode = transaction", "default_pool_size = 2", "max_client_conn = 500"],
    // The default is 15 seconds, in which the pooler does not try again to reach its server.
    "server_login_retry = 1",
  ];
  await Deno.writeTextFile(`${folder}/pgbouncer.ini`, `${settings.join("\n")}\n`);
  const command = new Deno.Command(path, {
    args: ["-q", `${folder}/pgbouncer.ini`],
    ...await serverOwner(),
    ...{ stdin: "null", stdout: "null", stderr: "null" },
  });
  let process = command.spawn();
  await untilListening(port);
  return {
    url: target.replace(host, `127.0.0.1:${port}`),
    async killAndStart() {
      process.kill("SIGKILL");
      await process.status;
      process = command.spawn();
      await untilListening(port);
    },
    async [Symbol.asyncDispose]() {
      process.kill("SIGINT");
      await process.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
