/** The process of the test of scarce descriptors: long reads without, and then with, free ones. */
import { DatabaseError } from "../../src/db/database_error.ts";
import { sqliteDriver } from "../../src/engines/sqlite/driver/open_sqlite_file.ts";
import { endless, readLimits, sqliteLibraries } from "../db/sqlite_reads_support.ts";

const library = sqliteLibraries.find(({ name }) => name === Deno.args[0]);
if (library === undefined) throw new Error("There is no such library");
const driver = await sqliteDriver(library, ":memory:");

/** The kind of error by which an endless read ends. */
async function endOfRead(timeoutMs: number): Promise<string> {
  try {
    return String(await driver.reads(readLimits({ timeoutMs })).query(endless));
  } catch (error) {
    return error instanceof DatabaseError ? error.kind : String(error);
  }
}

const opened: Deno.FsFile[] = [];
try {
  for (;;) opened.push(Deno.openSync("/dev/null"));
} catch {
  // None is left.
}
console.log(`without descriptors ${await endOfRead(600)}`);
for (const file of opened) file.close();
setTimeout(() => console.log("another request"), 100);
// Beside other tests the thread takes a part of it to start.
console.log(`with descriptors ${await endOfRead(2_500)}`);
await driver.close();
console.log("closed");
