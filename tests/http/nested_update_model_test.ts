import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Database } from "../../mod.ts";
import { insertRows, type Service, testOnDialects } from "../support/http.ts";
import { noteLabels, shares, withDesk } from "./nested_update_support.ts";
import { type Ask, Desk, type NotePatch, type UserId } from "./related_rows_model.ts";

const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);
/** By hand thousands; few where every test runs. */
const runs = Number(Deno.env.get("MODEL_RUNS") ?? 50);

testOnDialects(
  `random changes of related rows by two users are those of a model (seed ${seed})`,
  (engine) =>
    withDesk(engine, {}, async (service) => {
      const desk = await filledDesk(service.db);
      const counts = new Map<number, number>();
      for (const [index, patch] of fc.sample(patches, { seed, numRuns: runs }).entries()) {
        const status = await compare(numbered(patch, index), desk, service);
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
      // A model that refuses everything would be right, and shows nothing.
      assertEquals((counts.get(200) ?? 0) * 4 > runs, true, `${[...counts]}`);
    }),
);

/** Ids of a kind of row: mostly those that the user sees, and may write to. */
const known: Readonly<Record<"labels" | "tasks" | "people", Readonly<Record<UserId, number[]>>>> = {
  labels: { ada: [101, 102, 103, 104], bob: [101, 102, 103, 105] },
  tasks: { ada: [101, 102], bob: [103, 106] },
  people: { ada: [101, 103], bob: [102, 103] },
};

function idsOf(kind: keyof typeof known, user: UserId): fc.Arbitrary<number> {
  const likely = fc.constantFrom(...known[kind][user]);
  return fc.oneof({ arbitrary: likely, weight: 12 }, fc.integer({ min: 101, max: 107 }));
}

function asks(kind: keyof typeof known, user: UserId): fc.Arbitrary<Ask> {
  const ids = fc.oneof(
    { arbitrary: fc.uniqueArray(idsOf(kind, user), { maxLength: 2 }), weight: 12 },
    fc.array(idsOf(kind, user), { maxLength: 3 }),
  );
  return fc.oneof(
    fc.record({ connect: ids }),
    fc.record({ disconnect: ids }),
    fc.record({ set: ids }),
    fc.record({ connect: ids, disconnect: ids, set: ids }, { requiredKeys: [] }),
  );
}

function creating<Row>(
  ask: fc.Arbitrary<Ask>,
  row: Row,
): fc.Arbitrary<Ask & { readonly create?: readonly Row[] }> {
  return fc.tuple(ask, fc.boolean()).map(([one, creates]) =>
    creates ? { ...one, create: [row] } : one
  );
}

const patches: fc.Arbitrary<NotePatch> = fc.constantFrom<UserId>("ada", "bob").chain((user) =>
  fc.tuple(
    fc.record({
      user: fc.constant(user),
      note: fc.oneof(
        { arbitrary: fc.constant(user === "ada" ? 101 : 102), weight: 12 },
        fc.constantFrom(101, 102, 103, 999),
      ),
      labels: creating(asks("labels", user), { id: 0, name: "" }),
      tasks: creating(asks("tasks", user), { id: 0, title: "" }),
      sharedWith: asks("people", user),
      author: fc.oneof(
        fc.record({ connect: idsOf("people", user) }),
        fc.constant({ disconnect: true as const }),
      ),
    }),
    fc.subarray(["labels", "tasks", "sharedWith", "author"] as const, {
      minLength: 1,
      maxLength: 2,
    }),
  ).map(([{ note, ...body }, names]) => ({
    ...{ user, note },
    ...Object.fromEntries(names.map((name) => [name, body[name]])),
  }))
);

/** Rows to create have keys of their own. */
function numbered({ labels, tasks, ...patch }: NotePatch, index: number): NotePatch {
  const one = 1_000 + index;
  return {
    ...patch,
    ...(labels === undefined ? {} : {
      labels: labels.create === undefined
        ? labels
        : { ...labels, create: [{ id: one, name: `n${one}` }] },
    }),
    ...(tasks === undefined ? {} : {
      tasks: tasks.create === undefined
        ? tasks
        : { ...tasks, create: [{ id: one, title: `t${one}` }] },
    }),
  };
}

async function compare(
  patch: NotePatch,
  desk: Desk,
  { db, send }: Pick<Service, "db" | "send">,
): Promise<number> {
  const { user, note, ...body } = patch;
  const answer = await send("PATCH", `/api/notes/${note}`, body, { "x-user": user });
  const allowed = desk.patch(patch);
  const what = `${JSON.stringify(patch)} ${JSON.stringify(answer.body)}`;
  assertEquals(allowed.has(answer.status), true, `${[...allowed]}, not ${answer.status}: ${what}`);
  assertEquals(await stored(db), expected(desk), what);
  if (answer.status !== 200) return answer.status;
  const keysOf = (rows: readonly { readonly id: number }[]) => rows.map((row) => row.id);
  if (body.labels !== undefined) {
    assertEquals(keysOf(answer.body.labels), desk.labelsOf(user, note), what);
  }
  if (body.tasks !== undefined) {
    assertEquals(keysOf(answer.body.tasks), desk.tasksOf(user, note), what);
  }
  return 200;
}

type Cells = readonly (readonly unknown[])[];

async function stored({ driver }: Database): Promise<Readonly<Record<string, Cells>>> {
  const read = async (text: string) => {
    const { rows } = await driver.query({ text, values: [] });
    return rows.map((row) =>
      // Postgres gives numbers as texts.
      row.map((cell) => cell === null || Number.isNaN(Number(cell)) ? cell : Number(cell))
    );
  };
  return {
    notes: await read("SELECT id, author_id, version FROM notes ORDER BY 1"),
    tasks: await read("SELECT id, note_id, version FROM tasks ORDER BY 1"),
    links: await read("SELECT note_id, label_id FROM note_labels ORDER BY 1, 2"),
    shares: await read("SELECT note_id, person_id, given_by FROM shares ORDER BY 1, 2, 3"),
  };
}

function expected(desk: Desk): Readonly<Record<string, Cells>> {
  const sorted = (rows: readonly (readonly unknown[])[]) =>
    rows.toSorted((left, right) =>
      Number(left[0]) - Number(right[0]) || Number(left[1]) - Number(right[1]) ||
      String(left[2]).localeCompare(String(right[2]))
    );
  return {
    notes: sorted([...desk.notes].map(([key, row]) => [key, row.authorId, row.version])),
    tasks: sorted([...desk.tasks].map(([key, row]) => [key, row.noteId, row.version])),
    links: sorted(
      [...desk.links].flatMap(([note, labels]) => [...labels].map((one) => [note, one])),
    ),
    shares: sorted(desk.shares.map(({ note, person, givenBy }) => [note, person, givenBy])),
  };
}

/** The rows that the desk begins with, and some of each user that the other one does not see. */
async function filledDesk(db: Database): Promise<Desk> {
  const desk = new Desk();
  const owners = async (table: string, columns = "NULL") =>
    (await db.driver.query({
      text: `SELECT id, owner_id, ${columns} FROM ${table} ORDER BY 1`,
      values: [],
    })).rows.map(([key, owner, value]) =>
      [Number(key), String(owner), value === null ? null : Number(value)] as const
    );
  for (const [key, ownerId] of await owners("people")) desk.people.set(key, { ownerId });
  for (const [key, ownerId] of await owners("labels")) desk.labels.set(key, { ownerId });
  for (const [key, ownerId, authorId] of await owners("notes", "author_id")) {
    desk.notes.set(key, { ownerId, authorId, version: 1 });
  }
  for (const [key, ownerId, noteId] of await owners("tasks", "note_id")) {
    desk.tasks.set(key, { ownerId, noteId, version: 1 });
  }
  const hidden = [[101, 105], [102, 104], [102, 101]] as const;
  await insertRows(db, noteLabels, hidden.map(([noteId, labelId]) => ({ noteId, labelId })));
  for (const [note, label] of hidden) {
    desk.links.set(note, (desk.links.get(note) ?? new Set()).add(label));
  }
  const given = { note: 101, person: 102, givenBy: "bob" };
  await insertRows(db, shares, [{ id: 901, noteId: 101, personId: 102, givenBy: "bob" }]);
  desk.shares.push(given);
  return desk;
}
