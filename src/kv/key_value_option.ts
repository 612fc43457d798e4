import type { Option } from "../options/option.ts";
import { other } from "../options/option_kinds.ts";
import { isLoopback } from "../protocol/loopback.ts";
import type { KeyValueOption } from "./open_key_value_store.ts";

/** The option `kv`, described, with a message for the usual mistakes. */
export function keyValueOption(): Option<KeyValueOption | undefined> {
  return other<KeyValueOption>(
    "a text, a Deno.Kv or a KeyValue",
    (given) => typeof given === "string" ? mistakeOf(given) === null : isStore(given),
  ).advising((given) => {
    if (typeof given === "string") return mistakeOf(given);
    return given instanceof Promise ? "is a promise: write kv: await Deno.openKv()" : null;
  });
}

function isStore(given: unknown): boolean {
  return typeof given === "object" && given !== null && ("atomic" in given || "commit" in given);
}

function mistakeOf(kv: string): string | null {
  if (kv === "") return "is an empty text: give it a path";
  const [, scheme = "https"] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(kv) ?? [];
  if (/^https$/i.test(scheme)) return null;
  if (!/^http$/i.test(scheme)) {
    return `takes a path, ":memory:" or an https:// URL, not one of ${scheme}://`;
  }
  // The token and every record would cross the network in clear text.
  return isLoopback(hostOf(kv)) ? null : "takes http:// on this machine alone: use https://";
}

/** The host of a URL; the empty text for an invalid one. */
function hostOf(url: string): string {
  const { hostname = "" } = URL.parse(url) ?? {};
  return hostname.replace(/^\[(.*)\]$/, "$1");
}
