import { everyEngine } from "../support/engines.ts";
import { exercise } from "./driver.ts";

for (const engine of everyEngine) {
  exercise(
    engine,
    engine.name === "pglite"
      ? { readsBesideTransaction: "PGlite has one connection, reads wait for the transaction" }
      : {},
  );
}
