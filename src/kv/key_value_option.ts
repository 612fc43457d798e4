import type { Option } from "../options/option.ts";
import { testedValue } from "../options/option_kinds.ts";
import { storeLocationMistake } from "./key_value_location.ts";
import type { KeyValueOption } from "./open_key_value_store.ts";

/** The description of the option `kv`, with a message for common mistakes. */
export function keyValueOptionRule(): Option<KeyValueOption | undefined> {
  return testedValue<KeyValueOption>(
    "a text, a Deno.Kv or a KeyValue",
    (given) => typeof given === "string" ? storeLocationMistake(given) === null : isStore(given),
  ).advising((given) => {
    if (typeof given === "string") return storeLocationMistake(given);
    return given instanceof Promise ? "is a promise: write kv: await Deno.openKv()" : null;
  });
}

function isStore(given: unknown): boolean {
  return typeof given === "object" && given !== null && ("atomic" in given || "commit" in given);
}
