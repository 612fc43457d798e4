/** The process that the tests of the log start: it writes as fast as it can, and prints its writes. */
import { openDatabase } from "../../src/engines/open_database.ts";
import { table } from "../../src/schema/table.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { openLog } from "../conformance/change_log_support.ts";

const [url = "", first = "0", most = "0"] = Deno.args;
const things = table("things", { id: integer().primaryKey(), half: integer() });
const db = await openDatabase(url);
const { dialect, driver } = db;
// As every process that serves the database it signals its commits to the others.
await openLog(db, [things]);

for (let n = Number(first); n < Number(first) + Number(most); n++) {
  const insert = `INSERT INTO things VALUES (${dialect.placeholder(1)}, 1)`;
  const update = `UPDATE things SET half = 2 WHERE id = ${dialect.placeholder(1)}`;
  try {
    await driver.transaction(async (connection) => {
      await connection.query({ text: insert, values: [n] });
      // Every third is rolled back.
      if (n % 3 === 0) throw new Error("undone");
      await connection.query({ text: update, values: [n] });
    });
    console.log(`stored ${n}`);
  } catch (error) {
    if (!(error instanceof Error) || error.message !== "undone") throw error;
  }
}
console.log("done");
await new Promise(() => setInterval(() => {}, 1_000));
