import { assertStringIncludes } from "@std/assert";
import { eq, integer, openDatabase, table, text } from "../../mod.ts";
import { createCompiler } from "../../src/compile/compile.ts";
import { and, type Filter } from "../../src/filter/filter.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";

const notes = table("notes", { id: integer().primaryKey(), owner: text() });

Deno.test("after ANALYZE, a read by key with a scope was prepared again for each value", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const made = await openDatabase(`sqlite:${folder}/analyzed.db`);
    await made.createTables([notes]);
    await made.sql`CREATE INDEX notes_owner ON notes (owner)`;
    await made.sql`INSERT INTO notes VALUES (1, 'ada'), (2, 'bob')`;
    await made.query({ text: "ANALYZE", values: [] });
    await made.close();
    await using opened = new AsyncDisposableStack();
    const db = await openDatabase(`sqlite:${folder}/analyzed.db`);
    opened.defer(() => db.close());
    const compile = createCompiler(db.driver.dialect);
    const info = tableInfoOf(notes);
    const textOf = (where: Filter, limit: number | null) =>
      compile({
        ...{ kind: "read", table: info, columns: info.columns, where, order: [], limit },
        after: null,
      }).text;
    const owned = eq(notes.owner, "ada");
    assertStringIncludes(textOf(and(eq(notes.id, 1), owned), null), '"owner" = +?');
    // A list may profit from what ANALYZE has found of the values.
    assertStringIncludes(textOf(owned, 20), '"owner" = ?');
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
