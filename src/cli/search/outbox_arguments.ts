import { Misuse, readCommandWords, readStoreArguments, storeOptions } from "../command_options.ts";

export type OutboxCommand = ReturnType<typeof parseOutboxArguments>;

const verbs = ["stats", "dead", "replay"] as const;

export const outboxHelp =
  `  search outbox [stats]     what waits in the store of service.config.ts, or
                            in --kv FILE; --json
  search outbox dead        what failed too often, and why; search outbox
                            replay tries it again`;

/** Parses the arguments of the command `search outbox`. Throws a {@link Misuse}. */
export function parseOutboxArguments(args: readonly string[]) {
  const words = readCommandWords("search outbox", args, {
    ...storeOptions,
    json: { type: "boolean" },
  });
  const [given = "stats", extra] = words.positionals;
  const verb = verbs.find((name) => name === given);
  if (verb === undefined || extra !== undefined) {
    throw new Misuse(`search outbox takes one of ${verbs.join(", ")}, not "${extra ?? given}"`);
  }
  return { kind: "outbox" as const, verb, ...readStoreArguments(words), json: words.flag("json") };
}
