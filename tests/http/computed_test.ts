import { assertEquals, assertStringIncludes } from "@std/assert";
import { integer, resource, table, text } from "../../mod.ts";
import { consoleObserver } from "../../exports/runtime.ts";
import type { Observation } from "../../exports/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import type { Engine } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });

/** A service whose notes have two fields that fail, and one that is a promise. */
async function withFailures(
  engine: Engine,
  work: (
    service: Service,
    test: { readonly observed: Observation[]; advance(ms: number): void },
  ) => Promise<void>,
): Promise<void> {
  const { clock, advance } = handClock();
  const observed: Observation[] = [];
  // The types refuse a promise; programs in JavaScript, and casts, still return one.
  const promised: () => unknown = () => Promise.reject(new Error("too late"));
  await withService(engine, [notes], () => ({
    runtime: { ...systemRuntime((observation) => observed.push(observation)), clock },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: { read: true } },
        computed: {
          first: () => {
            throw new Error("first");
          },
          second: (row) => {
            if (row.id === 1) throw new Error("second");
            return row.id;
          },
          promised,
        },
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, notes, [1, 2, 3].map((id) => ({ id, title: `note ${id}` })));
    await work(service, { observed, advance });
  });
}

/** The failures that were observed: each field, and how many were only counted before. */
function failuresIn(observed: readonly Observation[]): readonly string[] {
  return observed.flatMap((one) =>
    one.kind === "computed_failed" ? [`${one.field} +${one.suppressed}`] : []
  ).sort();
}

testOnEngines(
  "a computed field that throws wrote a stack trace for every row of every list",
  (engine) =>
    withFailures(engine, async ({ get }, { observed, advance }) => {
      for (let i = 0; i < 10; i++) await get("/api/notes");
      assertEquals(failuresIn(observed), ["first +0", "promised +0", "second +0"]);
      observed.length = 0;
      advance(59_999);
      await get("/api/notes");
      assertEquals(failuresIn(observed), []);
      advance(1);
      await get("/api/notes");
      assertEquals(failuresIn(observed), ["first +32", "promised +32", "second +10"]);
      observed.length = 0;
      advance(60_000);
      await get("/api/notes/1");
      // The other rows of the list before.
      assertEquals(failuresIn(observed), ["first +2", "promised +2", "second +0"]);
    }),
);

testOnEngines(
  "a promise of a computed field was shown as an empty object",
  (engine) =>
    withFailures(engine, async ({ get }, { observed }) => {
      const { body } = await get("/api/notes/2");
      assertEquals(body, { id: 2, title: "note 2", first: null, second: 2, promised: null });
      const [failure] = observed.filter((one) =>
        one.kind === "computed_failed" && one.field === "promised"
      );
      const lines: string[] = [];
      if (failure !== undefined) {
        consoleObserver({ format: "text", write: (line) => lines.push(line) })(failure);
      }
      assertStringIncludes(
        lines.join(""),
        "notes.promised failed: TypeError: A computed field must not be a promise",
      );
    }),
);
