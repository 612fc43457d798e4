import { everyEngine } from "../support/engines.ts";
import { exercise } from "./change_log.ts";

for (const engine of everyEngine) {
  exercise(
    engine,
    engine.name === "pglite"
      ? { readsBesideTransaction: "PGlite has one connection, reads wait for the transaction" }
      : {},
  );
}
