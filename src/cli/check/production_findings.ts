import { dirname, join } from "node:path";
import type { OpenConfig } from "../../app/config.ts";
import { fileOfDatabase } from "../../engines/backup_files.ts";
import { isStoreFile } from "../../kv/key_value_location.ts";
import { isInProduction } from "../../runtime/production.ts";
import { programName } from "../../runtime/program_name.ts";
import { findSecrets } from "../../runtime/resolve_secrets.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { requireTableInfo } from "../../resource/define/resource_definition.ts";
import { pathExists } from "../path_exists.ts";
import { hasAllPermissions } from "../restart_with_kv.ts";

export interface Finding {
  /** A notice does not change the exit code. */
  readonly level: "finding" | "notice";
  readonly message: string;
}

/** Returns the unmet points of the checklist in SECURITY.md, as far as a program can see them. */
export async function productionFindings(
  config: OpenConfig,
  runtime: Runtime,
): Promise<readonly Finding[]> {
  const { cors, abuseProtection, kv, securityHeaders } = config;
  const hsts = typeof securityHeaders === "object" && securityHeaders.hsts;
  const isOpen = cors === true || (typeof cors === "object" && [cors.origin].flat().includes("*"));
  const pow = abuseProtection?.pow;
  const path = await fileOfDatabase(config.db);
  return [
    ...open("finding", {
      "the environment is not production: set SERVICE_ENV=production": !isInProduction(
        config.env,
        runtime,
      ),
      "kv is the memory of the process: set kv to a file or a server that all processes share":
        kv === undefined || kv === ":memory:",
      "abuseProtection.trustProxy is not set: set the number of your own proxies, or 0":
        abuseProtection?.trustProxy === undefined,
      "cors permits every origin: list the origins of your pages": isOpen,
      ...shortSecret("SERVICE_SECRET", config.secret, runtime),
      ...(pow === undefined ? {} : shortSecret("SERVICE_POW_SECRET", pow.secret, runtime)),
      ...openResources(config),
      ...await readableFiles(path, kv),
    }),
    ...open("notice", {
      "securityHeaders.hsts is not set: set securityHeaders.hsts if a proxy ends TLS": !hsts &&
        securityHeaders !== false,
      "the process has all permissions (-A): list the permissions that the service needs":
        hasAllPermissions(),
    }),
    ...(path === null ? [] : await backupFindings(path, runtime.clock.now())),
  ];
}

type Points = Readonly<Record<string, boolean>>;

function open(level: Finding["level"], points: Points): readonly Finding[] {
  return Object.entries(points).flatMap(([message, isOpen]) => isOpen ? [{ level, message }] : []);
}

function shortSecret(
  variable: string,
  given: string | readonly string[] | undefined,
  runtime: Runtime,
): Points {
  const [first = ""] = findSecrets({ given, option: "secret", variable }, runtime) ?? [];
  const state = first === "" ? "is not set" : `has only ${first.length} characters`;
  const advice = "use 32 random bytes, from openssl rand -base64 32";
  return { [`${variable} ${state}: ${advice}`]: first.length < minLength };
}

/** The length of 24 random bytes in base64. */
const minLength = 32;

function openResources({ resources, abuseProtection }: OpenConfig): Points {
  if (abuseProtection?.budget?.classes.anonymous !== undefined) return {};
  return Object.fromEntries(resources.map(({ table, options: { auth, rateLimit } }) => {
    const access = auth?.public;
    const isPublic = typeof access === "object" ? Boolean(access.read) : access === true;
    const message = `"${requireTableInfo(table).label}" is public for reading without a limit: ` +
      "set abuseProtection.budget.classes.anonymous";
    return [message, isPublic && rateLimit === undefined];
  }));
}

async function readableFiles(database: string | null, kv: OpenConfig["kv"]): Promise<Points> {
  const ends = database === null ? [] : ["", "-wal", "-shm", "-turn", "-next"];
  const points: Record<string, boolean> = {};
  const stores = isStoreFile(kv) ? [kv] : [];
  for (const file of [".env", ...ends.map((end) => database + end), ...stores]) {
    const mode = await Deno.stat(file).then(({ mode }) => mode ?? 0, () => 0);
    const shown = (mode & 0o777).toString(8);
    const message = `other users can use ${file} (mode ${shown}): chmod 600 ${file}`;
    points[message] = (mode & 0o077) !== 0;
  }
  return points;
}

async function backupFindings(database: string, now: number): Promise<readonly Finding[]> {
  const folder = join(dirname(database), "backups");
  const times: number[] = [];
  if (await pathExists(folder)) {
    for await (const { name } of Deno.readDir(folder)) {
      // The name of a backup is its time, with hyphens in place of the colons.
      const time = Date.parse(name.replace(/(\d\d)-(\d\d)-(\d\d)Z$/, "$1:$2:$3Z"));
      if (!Number.isNaN(time)) times.push(time);
    }
  }
  const days = Math.floor((now - Math.max(...times)) / 86_400_000);
  const advice = `run ${programName()} backup ${folder} regularly`;
  return times.length === 0
    ? open("notice", { [`there is no backup in ${folder}: ${advice}`]: true })
    : open("finding", { [`the newest backup is ${days} days old: ${advice}`]: days >= maxDays });
}

const maxDays = 7;
