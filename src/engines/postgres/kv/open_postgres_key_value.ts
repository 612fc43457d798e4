import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import type { KeyValue } from "../../../kv/key_value.ts";
import { groupOf } from "../../../options/option.ts";
import { textLike, whole } from "../../../options/option_kinds.ts";
import { consoleObserver } from "../../../runtime/console_observer.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import { systemRuntime } from "../../../runtime/system_runtime.ts";
import { readConnectionPlan } from "../connection/connection_plan.ts";
import { openPlan } from "../driver/postgres_js_driver.ts";
import { operationMs, PostgresKeyValue } from "./postgres_key_value.ts";

/** The options of {@link openPostgresKeyValue}. */
export interface PostgresKeyValueOptions {
  /** The maximum number of connections of the store. Default: 8. */
  readonly maxConnections?: number | undefined;
  /** The schema of the table `_service_kv`. It is created if it is missing. Default: `public`. */
  readonly schema?: string | undefined;
}

const optionRules = groupOf<PostgresKeyValueOptions>()({
  maxConnections: whole({ from: 1 }).default(8),
  schema: textLike("letters, digits and _", /^[A-Za-z_]\w{0,62}$/).default("public"),
}).required();

/**
 * Opens a key-value store in a table of a Postgres database, by the URL of the database. All
 * processes of a service, on any number of machines, can share the store, which has a separate pool
 * of connections. If the server cannot be reached, the store reports a notice, and each operation
 * tries to connect again.
 *
 * @throws {Error} If the URL or an option is wrong, or the server rejects the connection.
 * @example
 * ```ts ignore
 * import { openPostgresKeyValue } from "@svc/resource-api/postgres";
 *
 * const kv = await openPostgresKeyValue("postgres://app@10.0.0.2/shop_kv", { maxConnections: 4 });
 * const app = await createApp({ db, kv, resources });
 * ```
 */
export async function openPostgresKeyValue(
  url: string,
  options: PostgresKeyValueOptions = {},
  runtime: Runtime = systemRuntime(consoleObserver()),
): Promise<KeyValue> {
  const subject = "Cannot open the key-value store";
  const { maxConnections, schema } = optionRules.read(options, { subject, path: "" });
  const { clock, random } = runtime;
  try {
    const plan = await readConnectionPlan(url, (name) => runtime.environment(name));
    // A prepared plan must not scan the table. Through a pooler, no statement is prepared.
    const settings = plan.isPooled ? plan.settings : { ...plan.settings, enable_seqscan: "off" };
    // A statement that waits for a connection must fail before its outcome counts as unknown.
    const limits = { waitLimitMs: operationMs - 500, statementTimeoutMs: operationMs };
    const open = () => openPlan({ ...plan, settings }, { ...limits, maxConnections, clock });
    const driver = await open();
    const store = new PostgresKeyValue({ driver, open, schema, clock, random });
    await store.prepare().catch(async (error) => {
      const isUnavailable = error instanceof DatabaseError && error.kind === "unavailable";
      if (!isUnavailable) await store.close().then(() => Promise.reject(error));
      const message = `the key-value store ${driver.label} cannot be reached now: ${
        reasonOf(error)
      }`;
      runtime.observe({ kind: "notice", message });
    });
    return store;
  } catch (cause) {
    const reason = cause instanceof DatabaseError ? reasonOf(cause) : String(cause);
    const known = reason.replace(/^(?:Error: )?(?:Cannot open the database: )?/, "");
    throw new Error(`${subject}: ${known}`, { cause });
  }
}
