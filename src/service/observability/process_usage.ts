import process from "node:process";

/** The version and the resource usage of a process. */
export interface ProcessUsage {
  readonly residentBytes: number;
  readonly heapBytes: number;
  /** The processor time of the process on all processors since its start. */
  readonly cpuSeconds: number;
  /** Time since the start of the process. */
  readonly uptimeSeconds: number;
  /** `deno`, `node` or `bun`. */
  readonly host: string;
  readonly hostVersion: string;
}

/** Returns the current usage of this process. */
export function processUsage(): ProcessUsage {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  // Deno and Bun have an entry with their own name, and also an entry `node`.
  const versions: Readonly<Record<string, string | undefined>> = process.versions;
  const host = ["deno", "bun"].find((name) => versions[name] !== undefined) ?? "node";
  return {
    residentBytes: rss,
    heapBytes: heapUsed,
    cpuSeconds: (user + system) / 1e6,
    uptimeSeconds: process.uptime(),
    ...{ host, hostVersion: versions[host] ?? "" },
  };
}
