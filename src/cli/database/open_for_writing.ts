import { quoteIdentifier } from "../../sql/fragment.ts";
import {
  mayCreateTables,
  missingParts,
  type NeededParts,
} from "../../db/installed/missing_parts.ts";
import { openDatabase } from "../../engines/open_database.ts";
import { isServerUrl, withoutSecrets, withParameter } from "../../engines/server_url.ts";
import type { SqliteAdditions } from "../../db/driver_options.ts";
import type { Observer } from "../../runtime/observation.ts";
import type { Database } from "../../db/database.ts";

export interface WritingOptions {
  /** The database as the user wrote it in the arguments. */
  readonly place: string;
  /** The Postgres schema to add at the end of the search path; null for none. */
  readonly schema: string | null;
  readonly needed: NeededParts;
  readonly additions: SqliteAdditions;
  readonly observe: Observer;
}

export type WritableDatabase = Awaited<ReturnType<typeof openForWriting>>;

/** Prints how opening for writing will change a SQLite file, then opens the database. */
export async function openForWriting(
  url: string,
  options: WritingOptions,
) {
  const { schema, additions, observe } = options;
  if (schema !== null && !isServerUrl(url)) {
    throw new Error("The option --changes-schema belongs to the URL of a Postgres");
  }
  if (/^(?:node-)?sqlite:/i.test(url)) {
    const journalMode = await announceFile(url, options);
    return { db: await openDatabase(url, { ...additions, observe }), journalMode };
  }
  const known = schema === null ? url : await withSchema(url, schema);
  return { db: await openDatabase(known, { ...additions, observe }), journalMode: null };
}

/** Prints if the journal mode of the file will change. Returns its current mode. */
async function announceFile(url: string, options: WritingOptions): Promise<string> {
  const before = await openDatabase(url, { readOnly: true, observe: options.observe });
  try {
    await announceInstallation(before, options);
    const { rows } = await before.driver.query({
      text: "SELECT * FROM pragma_journal_mode",
      values: [],
    });
    return String(rows[0]?.[0]);
  } finally {
    await before.close();
  }
}

/** Prints which tables and triggers the service will install in the database, if any. */
export async function announceInstallation(
  { driver, label }: Database,
  { needed, place, schema, observe }: WritingOptions,
): Promise<void> {
  const mayCreate = await mayCreateTables(driver);
  const missing = await missingParts(driver, {
    log: needed.log && (mayCreate || schema !== null),
    search: needed.search && mayCreate,
  });
  if (missing.length === 0) return;
  const back = `"cli.ts uninstall ${withoutSecrets(place)}" takes it away again`;
  const message = `writing changes ${label} itself: ${missing.join("; ")}. ${back}`;
  observe({ kind: "notice", message });
}

/** Stores the earlier journal mode of a SQLite file, so that `uninstall` can restore it. */
export async function saveJournalMode({ db, journalMode }: WritableDatabase): Promise<void> {
  if (journalMode === null) return;
  await db.driver.query({
    text: `INSERT INTO "_service_meta" (name, value) VALUES ('journal_mode', ?)
      ON CONFLICT (name) DO NOTHING`,
    values: [journalMode],
  });
}

async function withSchema(url: string, schema: string): Promise<string> {
  const db = await openDatabase(url);
  try {
    const { rows } = await db.driver.query({ text: "SHOW search_path", values: [] });
    const path = `${rows[0]?.[0]}, ${quoteIdentifier(schema)}`;
    return withParameter(url, "search_path", path);
  } finally {
    await db.close();
  }
}
