import { assertEquals } from "@std/assert";
import { resource } from "../../mod.ts";
import { engines } from "../support/engines.ts";
import { withService } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const tableCount = 30;

for (const engine of engines.filter(({ name }) => name.includes("sqlite"))) {
  testUnless(
    engine.ignore ?? null,
    `streams over many tables, whose filters the database evaluates, continue after one transaction (${engine.name})`,
    async () => {
      const db = await engine.open();
      const names = Array.from({ length: tableCount }, (_, index) => `t${index}`);
      for (const name of names) {
        await runScript(
          db.driver,
          `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, v INTEGER_OR_TEXT)`,
        );
      }
      const { tables } = await db.introspect();
      await withService({ ...engine, open: () => Promise.resolve(db) }, [], () => ({
        changes: { mode: "triggers" },
        resources: tables.map((table) =>
          resource(table, { id: ["id"], auth: { public: { read: true, subscribe: true } } })
        ),
      }), async ({ subscribe }) => {
        const streams = await Promise.all(
          names.map((name) => subscribe(`/api/${name}/subscribe?filter=v>5`)),
        );
        for (const stream of streams) await stream.untilSynced();
        await db.driver.transaction(async (connection) => {
          for (const name of names) {
            await connection.query({
              text: `INSERT INTO ${name} (v) VALUES (3), (9)`,
              values: [],
            });
          }
        });
        for (const stream of streams) {
          const [event] = await stream.take(1);
          assertEquals([event?.type, event?.data.item?.v], ["added", 9]);
          await stream.close();
        }
      });
    },
  );
}
