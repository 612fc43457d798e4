import { assertEquals } from "@std/assert";
import type { Change, ChangeLog, ChangeLogStep } from "../../src/db/changes/change_log.ts";
import type { Position } from "../../src/db/changes/log_position.ts";
import { allRows } from "../../src/filter/filter.ts";
import { gt } from "../../src/filter/builders.ts";
import type { LiveView } from "../../src/live/live_view.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { type Relation, relationStep } from "../../src/schema/relation.ts";
import type { ColumnInfo, Row } from "../../src/schema/table_info.ts";
import type { EventStream } from "../support/event_stream.ts";
import { testOnDialects } from "../support/http.ts";
import { isFull } from "../support/repeats.ts";
import { Client, spied, type TestHub, withHub } from "./hub_support.ts";
import type { Database } from "../../src/db/database.ts";

const rows = table("rows", {
  id: integer().primaryKey(),
  parentId: integer().as("parent_id"),
  rank: integer(),
  title: text(),
});
const info = tableInfoOf(rows);
// The columns were declared above.
const [id, parentId] = info.columns as [ColumnInfo, ColumnInfo];
const children: Relation = {
  name: "children",
  owner: info,
  target: info,
  type: "hasMany",
  filterable: false,
  toMany: true,
  steps: [relationStep(info, [{ own: id, other: parentId }])],
};

/** Rows with their children, as the database has them at the moment. */
function withChildren({ driver }: Database): LiveView {
  return {
    key: "with children",
    shape: "with children",
    safeNumbers: false,
    shown: [
      { relation: children, filter: allRows, links: allRows, isIndexed: false, shown: [] },
    ],
    rights: [],
    async present(some) {
      const all = await childrenOf(driver);
      return some.map((row) => ({ ...row, children: all.get(String(row["id"])) ?? [] }));
    },
  };
}

async function childrenOf(driver: Database["driver"]): Promise<Map<string, readonly string[]>> {
  const { rows } = await driver.query({
    text: "SELECT parent_id, title FROM rows ORDER BY id",
    values: [],
  });
  const all = new Map<string, readonly string[]>();
  for (const [parent, title] of rows) {
    all.set(String(parent), [...all.get(String(parent)) ?? [], String(title)]);
  }
  return all;
}

/** Each is followed by one of the others at any moment while it is being sent. */
const includedWrites: readonly string[] = [
  "UPDATE rows SET title = title || '?' WHERE id = 9",
  "UPDATE rows SET parent_id = 3 WHERE id = 9",
  "UPDATE rows SET title = 'under what is not shown' WHERE id = 11",
];
const laterWrites: readonly string[] = [
  "UPDATE rows SET title = title || '!' WHERE id = 2",
  "UPDATE rows SET title = title || '!' WHERE id IN (2, 9)",
  "UPDATE rows SET rank = 5 WHERE id = 4",
  "UPDATE rows SET rank = 0 WHERE id = 2",
  "UPDATE rows SET id = 50 WHERE id = 2",
  "UPDATE rows SET parent_id = 4 WHERE id = 9",
  "UPDATE rows SET parent_id = NULL WHERE parent_id = 2",
  "DELETE FROM rows WHERE id = 2",
  "DELETE FROM rows WHERE id = 9",
];

const strides: Readonly<Record<string, number>> = { pglite: 5, postgres: isFull ? 1 : 3 };

testOnDialects(
  "included rows that change at any moment are sent right: in snapshots, live and afterwards",
  async (engine) => {
    let onMoment = () => Promise.resolve();
    const wrap = (log: ChangeLog) => spied(log, () => onMoment());
    // Slower engines are given a part of the moments.
    const stride = strides[engine.name] ?? 1;
    await withHub(engine, rows, { limits: { maxRowsPerPage: 6 }, wrap }, async (test) => {
      for (const [index, then] of laterWrites.entries()) {
        const first = includedWrites[index % includedWrites.length] ?? then;
        for (const phase of [duringSnapshot, live, afterwards]) {
          let moments = 0;
          for (let when = 0; when === 0 || when < moments; when += stride) {
            onMoment = () => Promise.resolve();
            await fill(test);
            // Pages that were read before this are not shared any more.
            await test.advance(3_000);
            moments = 0;
            await phase(test, first, (areOn) => {
              onMoment = async () => {
                if (!areOn) return;
                const moment = moments++;
                if (moment === when) await test.sql(then);
                if (moment === when + 2 && phase === duringSnapshot) await test.sql(first);
              };
            });
          }
          assertEquals(moments >= 2, true, `${moments} moments`);
        }
      }
    });
  },
);

type ShortLook = (step: ChangeLogStep | null, from: Position) => ChangeLogStep | null;

/** What the look at later changes may find, apart from all of them with their rows. */
const shortLooks: Readonly<Record<string, ShortLook>> = {
  "history that is lost": () => null,
  "a part of a step": (step) => step === null ? null : { ...step, to: null },
  "steps that end before the parents were read": (step, from) =>
    step === null ? null : { ...step, changes: [], to: from },
  "a write that was recorded without its rows": (step) => withoutRows(step, "touch"),
  "a write that removed all rows": (step) => withoutRows(step, "truncate"),
};

