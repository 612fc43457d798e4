import { writeJson } from "../../src/schema/exact_json.ts";
import type { TableInfo } from "../../src/schema/table_info.ts";
import { quoteName } from "../../src/filter/syntax/quoted_name.ts";
import { isPlain, literal } from "../check_database/filter_literals.ts";
import { type Item, type RowKey, StoredRows } from "../check_database/writes/stored_rows.ts";
import { pathKey } from "../check_database/writes/write_check.ts";
import type { RawDatabase } from "./raw_database.ts";
import type { StartedService } from "./started_service.ts";

/** The result for one table: whether a raw change was seen, or why none could be made. */
export interface Streamed {
  readonly isSeen: boolean;
  readonly differences: readonly string[];
}

const notSeen: Streamed = { isSeen: false, differences: [] };

/** Changes a row by plain SQL, and compares the event of a stream with a GET of the row. */
export async function checkStream(
  table: TableInfo,
  path: string,
  { service, raw }: { readonly service: StartedService; readonly raw: RawDatabase },
): Promise<Streamed> {
  const stored = new StoredRows(table, raw);
  const [key] = await stored.firstKeys(1);
  const { body } = await service.send("GET", `${path}?limit=1`, null);
  const [item]: readonly Item[] = Array.isArray(body["items"]) ? body["items"] : [];
  if (key === undefined || item === undefined || key.includes(null)) return notSeen;
  const change = await findChange(table, stored, { key, raw });
  const values = table.primaryKey.map(({ name }) => item[name]);
  if (change === null || !values.every(isPlain)) return notSeen;
  const terms = table.primaryKey.map(({ name }, index) =>
    `${quoteName(name)}==${literal(values[index])}`
  );
  const isFilterable = table.primaryKey.every(({ kind }) => kind !== "bytes" && kind !== "json");
  const query = new URLSearchParams(isFilterable ? { filter: terms.join(";") } : {});
  const stream = await service.subscribe(`${path}/subscribe?${query}`);
  const differences: string[] = [];
  try {
    await stream.untilSynced();
    const old = await stored.cell(key, change.column);
    await stored.set(key, change.column, change);
    await compare("a change");
    await stored.set(key, change.column, { expression: "$value", value: old });
    await compare("the change back");
  } finally {
    await stream.close();
  }
  return { isSeen: true, differences };

  async function compare(name: string): Promise<void> {
    const event = await within(10_000, stream.next());
    const reply = await service.send(
      "GET",
      `${path}/${pathKey(item ?? {}, table.primaryKey)}`,
      null,
    );
    const { _etag: etag, ...shown }: Item = Object(event?.data?.item);
    const isSame = event?.type === "changed" && etag === reply.etag &&
      // The reader of the stream rounds numbers beyond 2^53.
      JSON.stringify(shown) === JSON.stringify(JSON.parse(writeJson(reply.body)));
    if (isSame) return;
    const [seen, read] = [event, reply].map((one) => writeJson(one).slice(0, 400));
    differences.push(
      `${path}: ${name} of ${change?.column} is ${seen} in a stream, GET is ${read}`,
    );
  }
}

/** Returns a change that the database accepts: another stored value, or NULL. */
async function findChange(
  table: TableInfo,
  stored: StoredRows,
  { key, raw }: { readonly key: RowKey; readonly raw: RawDatabase },
): Promise<{ readonly column: string; readonly expression: string } | null> {
  for (const { dbName, primaryKey, generated } of table.columns) {
    if (primaryKey || generated) continue;
    const other = raw.engine === "sqlite" ? "IS NOT" : "IS DISTINCT FROM";
    const expressions = [
      `(SELECT o.$column FROM ${stored.name} AS o WHERE o.$column ${other} ${stored.name}.$column ` +
      "LIMIT 1)",
      "NULL",
    ];
    for (const expression of expressions) {
      try {
        const changes = await raw.trial(async () => {
          const before = await stored.read(key);
          await stored.set(key, dbName, { expression });
          const after = await stored.read(key);
          // A change of a column that triggers set again would not be undone.
          const changed = Object.keys(before).filter((name) => before[name] !== after[name]);
          return changed.length === 1 && (await stored.cell(key, dbName)) !== undefined;
        });
        if (changes) return { column: dbName, expression };
      } catch {
        // The database refuses this change. Another one may be possible.
      }
    }
  }
  return null;
}

async function within<T>(ms: number, result: Promise<T>): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), ms);
  try {
    return await Promise.race([result, promise]);
  } finally {
    clearTimeout(timer);
  }
}
