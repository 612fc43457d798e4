import { assertEquals } from "@std/assert";
import { all, resource } from "../../mod.ts";
import { engines } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";
import { withService } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";

for (const engine of engines.filter(({ name }) => name === "postgres")) {
  testUnless(
    engine.ignore ?? null,
    "a write that met a table whose column had another type since was a 500 (postgres)",
    async () => {
      const db = await engine.open();
      await runScript(
        db.driver,
        `CREATE TABLE goods (id int PRIMARY KEY, n int, version int NOT NULL DEFAULT 1);
         INSERT INTO goods SELECT i, 0 FROM generate_series(1, 60) i`,
      );
      const { tables: [table] } = await db.introspect();
      if (table === undefined) throw new Error("there is no table");
      const auth = { public: true, update: () => all() } as const;
      await withService(
        { ...engine, open: () => Promise.resolve(db) },
        [],
        () => ({
          resources: [
            resource(table, { id: "id", auth, batch: {}, etag: { versionField: "version" } }),
          ],
        }),
        async ({ send, get }) => {
          const patchAll = async (n: number) => {
            const ids = Array.from({ length: 60 }, (_, index) => index + 1);
            const answers = await Promise.all(ids.map(async (id) => {
              const headers = { "x-user": "ada", "if-match": "*" };
              return (await send("PATCH", `/api/goods/${id}`, { n }, headers)).status;
            }));
            return [...new Set(answers)];
          };
          assertEquals(await patchAll(1), [200]);
          for (const type of ["bigint", "int", "numeric", "int"]) {
            await runScript(db.driver, `ALTER TABLE goods ALTER COLUMN n TYPE ${type}`);
            assertEquals(await patchAll(2), [200]);
            const batch = { filter: "n==2", patch: { n: 3 } };
            const { status } = await send("PATCH", "/api/goods/batch", batch, { "x-user": "ada" });
            assertEquals(status, 200);
            assertEquals((await get("/api/goods?limit=1")).status, 200);
          }
        },
      );
    },
  );
}