function withoutRows(step: ChangeLogStep | null, kind: Change["kind"]): ChangeLogStep | null {
  if (step === null) return null;
  const changes = step.changes.map((one) => ({ ...one, kind, before: null, after: null }));
  return { ...step, changes };
}

for (const [name, shorten] of Object.entries(shortLooks)) {
  testOnDialects(
    `a parent that passes only since it was read is no change of a row that is held, after ${name}`,
    async (engine) => {
      let state: "off" | "armed" | "read" = "off";
      let write = () => Promise.resolve();
      const wrap = (log: ChangeLog): ChangeLog => ({
        ...spied(log, () => Promise.resolve()),
        async readAt(statement, limits) {
          if (state === "armed") await write();
          const result = await log.readAt(statement, limits);
          if (state === "armed") state = "read";
          return result;
        },
        async next(from) {
          const step = await log.next(from);
          if (state !== "read" || "changes" in from) return step;
          state = "off";
          return shorten(step, from);
        },
      });
      await withHub(engine, rows, { wrap }, async (test) => {
        await fill(test);
        const stream = await follow(test);
        const client = new Client();
        while (!client.isSynced) await readOn(stream, client);
        await stream.untilToken();
        // Row 4 is not shown, and row 7 is a child of it.
        write = () => test.sql("UPDATE rows SET rank = 5 WHERE id = 4");
        state = "armed";
        await test.sql("UPDATE rows SET title = 'changed' WHERE id = 7");
        let about4: string | null = null;
        while (about4 === null) {
          const event = await stream.next();
          if (event === null || event.type === "invalidate") about4 = "invalidate";
          else if (event.data?.id === 4 || event.data?.item?.id === 4) about4 = event.type;
        }
        assertEquals(state, "off");
        assertEquals(about4 === "changed", false, about4);
        await stream.close();
      });
    },
  );
}

type Phase = (test: TestHub, first: string, switchMoments: Switch) => Promise<void>;
type Switch = (areOn: boolean) => void;

const duringSnapshot: Phase = async (test, first, switchMoments) => {
  switchMoments(true);
  const stream = await follow(test);
  const client = new Client();
  await finish(test, stream, client, switchMoments);
  assertEquals(client.faults, [], first);
};

const live: Phase = async (test, first, switchMoments) => {
  const stream = await follow(test);
  const client = new Client();
  while (!client.isSynced) await readOn(stream, client);
  await stream.untilToken();
  switchMoments(true);
  await test.sql(first);
  await finish(test, stream, client, switchMoments);
  assertEquals(client.faults, [], first);
};

const afterwards: Phase = async (test, first, switchMoments) => {
  const before = await follow(test);
  const client = new Client();
  while (!client.isSynced) await readOn(before, client);
  const resumeFrom = await before.untilToken();
  await before.close();
  await test.sql(first);
  switchMoments(true);
  await finish(test, await follow(test, resumeFrom), client, switchMoments);
};

async function fill({ sql }: TestHub): Promise<void> {
  await sql("DELETE FROM rows");
  const values = Array.from({ length: 12 }, (_, index) => {
    const id = index + 1;
    return `(${id}, ${id % 4 + 1}, ${id % 4}, 'row ${id}')`;
  });
  await sql(`INSERT INTO rows (id, parent_id, rank, title) VALUES ${values.join()}`);
}

function follow(
  { subscribe, db }: TestHub,
  resumeFrom: string | null = null,
): Promise<EventStream> {
  return subscribe({ filter: gt(rows.rank, 0), view: withChildren(db), resumeFrom });
}

async function readOn(stream: EventStream, client: Client): Promise<void> {
  for (const event of await stream.take(1)) client.take(event);
}

/** Reads until all is sent, and compares what the client has with the table. */
async function finish(
  { sql, db }: TestHub,
  stream: EventStream,
  client: Client,
  switchMoments: Switch,
): Promise<void> {
  while (!client.isSynced) await readOn(stream, client);
  for (const resumeToken of [1_000, 1_001, 1_002]) {
    await sql(`INSERT INTO rows (id, rank, title) VALUES (${resumeToken}, 1, 'mark')`);
    while (!client.rows.has(resumeToken)) await readOn(stream, client);
    // A write during the first event is sent before the third: rows of one step that are sent for
    // included rows come last.
    switchMoments(false);
  }
  const { rows: stored } = await db.driver.query({
    text: "SELECT id, title FROM rows WHERE rank > 0 ORDER BY id",
    values: [],
  });
  const all = await childrenOf(db.driver);
  const held = [...client.rows.values()].toSorted((left: Row, right: Row) =>
    Number(left["id"]) - Number(right["id"])
  );
  assertEquals(
    held.map(({ id, title, children }) => [String(id), title, children]),
    stored.map(([id, title]) => [String(id), title, all.get(String(id)) ?? []]),
  );
  await stream.close();
}
