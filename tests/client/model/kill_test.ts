import { assert } from "@std/assert";
import { openDatabase } from "../../../src/engines/open_database.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { runModel } from "./model.ts";
import { createModelTables } from "./model_service.ts";
import { startProcess } from "./model_servers.ts";

Deno.test("clients come to what processes have that are killed, and each write is carried out once", async () => {
  await using folder = await scratchFolder();
  const url = `sqlite:${folder.path}/model.db`;
  await createModelTables(url);
  const db = await openDatabase(url);
  {
    await using one = await startProcess(url);
    await using other = await startProcess(url);
    const report = await runModel({
      ...{ seed: 2, rounds: 2, stepsInRound: 1_000, restartsInRound: 2, db },
      servers: [one, other],
    });
    assert(report.restarts > 0, "there were kills");
  }
  await db.close();
});
