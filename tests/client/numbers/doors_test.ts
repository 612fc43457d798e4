import { assertEquals } from "@std/assert";
import { testOnDialects } from "../../support/http.ts";
import { run } from "../../support/scratch.ts";
import { readers } from "./readers.ts";
import { onlyMembersOf } from "./row_forms.ts";
import { type Stored, wholeNumbers, withSnow } from "./snow_service.ts";
import { creators, writers } from "./writers.ts";

testOnDialects(
  "every door shows every number as it is stored",
  (engine) =>
    withSnow(engine, async (world) => {
      await eachDoor(readers, async (read) => {
        const shown = await read(world);
        assertEquals(shown, world.rows.map((row) => onlyMembersOf(shown[0] ?? row, row)));
      });
    }),
);

testOnDialects(
  "every door changes the row that is meant, and no other number of it",
  (engine) =>
    withSnow(engine, async (world) => {
      const others =
        "CAST(ref AS text) || ' ' || price || ' ' || ratio || ' ' || CAST(doc AS text)";
      const before = await world.text(others, "1 = 1");
      await eachDoor(writers, async (write) => {
        await run(world.db, "UPDATE snow SET v = ''");
        for (const row of world.rows) await write(world, row, `new ${row.id}`);
        assertEquals(await world.text("v", "1 = 1"), wholeNumbers.map((id) => `new ${id}`));
        assertEquals(await world.text(others, "1 = 1"), before);
      });
    }),
);

testOnDialects(
  "every door creates the row that is meant",
  (engine) =>
    withSnow(engine, async (world) => {
      const all = ["id", "ref", "price", "ratio", "doc", "pages"];
      const state = ({ id }: Stored) =>
        Promise.all(all.map((column) => world.text(column, `id = ${id}`)));
      const before = await Promise.all(world.rows.map(state));
      await eachDoor(creators, async (create) => {
        for (const [index, row] of world.rows.entries()) {
          // Rows that another one references cannot be deleted.
          await run(world.db, "UPDATE snow SET ref = NULL");
          await run(world.db, `DELETE FROM snow WHERE id = ${row.id}`);
          await create(world, row);
          assertEquals(await state(row), before[index]);
        }
      });
    }),
);

/** Tries every door before it fails, so that the message names all that are wrong. */
async function eachDoor<Door>(
  doors: Readonly<Record<string, Door>>,
  work: (door: Door) => Promise<void>,
): Promise<void> {
  const wrong: string[] = [];
  for (const [name, door] of Object.entries(doors)) {
    await work(door).catch((error) => wrong.push(`${name}: ${error}`));
  }
  assertEquals(wrong, []);
}
