/**
 * A process of the tests of write turns. `URL write NAME ROWS` writes rows by 16 writers at once,
 * `URL hold` holds a transaction and `PATH turn` only the turn, until SIGUSR1.
 */
import { openDatabase } from "../../src/engines/open_database.ts";
import { CrossProcessWriteLock } from "../../src/engines/sqlite/driver/cross_process_write_lock.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";

const [place = "", mode, name = "", rows = ""] = Deno.args;

if (mode === "turn") {
  const turn = new CrossProcessWriteLock({ path: place, label: place, clock: systemClock });
  await turn.meetBusy();
  await untilSignal();
  turn.release();
  turn.close();
} else {
  const { driver } = await openDatabase(place, {
    observe: (observation) => console.log("observed", JSON.stringify(observation)),
  });
  const insert = { text: "INSERT INTO things (writer) VALUES (?)", values: [name] };
  if (mode === "hold") {
    await driver.transaction(async (connection) => {
      await connection.query(insert);
      await untilSignal();
    });
  } else {
    console.log("writing");
    const each = Number(rows) / 16;
    await Promise.all(Array.from({ length: 16 }, async () => {
      for (let row = 0; row < each; row++) await driver.query(insert);
    }));
  }
  await driver.close();
}
console.log("done");

async function untilSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  Deno.addSignalListener("SIGUSR1", resolve);
  console.log("holding");
  await promise;
  Deno.removeSignalListener("SIGUSR1", resolve);
}
