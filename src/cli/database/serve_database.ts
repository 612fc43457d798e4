import type { SqliteAdditions } from "../../db/driver_options.ts";
import { openDatabase } from "../../engines/open_database.ts";
import { whyNoHistory } from "../../resource/define/resolve_resource.ts";
import { resource, type ResourceDefinition } from "../../resource/define/resource_definition.ts";
import type { ResourceOptions } from "../../resource/model/resource_options.ts";
import { mayCreateTables } from "../../db/installed/missing_parts.ts";
import type { Observer, Runtime } from "../../runtime/runtime.ts";
import { createTableInfo, type TableInfo } from "../../schema/table_info.ts";
import { installedTriggers } from "../../db/installed/installed_triggers.ts";
import type { RoleLimits } from "../../db/engine/engine.ts";
import { readRoleLimits } from "../../db/tables/table_facts.ts";
import { databaseSearch } from "../../engines/database_search.ts";
import { memorySearch, type SearchAdapter } from "../../search/search_adapter.ts";
import type { SupabaseRoles } from "./act_as_supabase.ts";
import { type DeclaredKeys, withRemainingKeys } from "./declared_view_keys.ts";
import { decideRecording, type Recording, type RecordingOptions } from "./decide_recording.ts";
import { findTables } from "./find_tables.ts";
import { databaseUrl } from "./resolve_database_url.ts";
import { describedTables } from "../reopen/table_states.ts";
import { dnsRebindingGuard } from "../dns_rebinding_guard.ts";
import {
  accountAuth,
  type CliRights,
  type CliService,
  isWriter,
  refuseWrites,
  resourceOptionsFor,
  tokenAuth,
} from "../cli_service.ts";
import type { Database } from "../../db/database.ts";
import { candidatesOf } from "../../resource/model/procedure.ts";
import type { Introspection } from "../../db/introspection.ts";
import {
  announceInstallation,
  openForWriting,
  saveJournalMode,
  type WritableDatabase,
  type WritingOptions,
} from "./open_for_writing.ts";

interface ServeDatabaseOptions {
  readonly rights: CliRights;
  readonly runtime: Runtime;
  readonly kv: string | undefined;
  readonly accountsIn: string | undefined;
  readonly isSearched: boolean;
  /** The Postgres schemas with the tables; null for the first schema in the search path. */
  readonly schemas: readonly string[] | null;
  readonly keys?: DeclaredKeys;
  /** True if the tables have changed since the start. Then `keys` may name missing views. */
  readonly isReread?: boolean | undefined;
  readonly additions?: SqliteAdditions | undefined;
  readonly functions?: readonly string[] | undefined;
  /** How changes are recorded in a writable database; null for no change log and no streams. */
  readonly recording: RecordingOptions | null;
  /** The database roles of callers; null if the role of the connection runs all statements. */
  readonly acting?: SupabaseRoles | null;
}

/** Opens a database, read-only unless `writable` is set. Throws an Error if it has no table. */
export async function serveDatabase(
  place: string,
  options: ServeDatabaseOptions,
): Promise<CliService> {
  const { rights, runtime, kv, accountsIn, isSearched, additions = {}, acting = null } = options;
  const { schemas, keys, recording: wishes } = options;
  const url = await databaseUrl(place);
  const { observe } = runtime;
  const needed = { log: wishes !== null, search: isSearched };
  const writing = { place, observe, needed, additions, schema: wishes?.schema ?? null };
  const opened = rights.writable
    ? await openForWriting(url, writing)
    : { db: await openDatabase(url, { ...additions, readOnly: true, observe }), journalMode: null };
  const { db } = opened;
  const wanted = {
    ...{ schemas: schemas ?? undefined, keys, roles: acting?.roles },
    functions: options.functions,
  };
  const read = options.isReread === true ? await withRemainingKeys(db, wanted, observe) : wanted;
  const { tables, functions } = await findTables(db, read, runtime);
  // If callers have database roles, the limits of the connection's own role do not matter.
  const limitsOf = async (some: readonly TableInfo[]) =>
    acting === null ? await readRoleLimits(db.driver, some) : new Map<TableInfo, RoleLimits>();
  const limits = await limitsOf(tables);
  const recording = rights.writable
    ? await install(opened, tables, { ...writing, wishes, runtime })
    : null;
  const changes = recording?.changes ?? undefined;
  const follows = (table: TableInfo) =>
    changes !== undefined && limits.get(table)?.hidesRows !== true;
  return {
    config: {
      db,
      kv: accountsIn ?? kv,
      runtime,
      auth: accountsIn === undefined ? tokenAuth(rights) : accountAuth(rights),
      middleware: [
        ...dnsRebindingGuard(rights),
        ...(rights.writable ? [] : [refuseWrites(functions)]),
      ],
      search: isSearched ? await searchIn(db, rights, observe) : undefined,
      changes,
      resources: [
        ...tables.map((table) =>
          definition(table, rights, {
            hasStreams: follows(table),
            historyDays: follows(table) ? wishes?.historyDays ?? null : null,
            auth: acting?.scopes,
            path: accountsIn !== undefined && table.name === "auth" ? pathWithAccounts : undefined,
          })
        ),
        ...functionsResource(functions, tables, rights, acting !== null),
      ],
      ...(acting === null ? {} : { auth: acting.auth, actAs: acting.actAs }),
    },
    subject: `${db.label}, ${rights.writable ? "with writes" : "read-only"}`,
    rights,
    accountsIn,
    streams: recording === null ? undefined : streamsExcept(recording, limits),
    exampleQuery: "?limit=3",
    // No other process can change the tables of an in-memory database, so they are not checked.
    describe: db.driver.isShared
      ? async () => {
        const remaining = await withRemainingKeys(db, wanted, () => {});
        const { tables, functions } = await db.introspect(remaining);
        return describedTables(tables, await limitsOf(tables), functions);
      }
      : undefined,
    installed: changes?.mode === "triggers" ? () => installedTriggers(db.driver) : undefined,
  };
}

