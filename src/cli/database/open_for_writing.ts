import type { SqliteAdditions } from "../../db/driver_options.ts";
import { openDatabase } from "../../engines/open_database.ts";
import {
  mayCreateTables,
  missingParts,
  type NeededParts,
} from "../../db/installed/missing_parts.ts";
import { programName } from "../../runtime/program_name.ts";
import type { Observer } from "../../runtime/runtime.ts";
import type { Database } from "../../db/database.ts";
import { quoteIdentifier } from "../../sql/fragment.ts";
import { isServerUrl, withoutSecrets, withParameter } from "../../engines/server_url.ts";

export interface WritingOptions {
  readonly place: string;
  readonly schema: string | null;
  readonly needed: NeededParts;
  readonly additions: SqliteAdditions;
  readonly observe: Observer;
}

export type WritableDatabase = Awaited<ReturnType<typeof openForWriting>>;

export async function openForWriting(url: string, options: WritingOptions) {
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
  const back = `"${programName()} uninstall ${withoutSecrets(place)}" takes it away again`;
  const message = `writing changes ${label} itself: ${missing.join("; ")}. ${back}`;
  observe({ kind: "notice", message });
}

/** Stores the journal mode of a SQLite file, so that `uninstall` can restore it. */
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
