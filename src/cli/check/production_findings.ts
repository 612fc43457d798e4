import { dirname, join } from "node:path";
import type { OpenConfig } from "../../app/config.ts";
import { fileOfDatabase } from "../../engines/backup_files.ts";
import { isInProduction } from "../../runtime/production.ts";
import { programName } from "../../runtime/program_name.ts";
import { findSecrets } from "../../runtime/resolve_secrets.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { requireTableInfo } from "../../resource/define/resource_definition.ts";
import { pathExists } from "../path_exists.ts";
import { hasAllPermissions } from "../restart_with_kv.ts";

/** A fault of a configuration or of its database, in a sentence that says what to do. */
export interface Finding {
  /** A notice does not change the exit code. */
  readonly level: "finding" | "notice";
  readonly message: string;
}

/** Returns the points of the checklist in SECURITY.md that a program can see, and that are open. */
export async function productionFindings(
  config: OpenConfig,
  runtime: Runtime,
): Promise<readonly Finding[]> {
  const { cors, abuseProtection, kv, securityHeaders } = config;
  const hsts = typeof securityHeaders === "object" && securityHeaders.hsts;
  const isOpen = cors === true || (typeof cors === "object" && [cors.origin].flat().includes("*"));
  const proxies = "abuseProtection.trustProxy";
  return [
    ...findingIf(
      !isInProduction(config.env, runtime),
      "the environment is not production: set SERVICE_ENV=production",
    ),
    ...findingIf(
      kv === undefined || kv === ":memory:",
      "kv is the memory of the process: set kv to a file or a server that all processes share",
    ),
    ...findingIf(
      abuseProtection?.trustProxy === undefined,
      `${proxies} is not set: set ${proxies} to the number of your own proxies, or to 0`,
    ),
    ...findingIf(isOpen, "cors permits every origin: list the origins of your pages"),
    ...noticeIf(
      !hsts && securityHeaders !== false,
      "securityHeaders.hsts is not set: set securityHeaders.hsts if a proxy ends TLS",
    ),
    ...noticeIf(
      hasAllPermissions(),
      "the process has all permissions (-A): list the permissions that the service needs",
    ),
    ...secretFindings("SERVICE_SECRET", config.secret, runtime),
    ...(abuseProtection?.pow === undefined
      ? []
      : secretFindings("SERVICE_POW_SECRET", abuseProtection.pow.secret, runtime)),
    ...openResources(config),
    ...await fileFindings(config, runtime),
  ];
}

function findingIf(isSo: boolean, message: string): readonly Finding[] {
  return isSo ? [{ level: "finding", message }] : [];
}

function noticeIf(isSo: boolean, message: string): readonly Finding[] {
  return isSo ? [{ level: "notice", message }] : [];
}

function secretFindings(
  variable: string,
  given: string | readonly string[] | undefined,
  runtime: Runtime,
): readonly Finding[] {
  const [first = ""] = findSecrets({ given, option: "secret", variable }, runtime) ?? [];
  const state = first === "" ? "is not set" : `has only ${first.length} characters`;
  const advice = "use 32 random bytes, from openssl rand -base64 32";
  return findingIf(first.length < minLength, `${variable} ${state}: ${advice}`);
}

/** The length of 24 random bytes in base64. */
const minLength = 32;

function openResources({ resources, abuseProtection }: OpenConfig): readonly Finding[] {
  if (abuseProtection?.budget?.classes.anonymous !== undefined) return [];
  return resources.flatMap(({ table, options: { auth, rateLimit } }) => {
    const open = auth?.public;
    const isRead = typeof open === "object" ? Boolean(open.read) : open === true;
    return findingIf(
      isRead && rateLimit === undefined,
      `"${requireTableInfo(table).label}" is public for reading without a limit: set ` +
        "abuseProtection.budget.classes.anonymous",
    );
  });
}

async function fileFindings({ db, kv }: OpenConfig, runtime: Runtime): Promise<readonly Finding[]> {
  const path = await fileOfDatabase(db);
  const isFile = typeof kv === "string" && !/^(?::memory:$|https?:)/.test(kv);
  const files = path === null
    ? []
    : ["", "-wal", "-shm", "-turn", "-next"].map((end) => path + end);
  const found: Finding[] = [];
  for (const file of isFile ? [...files, kv] : files) {
    const mode = await Deno.stat(file).then(({ mode }) => mode ?? 0, () => 0);
    const shown = (mode & 0o777).toString(8);
    found.push(...findingIf(
      (mode & 0o077) !== 0,
      `other users can use ${file} (mode ${shown}): chmod 600 ${file}`,
    ));
  }
  return path === null ? found : [...found, ...await backupFindings(path, runtime.clock.now())];
}

/** Looks for backups in the folder `backups` next to the database. */
async function backupFindings(database: string, now: number): Promise<readonly Finding[]> {
  const folder = join(dirname(database), "backups");
  const times: number[] = [];
  if (await pathExists(folder)) {
    for await (const { name } of Deno.readDir(folder)) {
      // The name of a backup is its time, with hyphens in place of the colons.
      times.push(Date.parse(name.replace(/(\d\d)-(\d\d)-(\d\d)Z$/, "$1:$2:$3Z")) || 0);
    }
  }
  const days = Math.floor((now - Math.max(...times)) / dayMs);
  const advice = `run ${programName()} backup ${folder} regularly`;
  return times.length === 0
    ? noticeIf(true, `there is no backup in ${folder}: ${advice}`)
    : findingIf(days >= maxDays, `the newest backup is ${days} days old: ${advice}`);
}

const dayMs = 86_400_000;
const maxDays = 7;