const pathWithAccounts = "tables.auth";

function streamsExcept(
  { streams, changes }: Recording,
  limits: ReadonlyMap<TableInfo, RoleLimits>,
): string {
  // Views are not recordable, so they never have live streams.
  const streamed = [...limits].filter(([{ recordable }]) => recordable);
  const hidden = streamed.filter(([, { hidesRows }]) => hidesRows);
  const [first] = hidden;
  if (changes === null || first === undefined) return streams;
  const names = hidden.map(([{ label }]) => label).join(", ");
  const sentence = `Live streams: not of ${names}, because row level security applies to the ` +
    `role "${first[1].role}"`;
  return hidden.length === streamed.length ? sentence : `${sentence}. ${streams}`;
}

/** Returns the search adapter. Its index is in memory if the service may create no tables. */
async function searchIn(
  { driver, label }: Database,
  { writable }: CliRights,
  observe: Observer,
): Promise<SearchAdapter> {
  if (!writable) return memorySearch();
  if (await mayCreateTables(driver)) return databaseSearch();
  const message = `the search of ${label} is kept in memory, because the role may create no tables`;
  observe({ kind: "notice", message });
  return memorySearch();
}

async function install(
  opened: WritableDatabase,
  tables: readonly TableInfo[],
  { wishes, runtime, ...writing }: WritingOptions & {
    readonly wishes: RecordingOptions | null;
    readonly runtime: Runtime;
  },
): Promise<Recording | null> {
  const { db, journalMode } = opened;
  try {
    if (journalMode === null) await announceInstallation(db, writing);
    if (wishes === null) return null;
    const recorded = tables.filter(({ recordable }) => recordable);
    const recording = await decideRecording(db, recorded, wishes, runtime);
    if (recording.changes !== null) await saveJournalMode(opened);
    return recording;
  } catch (error) {
    await db.close();
    throw error;
  }
}

function definition(
  table: TableInfo,
  rights: CliRights,
  { hasStreams, historyDays, auth, path }: {
    readonly hasStreams: boolean;
    readonly historyDays: number | null;
    readonly path: string | undefined;
    readonly auth: SupabaseRoles["scopes"] | undefined;
  },
): ResourceDefinition {
  const common = resourceOptionsFor(rights);
  const options: ResourceOptions<Record<string, unknown>> = {
    ...common,
    capabilities: { ...common.capabilities, enableSubscribe: hasStreams },
    id: table.primaryKey.map((column) => column.name),
    // The service knows no column with a version of the row, so ETags are hashes of rows.
    etag: {},
    ...(auth === undefined ? {} : { auth }),
    ...(path === undefined ? {} : { path }),
    ...(historyDays === null || whyNoHistory(table) !== null
      ? {}
      : { history: { retentionMs: historyDays * 86_400_000 } }),
  };
  return resource(table, options);
}

/** Callers of volatile functions must be writers, unless row-level policies decide. */
function functionsResource(
  functions: Introspection["functions"],
  tables: readonly TableInfo[],
  { readsNeedToken, writable }: CliRights,
  hasPolicies: boolean,
): readonly ResourceDefinition[] {
  const offered = Object.values(functions).flatMap((procedure) => {
    const all = candidatesOf(procedure);
    const [first, ...overloads] = all.filter(({ isQuery }) => writable || isQuery);
    if (first === undefined) return [];
    const isOpen = hasPolicies || !writable || all.every(({ isQuery }) => isQuery);
    return [
      [first.name, {
        ...{ ...procedure, databaseFunction: { ...first, overloads } },
        public: isOpen && !readsNeedToken,
        ...(isOpen ? {} : { permits: isWriter }),
      }] as const,
    ];
  });
  if (offered.length === 0) return [];
  let name = "functions";
  while (tables.some(({ label }) => label === name)) name = `db_${name}`;
  const table = createTableInfo({
    ...{ name, schema: null, columns: [], foreignKeys: [], own: false },
  });
  const capabilities = { enableAggregations: false };
  const procedures = Object.fromEntries(offered);
  return [resource(table, { id: [], strictInput: true, capabilities, procedures })];
}
