import { assertEquals } from "@std/assert";
import { createDrizzleTables, drizzleLines } from "../support/drizzle_schema.ts";
import { testOnDialects, withService } from "../support/http.ts";
import {
  declaredTables,
  drive,
  postgresTables,
  serviceOf,
  sqliteTables,
  type Step,
} from "./drizzle_drive.ts";

testOnDialects("tables of both lines of Drizzle answer as those of table()", async (engine) => {
  let expected: readonly Step[] = [];
  await withService(
    engine,
    Object.values(declaredTables),
    () => serviceOf(declaredTables),
    async (service) => {
      expected = await drive(service);
    },
  );
  for (const line of drizzleLines) {
    const tables = engine.name === "postgres" ? postgresTables(line) : sqliteTables(line);
    const openEmpty = async () => {
      const db = await engine.open();
      await createDrizzleTables(db, line, Object.values(tables));
      return db;
    };
    await withService(
      { ...engine, open: openEmpty },
      [],
      () => serviceOf(tables),
      async (service) => {
        const steps = await drive(service);
        steps.forEach((step, index) => assertEquals(step, expected[index]));
        assertEquals(steps.length, expected.length);
      },
    );
  }
});
