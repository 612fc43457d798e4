import { assert, assertEquals } from "@std/assert";
import { decimal, integer, json, real, resource, table, text } from "../../mod.ts";
import { insertRows, testOnDialects, withService } from "../support/http.ts";
import { asCsv, parseCsv } from "./export_support.ts";

const entries = table("entries", {
  id: integer().primaryKey(),
  note: text(),
  amount: integer(),
  ratio: real(),
  price: decimal({ precision: 10, scale: 2 }),
  data: json(),
});

const harmful = [
  `=HYPERLINK("http://evil","x")`,
  ...["+1", "-1+1|cmd", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "-5", '=1"2'],
];
const harmless = ["a=1", " =1", "'=1", "", "1-1"];

testOnDialects(
  "a CSV of the dashboard has no formulas, and numbers stay numbers",
  (engine) =>
    withService(engine, [entries], () => ({
      adminUI: { authorize: () => true },
      resources: [
        resource(entries, {
          id: entries.id,
          auth: { public: { read: true } },
          capabilities: { enableExport: true },
          computed: {
            "=label": (row) => row.note === "+1" ? "=of a computed field" : -1,
          },
        }),
      ],
    }), async ({ db, get }) => {
      const notes = [...harmful, ...harmless];
      await insertRows(
        db,
        entries,
        notes.map((note, id) => ({
          ...{ id, note, amount: -id, ratio: -0.5, price: "-12.50" },
          data: [-1, "=1", ["=1"]][id % 3],
        })),
      );
      const { body } = await get("/__service/ui/api/entries?orderBy=id", asCsv);
      const [head, ...records] = parseCsv(body);
      assertEquals(head?.at(-1), "'=label");
      const expected = [...harmful.map((note) => `'${note}`), ...harmless];
      assertEquals(records.map((record) => record[1]), expected);
      for (const [id, record] of records.entries()) {
        assertEquals(record.slice(2, 5), [`${-id || 0}`, "-0.5", "-12.50"]);
        assertEquals(record[5], ["-1", '"=1"', '["=1"]'][id % 3]);
        assertEquals(record[6], notes[id] === "+1" ? "'=of a computed field" : "-1");
      }
      // The export of the service itself gives what is stored.
      const plain = parseCsv((await get("/api/entries?orderBy=id", asCsv)).body);
      assertEquals(plain.slice(1).map((record) => record[1]), notes);
      assertEquals(plain[0]?.at(-1), "=label");
      const lines = await get("/__service/ui/api/entries", { accept: "application/x-ndjson" });
      assert(lines.body.includes('"note":"+1"'));
    }),
);
