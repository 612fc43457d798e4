/**
 * Starts the whole example on one machine with Linux, and ends it on Ctrl+C. It needs Postgres,
 * nginx and pgbouncer.
 *
 *     deno run -A examples/cluster/start.ts
 *
 * Each line of the input is a command: `failover` kills the primary and promotes the standby,
 * `rejoin` makes the old primary the standby, `restart` replaces the services.
 */
import { Cluster } from "./cluster.ts";
import { findBinaries, serverOwner } from "../../tests/support/postgres_programs.ts";
import { findProgram } from "../../tests/support/debian_packages.ts";

const folder = await Deno.makeTempDir({ prefix: "resource-api-cluster-" });
await using cluster = new Cluster({
  folder,
  programs: {
    postgres: required("Postgres", await findBinaries(["postgres", "initdb", "pg_basebackup"])),
    nginx: { path: required("nginx", await findProgram(["nginx"])) },
    pgbouncer: { path: required("pgbouncer", await findProgram(["pgbouncer"])) },
  },
  owner: await serverOwner(),
});
await cluster.start();
console.log(`nginx: ${cluster.url}/api/orders`);
console.log(`a token: ${await cluster.tokenOf("ada")}`);
console.log(`services: ${cluster.services.join(" ")}`);
console.log(`logs and data: ${folder}`);

const commands: Readonly<Record<string, () => Promise<void>>> = {
  failover: async () => {
    await cluster.primary.kill();
    await cluster.failOver();
  },
  rejoin: () => cluster.rejoin(),
  restart: () => cluster.restartServices(),
};
const stopped = Promise.withResolvers<void>();
Deno.addSignalListener("SIGINT", stopped.resolve);
readCommands();
await stopped.promise;

async function readCommands(): Promise<void> {
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    for (const line of text.split("\n").filter((line) => line !== "")) {
      const command = commands[line.trim()];
      if (command === undefined) console.log(`Commands: ${Object.keys(commands).join(", ")}`);
      else await command().then(() => console.log(`${line}: done`), console.error);
    }
  }
}

function required(name: string, found: string | null): string {
  if (found === null) throw new Error(`Cannot start the example: ${name} is not installed`);
  return found;
}
