/** The cluster of the example on addresses of its own, so that it disturbs no other process. */
import { Cluster } from "../../../examples/cluster/cluster.ts";
import type { Namespace } from "../../nemesis/namespace.ts";
import { pgbouncerForTests } from "../../support/pgbouncer.ts";
import { findBinaries, serverOwner } from "../../support/postgres_programs.ts";
import { proxyForTests } from "../../support/proxies.ts";

const linux = Deno.build.os === "linux" ? null : "only Linux has the addresses 127.0.0.2 to .6";

export type Programs = ConstructorParameters<typeof Cluster>[0]["programs"];

/** Finds the programs of the example, or the reason why one is absent. */
export async function clusterPrograms(
  folder: string,
): Promise<Programs | { readonly missing: string }> {
  if (linux !== null) return { missing: linux };
  const postgres = await findBinaries(["postgres", "initdb", "pg_basebackup"]);
  if (postgres === null) return { missing: "no Postgres binaries" };
  const pgbouncer = await pgbouncerForTests();
  if ("missing" in pgbouncer) return pgbouncer;
  const nginx = await proxyForTests("nginx", folder);
  if ("missing" in nginx) return nginx;
  return { postgres, pgbouncer, nginx };
}

export async function startCluster(
  { programs, folder, isSynchronous, namespace }: {
    readonly programs: Programs;
    readonly folder: string;
    readonly isSynchronous: boolean;
    readonly namespace: Namespace | null;
  },
): Promise<Cluster> {
  const owner = await serverOwner();
  const [pid] = [Deno.pid];
  const network = `127.${100 + (pid >> 8) % 100}.${pid % 256}`;
  const own = Object.fromEntries(
    [1, 2, 3, 4, 5, 6].map((last) => [`127.0.0.${last}`, `${network}.${last}`]),
  );
  const cluster = new Cluster({
    ...{ folder, programs, owner, isSynchronous },
    addresses: {
      ...own,
      ...(namespace === null ? {} : {
        "127.0.0.2": namespace.address,
        "127.0.0.3": namespace.database,
        "127.0.0.0/8": "0.0.0.0/0",
      }),
    },
    // A process that dies loses what it holds. What it gave the kernel is safe without this.
    settings: { fsync: "off", shared_buffers: "32MB" },
    ...(namespace === null || owner === null ? {} : {
      startedBy: [
        ...[...namespace.startedBy, "setpriv", `--reuid=${owner.uid}`, `--regid=${owner.gid}`],
        "--clear-groups",
      ],
    }),
  });
  try {
    await cluster.start();
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
  return cluster;
}
