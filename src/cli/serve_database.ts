import { type Database, openDatabase } from "../db/open_database.ts";
import { resource, type ResourceDefinition } from "../resource/define/resource_definition.ts";
import type { ResourceOptions } from "../resource/define/resource_options.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { TableInfo } from "../schema/table_info.ts";
import { databaseSearch } from "../search/database_search.ts";
import { memorySearch } from "../search/memory_search.ts";
import type { SearchAdapter } from "../search/search_adapter.ts";
import type { CliRights } from "./cli_rights.ts";
import { pathExists } from "./path_exists.ts";
import { describedTables } from "./reopen/described_tables.ts";
import { dnsRebindingGuard } from "./dns_rebinding_guard.ts";
import {
  accountAuth,
  type CliService,
  refuseWrites,
  resourceOptionsFor,
  tokenAuth,
} from "./cli_service.ts";

/** How the command line serves a database. */
export interface ServeDatabaseOptions {
  readonly rights: CliRights;
  readonly runtime: Runtime;
  /** The store that several workers share. */
  readonly kv: string | undefined;
  /** The file or URL of the store of accounts; undefined without accounts. */
  readonly accountsIn: string | undefined;
  /** Whether every table with texts has a search. */
  readonly isSearched: boolean;
}

/**
 * Serves every table of an existing database from the command line, without a configuration file.
 * Without `writable` the database is opened read-only. Throws an Error of one sentence when no table
 * can be served.
 */
export async function serveDatabase(
  place: string,
  { rights, runtime, kv, accountsIn, isSearched }: ServeDatabaseOptions,
): Promise<CliService> {
  const db = await openDatabase(await toUrl(place), {
    readOnly: !rights.writable,
    observe: runtime.observe,
  });
  const tables = await introspect(db, runtime);
  return {
    config: {
      db,
      kv: accountsIn ?? kv,
      runtime,
      auth: accountsIn === undefined ? tokenAuth(rights) : accountAuth(rights),
      middleware: [...dnsRebindingGuard(rights), ...(rights.writable ? [] : [refuseWrites])],
      search: isSearched ? searchIn(rights) : undefined,
      resources: tables.map((table) => definition(table, rights)),
    },
    subject: `${db.label}, ${rights.writable ? "with writes" : "read-only"}`,
    rights,
    accountsIn,
    exampleQuery: "?limit=3",
    describe: async () => describedTables((await db.introspect()).tables),
  };
}

/** In a database that is opened read-only nothing is installed: there the index is in memory. */
function searchIn({ writable }: CliRights): SearchAdapter {
  return writable ? databaseSearch() : memorySearch();
}

/** A bare path is a SQLite file. A missing file is refused, because opening would create it. */
async function toUrl(place: string): Promise<string> {
  // A single letter before the colon is a drive.
  const isUrl = /^[a-z][a-z0-9+.-]+:/i.test(place);
  const path = isUrl ? filePathOf(place) : place;
  if (path !== null && !await pathExists(path)) {
    throw new Error(`Cannot open ${place}: there is no such file`);
  }
  return isUrl ? place : `sqlite:${place}`;
}

function filePathOf(url: string): string | null {
  return /^(?:(?:node-)?sqlite|pglite):(?:\/\/)?(?!:memory:)(.+)$/i.exec(url)?.[1] ?? null;
}

async function introspect(db: Database, runtime: Runtime): Promise<readonly TableInfo[]> {
  const { tables, leftOut } = await db.introspect();
  for (const { table, reason } of leftOut) {
    runtime.observe({ kind: "table_left_out", table, reason });
  }
  if (tables.length > 0) return tables;
  await db.close();
  throw new Error(`Cannot serve ${db.label}: it has no table that can be read`);
}

function definition(table: TableInfo, rights: CliRights): ResourceDefinition {
  const options: ResourceOptions<Record<string, unknown>> = {
    ...resourceOptionsFor(rights),
    id: table.primaryKey.map((column) => column.name),
    // The version column is unknown here; a hash of the row needs none.
    etag: {},
  };
  return resource(table, options);
}
