import { assert } from "@std/assert";
import { openDatabase } from "../../../src/engines/open_database.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { runModel } from "./model.ts";
import { createModelTables } from "./model_service.ts";
import { startHere } from "./model_servers.ts";
import { repeats } from "../../support/repeats.ts";

Deno.test("clients come to what the service has, and each of their writes is carried out once", async () => {
  await using folder = await scratchFolder();
  const url = `sqlite:${folder.path}/model.db`;
  await createModelTables(url);
  const db = await openDatabase(url);
  {
    await using one = await startHere(url);
    await using other = await startHere(url);
    const report = await runModel({
      ...{ seed: 1, rounds: repeats(2), stepsInRound: 2_000, restartsInRound: 3, db },
      servers: [one, other],
    });
    assert(
      report.conflicts > 0 && report.restarts > 0 && report.reloads > 0,
      "there were conflicts, restarts and reloads",
    );
  }
  await db.close();
});
