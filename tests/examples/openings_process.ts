/** Opens a database by each kind of URL, and prints what each says. */
import { openDatabase } from "../../mod.ts";

// No server listens there: a Postgres that cannot be reached is opened all the same.
const postgres = "postgres://nobody@127.0.0.1:1/none";
for (const url of ["sqlite:notes.db", "node-sqlite:notes.db", "pglite:notes", postgres]) {
  const scheme = url.replace(/:.*/, "");
  try {
    const db = await openDatabase(url);
    console.log(`${scheme}: opened`);
    await db.close();
  } catch (error) {
    console.log(`${scheme}: ${error instanceof Error ? error.message : error}`);
  }
}
