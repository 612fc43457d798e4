/** The project's own lint rules, which enforce its architecture while the code is written. */
import { completeKinds } from "./complete_kinds.ts";
import { engineBlind } from "./engine_blind.ts";
import { fewParameters } from "./few_parameters.ts";
import { noAmbient } from "./no_ambient.ts";
import { noEmptyCatch } from "./no_empty_catch.ts";
import { noModuleState } from "./no_module_state.ts";
import { reasonedAs } from "./reasoned_as.ts";

const plugin: Deno.lint.Plugin = {
  name: "project",
  rules: {
    "complete-kinds": completeKinds,
    "engine-blind": engineBlind,
    "few-parameters": fewParameters,
    "no-ambient": noAmbient,
    "no-empty-catch": noEmptyCatch,
    "no-module-state": noModuleState,
    "reasoned-as": reasonedAs,
  },
};

export default plugin;
