/**
 * The model of clients for longer than in the tests: `deno task check-client [here|processes]
 * [rounds] [seed]`.
 */
import { openDatabase } from "../../../src/engines/open_database.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { runModel } from "./model.ts";
import { createModelTables } from "./model_service.ts";
import { startHere, startProcess } from "./model_servers.ts";

const [where = "processes", rounds = "20", seed = "1"] = Deno.args;
const start = where === "here" ? startHere : startProcess;
await using folder = await scratchFolder();
const url = `sqlite:${folder.path}/model.db`;
await createModelTables(url);
const db = await openDatabase(url);
{
  await using one = await start(url);
  await using other = await start(url);
  const report = await runModel({
    ...{ seed: Number(seed), rounds: Number(rounds), stepsInRound: 1_000, restartsInRound: 2, db },
    servers: [one, other],
  });
  console.log(report);
}
await db.close();
